/** What happens inside the write transaction: each write is decided on the stream as it is now, then carried out. */
import * as E from 'fp-ts/lib/Either.js';
import { decideAppend } from '../append.js';
import type { Appended, ExpectedRevision, LogError, NewEvent } from '../port.js';
import { idToBytes } from './statements.js';
import type { Statements, StreamRow } from './statements.js';

export interface AppendWrite {
  readonly _tag: 'append';
  readonly stream: string;
  readonly events: readonly NewEvent[];
  readonly expected: ExpectedRevision;
}

export interface TombstoneWrite {
  readonly _tag: 'tombstone';
  readonly stream: string;
  readonly expected: ExpectedRevision;
}

export type Write = AppendWrite | TombstoneWrite;
export type Written = E.Either<LogError, Appended>;

const NOTHING: Appended = { revision: -1, position: 0n, repeated: false };

/** Needs the write lock. A write that is refused has changed nothing. */
export const carryOut = (sql: Statements, write: Write, now: () => number): Written => {
  const stream = sql.stream.get(write.stream);
  if (stream?.deleted === 1) return E.left({ _tag: 'StreamDeleted', stream: write.stream });
  return write._tag === 'append' ? append(sql, write, stream, now) : tombstone(sql, write, stream);
};

/**
 * What an append comes to that has nothing to write, because it is in the log already or would be refused; null when
 * it has to be written. Needs no lock, only a read transaction, so that it is not torn by somebody's commit.
 */
export const foresee = (sql: Statements, write: AppendWrite): Written | null => {
  const stream = sql.stream.get(write.stream);
  if (stream?.deleted === 1) return E.left({ _tag: 'StreamDeleted', stream: write.stream });
  const decided = decideAppend(write.stream, write.events, write.expected, view(sql, stream));
  if (E.isLeft(decided)) return decided;
  return decided.right === 'write' ? null : E.right(decided.right);
};

const view = (sql: Statements, stream: StreamRow | undefined) => ({
  revision: stream?.revision ?? -1,
  find: (eventId: string) => {
    const found = stream === undefined ? undefined : sql.find.get(idToBytes(eventId), stream.id);
    return found === undefined ? null : { revision: found.revision, position: BigInt(found.position) };
  },
});

const append = (
  sql: Statements,
  write: AppendWrite,
  stream: StreamRow | undefined,
  now: () => number,
): Written => {
  const decided = decideAppend(write.stream, write.events, write.expected, view(sql, stream));
  if (E.isLeft(decided)) return decided;
  if (decided.right !== 'write') return E.right(decided.right);
  const id = stream?.id ?? Number(sql.addStream.run(write.stream).lastInsertRowid);
  let revision = stream?.revision ?? -1;
  let position = 0n;
  for (const { eventId, type, data, metadata } of write.events) {
    revision += 1;
    position = BigInt(
      sql.insert.run(id, revision, idToBytes(eventId), type, data, metadata, now()).lastInsertRowid,
    );
  }
  sql.moveStream.run(revision, id);
  return E.right({ revision, position, repeated: false });
};

const tombstone = (sql: Statements, write: TombstoneWrite, stream: StreamRow | undefined): Written => {
  const actual = stream?.revision ?? -1;
  const { expected } = write;
  if (expected !== 'any' && (expected === 'no_stream' ? -1 : expected) !== actual)
    return E.left({ _tag: 'WrongExpectedRevision', stream: write.stream, expected, actual });
  const id = stream?.id ?? Number(sql.addStream.run(write.stream).lastInsertRowid);
  sql.deleteEvents.run(id);
  sql.deleteStream.run(id);
  return E.right(NOTHING);
};
