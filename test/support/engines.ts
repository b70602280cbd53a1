/** The engines that every suite about the log runs on; a new one joins with one entry. */
import * as E from 'fp-ts/lib/Either.js';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openMemoryLog } from '../../src/log/memory/memoryLog.js';
import type { EventLog } from '../../src/log/port.js';
import { openSqliteLog } from '../../src/log/sqlite/sqliteLog.js';

export interface Engine {
  readonly name: string;
  /** Whether several handles can share one log; `reopen` gives another one. */
  readonly shared: boolean;
  readonly open: () => Promise<{
    readonly log: EventLog;
    readonly reopen: () => Promise<EventLog>;
    readonly dispose: () => Promise<void>;
  }>;
}

export const right = <A>(result: E.Either<unknown, A>): A => {
  if (E.isLeft(result)) throw new Error(`unexpected: ${JSON.stringify(result.left)}`);
  return result.right;
};

export const left = <L>(result: E.Either<L, unknown>): L => {
  if (E.isRight(result)) throw new Error(`unexpected: ${String(result.right)}`);
  return result.left;
};

const memory: Engine = {
  name: 'memory',
  shared: false,
  open: () => {
    const log = openMemoryLog();
    return Promise.resolve({ log, reopen: () => Promise.resolve(log), dispose: () => log.close() });
  },
};

const sqlite: Engine = {
  name: 'sqlite',
  shared: true,
  open: async () => {
    const directory = mkdtempSync(join(tmpdir(), 'session-ledger-engine-'));
    const path = join(directory, 'ledger.db');
    // Durability is the business of the engine's own tests; here many small logs are made.
    const openOne = async () => right(await openSqliteLog(path, { synchronous: 'NORMAL' })());
    const handles = [await openOne()];
    return {
      log: handles[0]!,
      reopen: async () => {
        const handle = await openOne();
        handles.push(handle);
        return handle;
      },
      dispose: async () => {
        for (const handle of handles) await handle.close();
        rmSync(directory, { recursive: true, force: true });
      },
    };
  },
};

export const engines: readonly Engine[] = [memory, sqlite];
