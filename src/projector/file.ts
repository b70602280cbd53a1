/** The read model's file: recognised before SQLite touches it, and made anew when it is old or damaged, since all of it is derived. */
import { closeSync, mkdirSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import * as E from 'fp-ts/lib/Either.js';
import { Sqlite } from '../sqlite/driver.js';
import { makeAnew, VERSION } from './schema.js';

/** "SLrm" marks a file as a read model of this program (header offset 68 of the SQLite file format). */
const APPLICATION_ID = 0x534c726d;

/** The type of a page that holds rows of a table; the first page's say which tables there are. */
const LEAF_PAGE = 0x0d;

const WAIT_FOR_OTHERS_MS = 30_000;

export interface OpenedFile {
  readonly db: Database.Database;
  /** Tells the file from one that is put in its place; null in memory. */
  readonly inode: number | null;
}

/** The left side says why the file cannot be used, and what to do. */
export const openFile = async (path: string): Promise<E.Either<string, OpenedFile>> => {
  for (let discarded = false; ; discarded = true) {
    let inode: number | null = null;
    try {
      if (path !== ':memory:') {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        if (isForeign(path)) return E.left(foreign(path));
        inode = statSync(path).ino;
      }
      const db = await open(path);
      return E.isLeft(db) ? db : E.right({ db: db.right, inode });
    } catch (error) {
      if (discarded || !isDamage(error)) return E.left(describeTrouble(path, error));
      discard({ path, inode });
    }
  }
};

/**
 * Removes a damaged file that was recognised as ours, unless another process has put a new one in its place already.
 * What belongs to it goes first: left beside a new file, SQLite would take it for that one's.
 */
export const discard = ({ path, inode }: { readonly path: string; readonly inode: number | null }): void => {
  if (inode === null || statSync(path, { throwIfNoEntry: false })?.ino !== inode) return;
  for (const suffix of ['-wal', '-shm', '']) rmSync(path + suffix, { force: true });
};

export const isDamage = (error: unknown): boolean =>
  error instanceof Sqlite.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);

export const describeTrouble = (path: string, error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error);
  return `the read model ${path} cannot be used (${message}): it holds derived data only; remove it, and it is made anew from the log`;
};

/** Does `work`, again and again while other processes hold the lock that it needs. */
export const whenFree = async <A>(work: () => A): Promise<A> => {
  const deadline = Date.now() + WAIT_FOR_OTHERS_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || Date.now() > deadline) throw error;
      await delay(1 + Math.random() * 4);
    }
  }
};

const isBusy = (error: unknown): boolean =>
  error instanceof Sqlite.SqliteError && /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(error.code);

const foreign = (path: string): string =>
  `${path} is not a read model of session-ledger: it was left untouched; name another directory with --state-dir`;

/** Looks at the first page with plain reads: SQLite itself would write into or beside a file that is not ours. */
const isForeign = (path: string): boolean => {
  // Made by us when there is none, so that it, and what SQLite adds beside it, is readable by nobody else.
  const file = openSync(path, 'a+', 0o600);
  try {
    const page = Buffer.alloc(108);
    const length = readSync(file, page, 0, page.length, 0);
    if (length === 0) return false;
    if (length < page.length || page.toString('latin1', 0, 16) !== 'SQLite format 3\0') return true;
    // Ours gets its mark in the same commit as its tables: until that one is checkpointed, the first page has neither.
    const hasTables = page.readUInt8(100) !== LEAF_PAGE || page.readUInt16BE(103) > 0;
    const applicationId = page.readUInt32BE(68);
    return applicationId !== APPLICATION_ID && (applicationId !== 0 || hasTables);
  } finally {
    closeSync(file);
  }
};

const open = async (path: string): Promise<E.Either<string, Database.Database>> => {
  const db = new Sqlite(path, { timeout: 0 });
  try {
    const problem = await whenFree(() => prepare(db, path));
    if (problem === null) return E.right(db);
    db.close();
    return E.left(problem);
  } catch (error) {
    db.close();
    throw error;
  }
};

const prepare = (db: Database.Database, path: string): string | null => {
  // In one transaction: a file that another process makes meanwhile would look like somebody else's.
  const { applicationId, tables, version } = db.transaction(() => ({
    applicationId: db.pragma('application_id', { simple: true }) as number,
    tables: db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number,
    version: db.pragma('user_version', { simple: true }) as number,
  }))();
  if (applicationId !== APPLICATION_ID && (applicationId !== 0 || tables > 0)) return foreign(path);
  if (version > VERSION)
    return `the read model ${path} was written by a newer session-ledger (schema ${version}, this one knows ${VERSION}): upgrade this program`;
  if (db.pragma('journal_mode', { simple: true }) !== 'wal') db.pragma('journal_mode = WAL');
  // What a power cut takes is derived from the log again.
  db.pragma('synchronous = NORMAL');
  db.pragma('journal_size_limit = 67108864');
  if (version < VERSION)
    db.transaction(() => {
      // Another process may have been faster.
      if (db.pragma('user_version', { simple: true }) === VERSION) return;
      makeAnew(db);
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${VERSION}`);
    }).immediate();
  return null;
};
