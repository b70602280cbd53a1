/** Runs the projections over the log: catches up, starts over when the log was replaced, rebuilds beside the live tables. */
import { randomUUID } from 'node:crypto';
import type Database from 'better-sqlite3';
import * as E from 'fp-ts/lib/Either.js';
import type { RawEvent } from '../domain/events.js';
import { LEDGER_STREAM_PREFIXES } from '../domain/ids.js';
import type { EventLog, LogUnavailable } from '../log/port.js';
import { applyPage } from './apply.js';
import { whenFree } from './file.js';
import type { Progress } from './model.js';
import { createTables, dropTables, TABLES } from './schema.js';
import { makeTables } from './tables.js';
import type { Checkpoint, Tables } from './tables.js';

const PAGE = 500;
const REBUILD = 'rebuild_';

export interface Projector {
  readonly catchUp: () => Promise<E.Either<LogUnavailable, Progress>>;
  readonly rebuild: (onProgress: (applied: number) => void) => Promise<E.Either<LogUnavailable, Progress>>;
}

type Page = E.Either<LogUnavailable, readonly RawEvent[]>;

export const makeProjector = (db: Database.Database, live: Tables, log: EventLog): Projector => {
  let checkedLog = false;
  const readAfter = (after: bigint, limit = PAGE): Promise<Page> =>
    log.readAll({ after, limit, filter: { streamPrefixes: LEDGER_STREAM_PREFIXES } })();

  /** Applies a page and moves the checkpoint, both or none; false when another projector has moved it meanwhile. */
  const commitPage = (
    tables: Tables,
    from: bigint,
    events: readonly RawEvent[],
    stillOurs: () => boolean,
  ): Promise<boolean> =>
    whenFree(
      db.transaction(() => {
        if (!stillOurs() || tables.checkpoint().position !== from) return false;
        applyPage(tables, events);
        const last = events.at(-1);
        if (last !== undefined) tables.moveCheckpoint(last);
        return true;
      }).immediate,
    );

  const catchUp = async (): Promise<E.Either<LogUnavailable, Progress>> => {
    if (!checkedLog) {
      const checkpoint = await whenFree(live.checkpoint);
      const replaced = await wasReplaced(checkpoint);
      if (E.isLeft(replaced)) return replaced;
      if (replaced.right) await startOver(checkpoint);
      checkedLog = true;
    }
    for (let applied = 0; ;) {
      const { position } = await whenFree(live.checkpoint);
      const page = await readAfter(position);
      if (E.isLeft(page)) return page;
      const last = page.right.at(-1);
      if (last === undefined) return E.right({ applied, position });
      if (!(await commitPage(live, position, page.right, () => true))) continue;
      applied += page.right.length;
      // A page with room left has reached the end: writers who never pause must not keep a reader here for ever.
      if (page.right.length < PAGE) return E.right({ applied, position: last.position });
    }
  };

  /** A backup that was put in the log's place is another log: shorter, or with another event where we stopped. */
  const wasReplaced = async ({
    position,
    eventId,
  }: Checkpoint): Promise<E.Either<LogUnavailable, boolean>> => {
    if (position === 0n) return E.right(false);
    const head = await log.head()();
    if (E.isLeft(head)) return head;
    if (head.right < position) return E.right(true);
    const page = await readAfter(position - 1n, 1);
    if (E.isLeft(page)) return page;
    const [event] = page.right;
    // An event that a prune has removed is no sign of another log.
    return E.right(event !== undefined && event.position === position && event.eventId !== eventId);
  };

  /** Empties the live tables, which tell of another log; whoever reads next catches up first, so nobody sees them empty. */
  const startOver = (seen: Checkpoint): Promise<void> =>
    whenFree(
      db.transaction(() => {
        // Another projector may have been faster.
        if (live.checkpoint().eventId !== seen.eventId) return;
        dropTables(db, '');
        createTables(db, '');
      }).immediate,
    );

  const rebuild = async (
    onProgress: (applied: number) => void,
  ): Promise<E.Either<LogUnavailable, Progress>> => {
    const token = randomUUID();
    await whenFree(
      db.transaction(() => {
        dropTables(db, REBUILD);
        createTables(db, REBUILD);
        db.prepare('INSERT OR REPLACE INTO rebuilding VALUES (1, ?)').run(token);
      }).immediate,
    );
    const tables = makeTables(db, REBUILD);
    const ours = () => db.prepare('SELECT token FROM rebuilding').pluck().get() === token;
    for (let applied = 0, position = 0n; ;) {
      const page = await readAfter(position);
      if (E.isLeft(page)) return page;
      if (page.right.length === 0) {
        if (!(await whenFree(db.transaction(() => swap(ours)).immediate))) return overtaken;
        return E.right({ applied, position });
      }
      if (!(await commitPage(tables, position, page.right, ours))) return overtaken;
      position = page.right.at(-1)?.position ?? position;
      applied += page.right.length;
      onProgress(applied);
    }
  };

  const swap = (ours: () => boolean): boolean => {
    if (!ours()) return false;
    dropTables(db, '');
    for (const table of TABLES) db.exec(`ALTER TABLE ${REBUILD}${table} RENAME TO ${table}`);
    db.exec('DELETE FROM rebuilding');
    return true;
  };

  return { catchUp, rebuild };
};

const overtaken: E.Either<LogUnavailable, never> = E.left({
  _tag: 'LogUnavailable',
  message: 'another rebuild of the same read model was started, and this one made way for it',
  outcomeUnknown: false,
});
