/** The file of an embedded log: made, recognised, refused or migrated before anything else is done with it. */
import { chmodSync, closeSync, mkdirSync, openSync, readSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import * as E from 'fp-ts/lib/Either.js';
import { Sqlite } from '../../sqlite/driver.js';
import type { OpenError } from '../openError.js';
import { isBusy, sqliteCode } from './errors.js';

/** "SLog": marks a file as an event log of this program (header offset 68 of the SQLite file format). */
export const APPLICATION_ID = 0x534c6f67;

/** Each migration leads to the version that is its index plus one; forwards only. */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE streams (
     id INTEGER PRIMARY KEY,
     name TEXT NOT NULL UNIQUE,
     revision INTEGER NOT NULL,
     deleted INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE TABLE events (
     position INTEGER PRIMARY KEY AUTOINCREMENT,
     stream INTEGER NOT NULL REFERENCES streams (id),
     revision INTEGER NOT NULL,
     event_id BLOB NOT NULL,
     type TEXT NOT NULL,
     data ANY NOT NULL,
     metadata ANY NOT NULL,
     recorded_at INTEGER NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX events_by_stream ON events (stream, revision);
   CREATE INDEX events_by_id ON events (event_id, stream);`,
];

/** The type of a page that holds rows of a table; the first page's say which tables there are. */
const LEAF_PAGE = 0x0d;

/** `statfs` types on which write-ahead logging is not safe (linux/magic.h). */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x01021997, '9p'],
  [0x65735546, 'FUSE or virtiofs'],
]);

export interface FileOptions {
  /** FULL: an acknowledged append survives a power cut; NORMAL: only a crash of the process. */
  readonly synchronous?: 'FULL' | 'NORMAL';
  readonly migrations?: readonly string[];
  /** The type of the file system that holds a directory, as `statfs` tells it. */
  readonly fileSystemType?: (directory: string) => number;
}

type Opened = E.Either<OpenError, Database.Database>;

const WAIT_FOR_OTHERS_MS = 20_000;

/** Opens the file, or makes it when there is none. A file that is not a ledger's is not touched. */
export const openFile = async (path: string, options: FileOptions = {}): Promise<Opened> => {
  const { migrations = MIGRATIONS, fileSystemType = (directory) => statfsSync(directory).type } = options;
  try {
    const directory = dirname(path);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const network = NETWORK_FILE_SYSTEMS.get(fileSystemType(directory) >>> 0);
    if (network !== undefined) return E.left({ _tag: 'NetworkFileSystem', path, kind: network });
    const strange = inspect(path, migrations.length);
    if (strange !== null) return E.left(strange);
  } catch (error) {
    return E.left(cannotOpen(path, error));
  }
  const deadline = Date.now() + WAIT_FOR_OTHERS_MS;
  for (;;) {
    try {
      return open(path, migrations, options.synchronous ?? 'FULL');
    } catch (error) {
      // Others make or migrate the same file at this moment.
      if (!isBusy(error) || Date.now() > deadline) return E.left(cannotOpen(path, error));
      await delay(5 + Math.random() * 20);
    }
  }
};

/** Looks at the first page with plain reads: SQLite itself would write into or beside a file that is not ours. */
const inspect = (path: string, known: number): OpenError | null => {
  const header = Buffer.alloc(108);
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    // Created by us so that it, and the files SQLite adds beside it, are readable by nobody else.
    closeSync(openSync(path, 'a', 0o600));
    return null;
  }
  try {
    const length = readSync(file, header, 0, header.length, 0);
    if (length === 0) return null;
    if (length < 100 || header.toString('latin1', 0, 16) !== 'SQLite format 3\0')
      return { _tag: 'ForeignFile', path, what: 'not a database' };
    const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
    if (statSync(path).size < pageSize)
      return { _tag: 'DamagedFile', path, problem: 'it ends in its first page' };
    const applicationId = header.readUInt32BE(68);
    // Ours gets its mark in the same commit as its tables: until that one is checkpointed, the first page has neither.
    const hasTables = header.readUInt8(100) !== LEAF_PAGE || header.readUInt16BE(103) > 0;
    if (applicationId !== APPLICATION_ID && (applicationId !== 0 || hasTables))
      return { _tag: 'ForeignFile', path, what: "another program's database" };
    const version = header.readUInt32BE(60);
    return applicationId === APPLICATION_ID && version > known
      ? { _tag: 'NewerVersion', path, found: version, known }
      : null;
  } finally {
    closeSync(file);
  }
};

const open = (path: string, migrations: readonly string[], synchronous: 'FULL' | 'NORMAL'): Opened => {
  const db = new Sqlite(path, { timeout: 0 });
  try {
    // In one transaction: a file that another process makes meanwhile would look like somebody else's.
    const { applicationId, tables, version } = db.transaction(() => ({
      applicationId: db.pragma('application_id', { simple: true }) as number,
      tables: db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number,
      version: db.pragma('user_version', { simple: true }) as number,
    }))();
    if (applicationId !== APPLICATION_ID && (applicationId !== 0 || tables > 0)) {
      db.close();
      return E.left({ _tag: 'ForeignFile', path, what: "another program's database" });
    }
    if (version > migrations.length) {
      db.close();
      return E.left({ _tag: 'NewerVersion', path, found: version, known: migrations.length });
    }
    // Takes effect only in a file without pages, so that a prune can give space back later (design §10).
    if (tables === 0) db.pragma('auto_vacuum = INCREMENTAL');
    if (db.pragma('journal_mode', { simple: true }) !== 'wal') db.pragma('journal_mode = WAL');
    db.pragma(`synchronous = ${synchronous}`);
    db.pragma('journal_size_limit = 67108864');
    if (version < migrations.length) migrate(db, migrations);
    chmodSync(path, 0o600);
    return E.right(db);
  } catch (error) {
    db.close();
    throw error;
  }
};

const migrate = (db: Database.Database, migrations: readonly string[]): void => {
  db.transaction(() => {
    // Another process may have been faster.
    const version = db.pragma('user_version', { simple: true }) as number;
    for (const migration of migrations.slice(version)) db.exec(migration);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${migrations.length}`);
  }).immediate();
};

const cannotOpen = (path: string, error: unknown): OpenError => {
  const code = sqliteCode(error) ?? (error as NodeJS.ErrnoException).code ?? '';
  const message = error instanceof Error ? error.message : String(error);
  if (code === 'SQLITE_CORRUPT' || code.startsWith('SQLITE_CORRUPT_'))
    return { _tag: 'DamagedFile', path, problem: message };
  if (code === 'SQLITE_NOTADB') return { _tag: 'ForeignFile', path, what: 'not a database' };
  if (isBusy(error))
    return {
      _tag: 'CannotOpen',
      path,
      problem: 'another process holds it locked; end or continue that process',
    };
  if (code === 'EACCES' || code === 'EPERM' || code === 'SQLITE_READONLY' || code === 'EROFS')
    return {
      _tag: 'CannotOpen',
      path,
      problem: `no permission (${message}): choose a directory of your own with --state-dir`,
    };
  return { _tag: 'CannotOpen', path, problem: message };
};
