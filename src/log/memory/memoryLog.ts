/** The engine for tests and throw-away ledgers: the port of design §6 over an array. */
import * as E from 'fp-ts/lib/Either.js';
import type { RawEvent } from '../../domain/events.js';
import { decideAppend } from '../append.js';
import type {
  EventLog,
  LogError,
  LogUnavailable,
  ReadAllOptions,
  ReadStreamOptions,
  SubscribeOptions,
  SubscriptionItem,
} from '../port.js';
import { passes, follow } from '../subscription.js';

const CLOSED: LogUnavailable = {
  _tag: 'LogUnavailable',
  message: 'the log is closed',
  outcomeUnknown: false,
};

/** A log that lives as long as its process. */
export const openMemoryLog = (now: () => number = Date.now): EventLog => {
  const all: RawEvent[] = [];
  const streams = new Map<string, RawEvent[]>();
  const deleted = new Set<string>();
  const listeners = new Set<() => void>();
  let closed = false;
  let position = 0n;

  const whenOpen =
    <L, A>(work: () => E.Either<L, A>) =>
    (): Promise<E.Either<L | LogUnavailable, A>> =>
      Promise.resolve(closed ? E.left(CLOSED) : work());

  const readStream = (
    stream: string,
    options: ReadStreamOptions,
  ): E.Either<LogError, readonly RawEvent[]> => {
    if (deleted.has(stream)) return E.left({ _tag: 'StreamDeleted', stream });
    const events = streams.get(stream) ?? [];
    const { direction = 'forwards', from, limit = Infinity } = options;
    const selected =
      direction === 'forwards'
        ? events.filter((event) => event.revision >= (from ?? 0))
        : events.filter((event) => event.revision <= (from ?? Infinity)).reverse();
    return E.right(selected.slice(0, limit));
  };

  const readAll = ({ after = 0n, limit = Infinity, filter }: ReadAllOptions): readonly RawEvent[] => {
    const found: RawEvent[] = [];
    for (const event of all) {
      if (found.length >= limit) break;
      if (event.position > after && passes(event, filter)) found.push(event);
    }
    return found;
  };

  return {
    name: 'memory:',
    append: (stream, events, expected) =>
      whenOpen(() => {
        if (deleted.has(stream)) return E.left({ _tag: 'StreamDeleted', stream });
        const existing = streams.get(stream) ?? [];
        const decided = decideAppend(stream, events, expected, {
          revision: existing.length - 1,
          find: (eventId) => existing.find((event) => event.eventId === eventId) ?? null,
        });
        if (E.isLeft(decided) || decided.right !== 'write') return decided as E.Either<LogError, never>;
        for (const event of events) {
          position += 1n;
          const recorded = { ...event, stream, revision: existing.length, position, recordedAt: now() };
          existing.push(recorded);
          all.push(recorded);
        }
        streams.set(stream, existing);
        for (const listener of listeners) listener();
        return E.right({ revision: existing.length - 1, position, repeated: false });
      }),
    readStream: (stream, options = {}) => whenOpen(() => readStream(stream, options)),
    readAll: (options = {}) => whenOpen(() => E.right(readAll(options))),
    head: () => whenOpen(() => E.right(position)),
    subscribeToAll: (options: SubscribeOptions = {}): AsyncIterable<SubscriptionItem> =>
      follow(options, {
        read: (page) =>
          whenOpen(() => {
            const events = readAll(page);
            const last = events.length === page.limit ? events.at(-1) : undefined;
            return E.right({ events, scannedTo: last?.position ?? position });
          })(),
        onChange: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      }),
    tombstone: (stream, expected) =>
      whenOpen(() => {
        if (deleted.has(stream)) return E.left({ _tag: 'StreamDeleted', stream });
        const actual = (streams.get(stream)?.length ?? 0) - 1;
        if (expected !== 'any' && (expected === 'no_stream' ? -1 : expected) !== actual)
          return E.left({ _tag: 'WrongExpectedRevision', stream, expected, actual });
        deleted.add(stream);
        streams.delete(stream);
        all.splice(0, all.length, ...all.filter((event) => event.stream !== stream));
        return E.right(undefined);
      }),
    close: () => {
      closed = true;
      for (const listener of listeners) listener();
      return Promise.resolve();
    },
  };
};
