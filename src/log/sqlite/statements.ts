/** Every SQL statement of the embedded log, prepared once, and the row it reads as an event. */
import type Database from 'better-sqlite3';
import type { RawEvent } from '../../domain/events.js';

export interface EventRow {
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly event_id: Uint8Array;
  readonly type: string;
  readonly data: string | Uint8Array;
  readonly metadata: string | Uint8Array;
  readonly recorded_at: number;
}

export interface StreamRow {
  readonly id: number;
  readonly revision: number;
  readonly deleted: 0 | 1;
}

const COLUMNS =
  's.name AS stream, e.revision, e.position, e.event_id, e.type, e.data, e.metadata, e.recorded_at';

/** Any UUID, also one of a kind that RFC 9562 does not know: programs in other languages make them. */
export const idToBytes = (eventId: string): Uint8Array => {
  if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(eventId))
    throw new TypeError(`the event id ${JSON.stringify(eventId)} is not a UUID`);
  return Buffer.from(eventId.replaceAll('-', ''), 'hex');
};

const idToText = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/** As much of a prepared statement as is used here. */
interface Statement<P extends readonly unknown[], R = unknown> {
  readonly run: (...values: P) => { readonly lastInsertRowid: number | bigint };
  readonly get: (...values: P) => R | undefined;
  readonly all: (...values: P) => R[];
}

type Bytes = Uint8Array;
type Content = string | Uint8Array;

export interface Statements {
  readonly begin: Statement<[]>;
  readonly commit: Statement<[]>;
  readonly rollback: Statement<[]>;
  /** One write among those that share a transaction. */
  readonly beginOne: Statement<[]>;
  readonly endOne: Statement<[]>;
  readonly undoOne: Statement<[]>;
  readonly stream: Statement<[name: string], StreamRow>;
  readonly addStream: Statement<[name: string]>;
  readonly moveStream: Statement<[revision: number, stream: number]>;
  readonly deleteStream: Statement<[stream: number]>;
  readonly deleteEvents: Statement<[stream: number]>;
  readonly find: Statement<
    [eventId: Bytes, stream: number],
    { readonly revision: number; readonly position: number }
  >;
  readonly insert: Statement<
    [
      stream: number,
      revision: number,
      eventId: Bytes,
      type: string,
      data: Content,
      metadata: Content,
      recordedAt: number,
    ]
  >;
  readonly forwards: Statement<[stream: number, from: number, limit: number], EventRow>;
  readonly backwards: Statement<[stream: number, from: number, limit: number], EventRow>;
  /** Walks the rows by position; what is not wanted is dropped by the reader, which knows how far it has looked. */
  readonly all: Statement<[after: number, limit: number], EventRow>;
  readonly head: Statement<[], number>;
}

export const prepareStatements = (db: Database.Database): Statements => ({
  begin: db.prepare('BEGIN IMMEDIATE'),
  commit: db.prepare('COMMIT'),
  rollback: db.prepare('ROLLBACK'),
  beginOne: db.prepare('SAVEPOINT one'),
  endOne: db.prepare('RELEASE one'),
  undoOne: db.prepare('ROLLBACK TO one'),
  stream: db.prepare<[string], StreamRow>('SELECT id, revision, deleted FROM streams WHERE name = ?'),
  addStream: db.prepare<[string]>('INSERT INTO streams (name, revision) VALUES (?, -1)'),
  moveStream: db.prepare<[number, number]>('UPDATE streams SET revision = ? WHERE id = ?'),
  deleteStream: db.prepare<[number]>('UPDATE streams SET deleted = 1 WHERE id = ?'),
  deleteEvents: db.prepare<[number]>('DELETE FROM events WHERE stream = ?'),
  find: db.prepare<[Uint8Array, number], { readonly revision: number; readonly position: number }>(
    'SELECT revision, position FROM events WHERE event_id = ? AND stream = ?',
  ),
  insert: db.prepare<[number, number, Uint8Array, string, string | Uint8Array, string | Uint8Array, number]>(
    'INSERT INTO events (stream, revision, event_id, type, data, metadata, recorded_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
  ),
  forwards: db.prepare<[number, number, number], EventRow>(
    `SELECT ${COLUMNS} FROM events e JOIN streams s ON s.id = e.stream WHERE e.stream = ? AND e.revision >= ? ORDER BY e.revision LIMIT ?`,
  ),
  backwards: db.prepare<[number, number, number], EventRow>(
    `SELECT ${COLUMNS} FROM events e JOIN streams s ON s.id = e.stream WHERE e.stream = ? AND e.revision <= ? ORDER BY e.revision DESC LIMIT ?`,
  ),
  all: db.prepare<[number, number], EventRow>(
    `SELECT ${COLUMNS} FROM events e CROSS JOIN streams s ON s.id = e.stream WHERE e.position > ? ORDER BY e.position LIMIT ?`,
  ),
  head: db.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'events'").pluck(),
});

export const toEvent = (row: EventRow): RawEvent => ({
  stream: row.stream,
  revision: row.revision,
  position: BigInt(row.position),
  eventId: idToText(row.event_id),
  type: row.type,
  data: row.data,
  metadata: row.metadata,
  recordedAt: row.recorded_at,
});
