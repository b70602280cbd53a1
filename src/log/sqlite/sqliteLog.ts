/** The embedded engine: the port of design §6 over one SQLite file that many processes share. */
import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import * as E from 'fp-ts/lib/Either.js';
import type * as TE from 'fp-ts/lib/TaskEither.js';
import type { RawEvent } from '../../domain/events.js';
import type { OpenError } from '../openError.js';
import type { EventLog, LogError, LogUnavailable, ReadAllOptions, ReadStreamOptions } from '../port.js';
import { follow, passes } from '../subscription.js';
import type { Page } from '../subscription.js';
import { watchChanges } from './changes.js';
import { isBusy, unavailable } from './errors.js';
import { openInbox, processExists } from './inbox.js';
import { openFile } from './schema.js';
import type { FileOptions } from './schema.js';
import { prepareStatements, toEvent } from './statements.js';
import type { Statements } from './statements.js';
import { makeWriter } from './writer.js';
import type { WriterStep } from './writer.js';

export interface SqliteLogOptions extends FileOptions {
  readonly now?: () => number;
  /** How long a lock that another process holds is waited for. */
  readonly lockTimeoutMs?: number;
  readonly onStep?: (step: WriterStep) => void;
  readonly pollMs?: number;
}

const LOCK_TIMEOUT_MS = 30_000;
/** So many rows are looked at in one go when a filter lets little through. */
const SCAN_PAGE = 1_000;
/** Above this size the write-ahead log is emptied by force, as soon as no reader is in the way. */
const WAL_BYTES = 64 * 1024 * 1024;
const COMMITS_BETWEEN_LOOKS = 256;

/** Opens or creates the log in `path`; several processes may do so at once. */
export const openSqliteLog =
  (path: string, options: SqliteLogOptions = {}): TE.TaskEither<OpenError, EventLog> =>
  async () => {
    const opened = await openFile(path, options);
    if (E.isLeft(opened)) return opened;
    try {
      return E.right(makeLog(path, opened.right, options));
    } catch (error) {
      opened.right.close();
      const problem = error instanceof Error ? error.message : String(error);
      return E.left({ _tag: 'DamagedFile', path, problem });
    }
  };

const makeLog = (path: string, db: Database.Database, options: SqliteLogOptions): EventLog => {
  const sql = prepareStatements(db);
  const changes = watchChanges(
    path,
    () => (db.open ? (db.pragma('data_version', { simple: true }) as number) : -1),
    options.pollMs,
  );
  const checkpoint = boundWal(path, db);
  const lockTimeoutMs = options.lockTimeoutMs ?? LOCK_TIMEOUT_MS;
  const writer = makeWriter(db, sql, openInbox(`${path}-inbox`, processExists), {
    path,
    now: options.now ?? Date.now,
    lockTimeoutMs,
    onStep: options.onStep ?? (() => undefined),
    onCommit: () => {
      changes.tell();
      checkpoint();
    },
  });
  let closing = false;
  const closed: LogUnavailable = {
    _tag: 'LogUnavailable',
    message: `the log ${path} is closed`,
    outcomeUnknown: false,
  };

  /** A reader meets a lock only while another process mends the log after a crash: it waits. */
  const reading = async <A, L = never>(
    read: () => E.Either<L, A>,
  ): Promise<E.Either<L | LogUnavailable, A>> => {
    const deadline = Date.now() + lockTimeoutMs;
    for (;;) {
      if (closing) return E.left(closed);
      try {
        return read();
      } catch (error) {
        if (!isBusy(error) || Date.now() > deadline) return E.left(unavailable(path, error, false));
      }
      await delay(1);
    }
  };

  return {
    name: `sqlite:${path}`,
    append: (stream, events, expected) => () =>
      closing ? Promise.resolve(E.left(closed)) : writer.write({ _tag: 'append', stream, events, expected }),
    tombstone: (stream, expected) => async () => {
      if (closing) return E.left(closed);
      const written = await writer.write({ _tag: 'tombstone', stream, expected });
      return E.isLeft(written) ? written : E.right(undefined);
    },
    readStream:
      (stream, read = {}) =>
      () =>
        reading(() => readStream(sql, stream, read)),
    readAll:
      (read = {}) =>
      () =>
        reading(() => E.right(readAll(sql, read).events)),
    head: () => () => reading(() => E.right(BigInt(sql.head.get() ?? 0))),
    subscribeToAll: (subscription = {}) =>
      follow(subscription, {
        read: (page) => reading(() => E.right(readAll(sql, page))),
        onChange: changes.listen,
      }),
    close: async () => {
      if (closing) return;
      closing = true;
      await writer.idle();
      changes.stop();
      db.close();
    },
  };
};

const readStream = (
  sql: Statements,
  name: string,
  { direction = 'forwards', from, limit }: ReadStreamOptions,
): E.Either<LogError, readonly RawEvent[]> => {
  const stream = sql.stream.get(name);
  if (stream === undefined) return E.right([]);
  if (stream.deleted === 1) return E.left({ _tag: 'StreamDeleted', stream: name });
  // SQLite takes a negative limit as none.
  const most = limit === undefined || limit === Infinity ? -1 : limit;
  const rows =
    direction === 'forwards'
      ? sql.forwards.all(stream.id, from ?? 0, most)
      : sql.backwards.all(stream.id, from ?? Number.MAX_SAFE_INTEGER, most);
  return E.right(rows.map(toEvent));
};

const readAll = (sql: Statements, { after = 0n, limit = Infinity, filter }: ReadAllOptions): Page => {
  const events: RawEvent[] = [];
  let scannedTo = after;
  while (events.length < limit) {
    const wanted = Math.min(SCAN_PAGE, filter === undefined ? limit - events.length : SCAN_PAGE);
    const rows = sql.all.all(Number(scannedTo), wanted);
    for (const row of rows) {
      scannedTo = BigInt(row.position);
      if (passes(row, filter)) events.push(toEvent(row));
      if (events.length >= limit) break;
    }
    if (rows.length < wanted) break;
  }
  return { events, scannedTo };
};

/** A passive checkpoint runs by itself at every thousand pages; this one ends a log that busy readers kept growing. */
const boundWal = (path: string, db: Database.Database): (() => void) => {
  let commits = 0;
  return () => {
    // At the first one too: most processes commit once or twice, and there may be only such.
    if (commits++ % COMMITS_BETWEEN_LOOKS !== 0) return;
    try {
      if (statSync(`${path}-wal`).size > WAL_BYTES) db.pragma('wal_checkpoint(TRUNCATE)');
    } catch {
      // The append is committed, whatever keeps the log from being emptied; at the next look, then.
    }
  };
};
