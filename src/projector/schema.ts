/** The tables of the read model. */
import { randomUUID } from 'node:crypto';
import type Database from 'better-sqlite3';

/** Raised whenever a table or what is folded into it changes: a file of an older version is made anew from the log. */
export const VERSION = 2;

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

export const createTables = (db: Database.Database, prefix: string): void => {
  // Keeps the names of indexes apart while two sets of tables are in the file.
  const tag = randomUUID().slice(0, 8);
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

/** Every table that a read model may hold, empty: what it had is derived from the log again. */
export const makeAnew = (db: Database.Database): void => {
  for (const table of allTables(db)) db.exec(`DROP TABLE "${table}"`);
  db.exec('CREATE TABLE rebuilding (id INTEGER PRIMARY KEY CHECK (id = 1), token TEXT NOT NULL) STRICT');
  createTables(db, '');
};

/** Also those that only an older version had. */
const allTables = (db: Database.Database): readonly string[] =>
  db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .pluck()
    .all();
