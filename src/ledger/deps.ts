/** Everything the use cases need from outside: the log, time, identifiers, and eyes for processes. */
import type * as TE from 'fp-ts/lib/TaskEither.js';
import type { Current } from '../domain/decide.js';
import type { ProcessIdentity, Verdict } from '../domain/processIdentity.js';
import type { ReasonRegistry } from '../domain/reasons.js';
import type { EventLog, LogUnavailable } from '../log/port.js';

export interface LedgerDeps {
  readonly log: EventLog;
  readonly registry: ReasonRegistry;
  /** The time as ISO-8601 UTC with milliseconds. */
  readonly now: () => string;
  /** A fresh UUIDv7. */
  readonly newId: () => string;
  /** Judges a leg by its process and the command that it started. */
  readonly judgeLeg: (process: ProcessIdentity | null, child: ProcessIdentity | null) => Verdict;
  /** A rejection recorded under this event id: what a retried command was answered the first time. */
  readonly findRejection: (eventId: string) => TE.TaskEither<LogUnavailable, Current | null>;
}
