/** What delivery asks of the read model: the notices that are still owed. */
import type * as TE from 'fp-ts/lib/TaskEither.js';
import type { Envelope } from '../domain/envelope.js';
import type { NotifyIntent } from '../domain/events.js';
import type { LogUnavailable } from '../log/port.js';

/** One envelope owed to one consumer: neither delivered nor parked. */
export interface OwedNotice {
  readonly envelope: Envelope;
  /** Position of the transition that caused the envelope: notices of one session are told in this order. */
  readonly position: bigint;
  readonly consumer: string;
  readonly intent: NotifyIntent;
}

export interface NoticeQueue {
  /** Catches up with the log, then lists what is owed in position order; of one session when one is named. */
  owed(sessionId?: string): TE.TaskEither<LogUnavailable, readonly OwedNotice[]>;
}
