/** The event log that every engine offers (design §6); `test/contract/eventLog.ts` is its definition. */
import type * as TE from 'fp-ts/lib/TaskEither.js';
import type { NewEvent, RawEvent } from '../domain/events.js';

export type { NewEvent } from '../domain/events.js';

/** A number is the exact revision of the stream's last event. */
export type ExpectedRevision = 'any' | 'no_stream' | number;

export interface Appended {
  /** Revision and position of the last event of the append. */
  readonly revision: number;
  readonly position: bigint;
  /** True when every event was in the stream already: a retry, answered with the first outcome. */
  readonly repeated: boolean;
}

export type LogError =
  | {
      readonly _tag: 'WrongExpectedRevision';
      readonly stream: string;
      readonly expected: ExpectedRevision;
      /** -1: the stream has no events. */
      readonly actual: number;
    }
  | { readonly _tag: 'StreamDeleted'; readonly stream: string }
  | LogUnavailable;

/** The log did not answer. `outcomeUnknown`: an append may have been written; retry it with the same event ids. */
export interface LogUnavailable {
  readonly _tag: 'LogUnavailable';
  readonly message: string;
  readonly outcomeUnknown: boolean;
}

export interface ReadStreamOptions {
  readonly direction?: 'forwards' | 'backwards';
  /** First revision to read, inclusive; by default the start (forwards) or the end (backwards). */
  readonly from?: number;
  readonly limit?: number;
}

/** Both filters must hold; an absent one lets everything pass. */
export interface ReadAllFilter {
  readonly streamPrefixes?: readonly string[];
  readonly eventTypes?: readonly string[];
}

export interface ReadAllOptions {
  /** Events after this position; by default from the start. */
  readonly after?: bigint;
  readonly limit?: number;
  readonly filter?: ReadAllFilter;
}

/** `caught_up` comes each time a subscription has handed out everything that was committed. */
export type SubscriptionItem =
  { readonly _tag: 'event'; readonly event: RawEvent } | { readonly _tag: 'caught_up' };

export interface SubscribeOptions {
  readonly after?: bigint;
  readonly filter?: ReadAllFilter;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal;
}

export interface EventLog {
  /** Names the log in messages: its connection string without secrets. */
  readonly name: string;

  /**
   * Appends all events or none, at the expected revision. Idempotent by event id: when the stream holds all of the
   * events already, in this order, nothing is written and the first outcome is returned; when it holds only some,
   * that is a `WrongExpectedRevision`. At least one event is required.
   */
  append(
    stream: string,
    events: readonly NewEvent[],
    expected: ExpectedRevision,
  ): TE.TaskEither<LogError, Appended>;

  /** A stream without events reads as an empty list; a tombstoned one is `StreamDeleted`. */
  readStream(stream: string, options?: ReadStreamOptions): TE.TaskEither<LogError, readonly RawEvent[]>;

  /** Events of the whole log in position order. */
  readAll(options?: ReadAllOptions): TE.TaskEither<LogUnavailable, readonly RawEvent[]>;

  /** The position of the last event in the log; 0 when there is none. */
  head(): TE.TaskEither<LogUnavailable, bigint>;

  /**
   * Everything after a position, then whatever follows, in position order, also what other processes commit.
   * Survives a log that is away for a while; throws only when the log is closed or cannot be used any more.
   */
  subscribeToAll(options?: SubscribeOptions): AsyncIterable<SubscriptionItem>;

  /** Removes a stream for good: every later read or append of it is `StreamDeleted`. */
  tombstone(stream: string, expected: ExpectedRevision): TE.TaskEither<LogError, void>;

  close(): Promise<void>;
}

/** Says in words what happened, to what, and what to do. */
export const describeLogError = (error: LogError): string => {
  switch (error._tag) {
    case 'WrongExpectedRevision':
      return `stream ${error.stream} is at revision ${error.actual}, not ${error.expected}: read it again and decide again`;
    case 'StreamDeleted':
      return `stream ${error.stream} was pruned`;
    case 'LogUnavailable':
      return error.message;
  }
};
