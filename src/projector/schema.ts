/** The read model's file: derived data, so an older one is made anew; a file of somebody else is refused. */
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import * as E from 'fp-ts/lib/Either.js';
import { Sqlite } from '../sqlite/driver.js';

/** "SLrm" marks a file as a read model of this program. */
const APPLICATION_ID = 0x534c726d;
/** Raised whenever a table or what is folded into it changes. */
const VERSION = 1;

export const TABLES = [
  'sessions',
  'branches',
  'overrides',
  'rejections',
  'envelopes',
  'notices',
  'irregulars',
  'checkpoint',
] as const;

/** `tag` keeps the names of indexes apart while two sets of tables are in the file. */
export const createTables = (db: Database.Database, prefix: string, tag: string): void => {
  db.exec(`
    CREATE TABLE ${prefix}sessions (
      session_id TEXT PRIMARY KEY, branch_id TEXT, status TEXT, leg_started_at TEXT, state TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX i_${tag}_latest ON ${prefix}sessions (leg_started_at DESC, session_id) WHERE status IS NOT NULL;
    CREATE INDEX i_${tag}_status ON ${prefix}sessions (status, leg_started_at DESC, session_id);
    CREATE INDEX i_${tag}_branch ON ${prefix}sessions (branch_id, leg_started_at DESC, session_id);
    CREATE TABLE ${prefix}branches (branch_id TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE ${prefix}overrides (
      position INTEGER PRIMARY KEY, session_id TEXT NOT NULL, at TEXT NOT NULL, json TEXT NOT NULL
    ) STRICT;
    CREATE INDEX i_${tag}_overrides ON ${prefix}overrides (session_id, position);
    CREATE TABLE ${prefix}rejections (
      position INTEGER PRIMARY KEY, event_id TEXT NOT NULL, session_id TEXT NOT NULL, at TEXT NOT NULL, json TEXT NOT NULL
    ) STRICT;
    CREATE INDEX i_${tag}_rejections ON ${prefix}rejections (session_id, position);
    CREATE INDEX i_${tag}_rejection ON ${prefix}rejections (event_id);
    CREATE TABLE ${prefix}envelopes (
      position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, json TEXT NOT NULL
    ) STRICT;
    CREATE INDEX i_${tag}_envelopes ON ${prefix}envelopes (session_id, position);
    CREATE TABLE ${prefix}notices (
      envelope_id TEXT NOT NULL, consumer TEXT NOT NULL, position INTEGER NOT NULL, session_id TEXT NOT NULL,
      intent TEXT NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL, owner TEXT, last_error TEXT,
      PRIMARY KEY (envelope_id, consumer)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX i_${tag}_owed ON ${prefix}notices (position) WHERE state NOT IN ('delivered', 'parked');
    CREATE TABLE ${prefix}irregulars (
      position INTEGER PRIMARY KEY, stream TEXT NOT NULL, revision INTEGER NOT NULL, rule TEXT NOT NULL
    ) STRICT;
    CREATE TABLE ${prefix}checkpoint (id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, event_id TEXT) STRICT;
    INSERT INTO ${prefix}checkpoint VALUES (1, 0, NULL);
  `);
};

export const dropTables = (db: Database.Database, prefix: string): void => {
  for (const table of TABLES) db.exec(`DROP TABLE IF EXISTS ${prefix}${table}`);
};

export const isBusy = (error: unknown): boolean =>
  error instanceof Sqlite.SqliteError && /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(error.code);

const WAIT_FOR_OTHERS_MS = 30_000;

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

/** The left side says why the file cannot be used, and what to do. */
export const openFile = async (path: string): Promise<E.Either<string, Database.Database>> => {
  let db: Database.Database | null = null;
  try {
    if (path !== ':memory:') {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      closeSync(openSync(path, 'a', 0o600));
    }
    const opened = new Sqlite(path, { timeout: 0 });
    db = opened;
    const problem = await whenFree(() => prepare(opened, path));
    if (problem === null) return E.right(opened);
    opened.close();
    return E.left(problem);
  } catch (error) {
    db?.close();
    const message = error instanceof Error ? error.message : String(error);
    return E.left(
      `the read model ${path} cannot be opened (${message}): it holds derived data only; remove it, and it is made anew from the log`,
    );
  }
};

const prepare = (db: Database.Database, path: string): string | null => {
  // In one transaction: a file that another process makes meanwhile would look like somebody else's.
  const { applicationId, tables, version } = db.transaction(() => ({
    applicationId: db.pragma('application_id', { simple: true }) as number,
    tables: db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number,
    version: db.pragma('user_version', { simple: true }) as number,
  }))();
  if (applicationId !== APPLICATION_ID && (applicationId !== 0 || tables > 0))
    return `${path} is not a read model of session-ledger: it was left untouched; name another directory with --state-dir`;
  if (version > VERSION)
    return `the read model ${path} was written by a newer session-ledger (schema ${version}, this one knows ${VERSION}): upgrade this program`;
  if (db.pragma('journal_mode', { simple: true }) !== 'wal') db.pragma('journal_mode = WAL');
  // What a power cut takes is derived from the log again.
  db.pragma('synchronous = NORMAL');
  db.pragma('journal_size_limit = 67108864');
  if (version < VERSION) db.transaction(() => makeAnew(db)).immediate();
  return null;
};

const makeAnew = (db: Database.Database): void => {
  // Another process may have been faster.
  if (db.pragma('user_version', { simple: true }) === VERSION) return;
  dropTables(db, '');
  dropTables(db, 'rebuild_');
  db.exec('DROP TABLE IF EXISTS rebuilding');
  db.exec('CREATE TABLE rebuilding (id INTEGER PRIMARY KEY CHECK (id = 1), token TEXT NOT NULL) STRICT');
  createTables(db, '', 'first');
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.pragma(`user_version = ${VERSION}`);
};
