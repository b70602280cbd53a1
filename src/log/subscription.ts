/** Following a log: pages until there is nothing left, then a wait for the next commit, without holding anything open. */
import * as E from 'fp-ts/lib/Either.js';
import type { RawEvent } from '../domain/events.js';
import { describeLogError } from './port.js';
import type {
  LogUnavailable,
  ReadAllFilter,
  ReadAllOptions,
  SubscribeOptions,
  SubscriptionItem,
} from './port.js';

const PAGE = 256;

export const passes = (
  event: Pick<RawEvent, 'stream' | 'type'>,
  filter: ReadAllFilter | undefined,
): boolean =>
  (filter?.streamPrefixes?.some((prefix) => event.stream.startsWith(prefix)) ?? true) &&
  (filter?.eventTypes?.includes(event.type) ?? true);

export interface Page {
  readonly events: readonly RawEvent[];
  /** Everything up to here was looked at, also what the filter held back: the next page begins after it. */
  readonly scannedTo: bigint;
}

export interface Followed {
  readonly read: (page: ReadAllOptions) => Promise<E.Either<LogUnavailable, Page>>;
  /** Calls back after a commit that may hold something new, and when the log closes; gives the way to stop it. */
  readonly onChange: (listener: () => void) => () => void;
}

/** Throws when the log cannot be read any more; ends without an error when the signal says so. */
export async function* follow(options: SubscribeOptions, log: Followed): AsyncGenerator<SubscriptionItem> {
  const { filter, signal } = options;
  let after = options.after ?? 0n;
  const aborted = () => signal?.aborted === true;
  const bell = makeBell();
  const stop = log.onChange(bell.ring);
  signal?.addEventListener('abort', bell.ring);
  try {
    while (!aborted()) {
      // Heard before the read: a commit that comes while we read rings again.
      bell.reset();
      const page = await log.read({ after, limit: PAGE, ...(filter === undefined ? {} : { filter }) });
      if (E.isLeft(page)) throw new Error(describeLogError(page.left));
      for (const event of page.right.events) {
        if (aborted()) return;
        yield { _tag: 'event', event };
      }
      after = page.right.scannedTo;
      if (page.right.events.length > 0) continue;
      yield { _tag: 'caught_up' };
      await bell.heard();
    }
  } finally {
    stop();
    signal?.removeEventListener('abort', bell.ring);
  }
}

/** A bell that stays heard until it is reset, so that no ring between two waits is missed. */
const makeBell = () => {
  let rung = false;
  let wake: (() => void) | null = null;
  return {
    ring: (): void => {
      rung = true;
      wake?.();
    },
    reset: (): void => {
      rung = false;
    },
    heard: (): Promise<void> =>
      new Promise((resolve) => {
        wake = resolve;
        if (rung) resolve();
      }),
  };
};
