/** The rule of an append, the same for every engine of ours: idempotent by event id first, then the expected revision. */
import * as E from 'fp-ts/lib/Either.js';
import type { Appended, ExpectedRevision, LogError, NewEvent } from './port.js';

/** What an engine knows of the stream, inside the append's own transaction. */
export interface StreamView {
  /** Revision of the last event; -1 without events. */
  readonly revision: number;
  /** Where an event of this stream is, by its id. */
  readonly find: (eventId: string) => { readonly revision: number; readonly position: bigint } | null;
}

/** `write`: go on at `revision + 1`. Otherwise the first outcome of an append that is repeated. */
export const decideAppend = (
  stream: string,
  events: readonly NewEvent[],
  expected: ExpectedRevision,
  view: StreamView,
): E.Either<LogError, Appended | 'write'> => {
  const wrong = E.left<LogError>({ _tag: 'WrongExpectedRevision', stream, expected, actual: view.revision });
  const found = events.map(({ eventId }) => view.find(eventId));
  const first = found[0] ?? null;
  if (found.some((place) => place !== null)) {
    const repeated = found.every(
      (place, index) => place !== null && first !== null && place.revision === first.revision + index,
    );
    const last = found.at(-1) ?? null;
    return repeated && last !== null
      ? E.right({ revision: last.revision, position: last.position, repeated: true })
      : wrong;
  }
  if (expected === 'any') return E.right('write');
  return (expected === 'no_stream' ? -1 : expected) === view.revision ? E.right('write') : wrong;
};
