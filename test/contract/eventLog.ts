/** The contract of the event log: what every engine must do, and the definition of the port. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { v7 } from 'uuid';
import type { EventLog, ExpectedRevision, NewEvent, SubscriptionItem } from '../../src/log/port.js';
import type { Engine } from '../support/engines.js';
import { left, right } from '../support/engines.js';

export const event = (type = 'Happened', data = '{}', eventId: string = v7()): NewEvent => ({
  eventId,
  type,
  data,
  metadata: '{"schemaVersion":1}',
});

/** Items of a subscription up to and with the n-th event. */
const take = async (items: AsyncIterable<SubscriptionItem>, events: number): Promise<SubscriptionItem[]> => {
  const taken: SubscriptionItem[] = [];
  for await (const item of items) {
    taken.push(item);
    if (taken.filter(({ _tag }) => _tag === 'event').length >= events) break;
  }
  return taken;
};

export const eventLogContract = (engine: Engine): void => {
  describe(`event log on ${engine.name}`, () => {
    let opened: Awaited<ReturnType<Engine['open']>>;
    let log: EventLog;
    beforeEach(async () => {
      opened = await engine.open();
      log = opened.log;
    });
    afterEach(() => opened.dispose());

    const types = async (stream: string, options = {}) =>
      right(await log.readStream(stream, options)()).map(({ type }) => type);

    describe('append', () => {
      it('numbers the events of a stream from 0 and gives ascending positions', async () => {
        const first = right(await log.append('s', [event('A'), event('B')], 'no_stream')());
        const second = right(await log.append('s', [event('C')], 1)());
        expect([first.revision, second.revision]).toEqual([1, 2]);
        expect(second.position > first.position).toBe(true);
        const events = right(await log.readStream('s')());
        expect(events.map(({ revision, type }) => [revision, type])).toEqual([
          [0, 'A'],
          [1, 'B'],
          [2, 'C'],
        ]);
        expect(events.at(-1)?.position).toBe(second.position);
      });

      it.each<[string, ExpectedRevision, number]>([
        ['no_stream on a stream with events', 'no_stream', 0],
        ['a revision below the last', 0, 1],
        ['a revision above the last', 7, 1],
      ])('refuses %s and writes nothing', async (_name, expected, last) => {
        for (let n = 0; n <= last; n += 1) right(await log.append('s', [event()], 'any')());
        expect(left(await log.append('s', [event()], expected)())).toMatchObject({
          _tag: 'WrongExpectedRevision',
          stream: 's',
          expected,
          actual: last,
        });
        expect(await types('s')).toHaveLength(last + 1);
      });

      it('refuses an exact revision on a stream without events', async () => {
        expect(left(await log.append('s', [event()], 0)())).toMatchObject({
          _tag: 'WrongExpectedRevision',
          actual: -1,
        });
      });

      it.each<ExpectedRevision>(['any', 'no_stream'])(
        'answers a repeated append (%s) with the first outcome',
        async (expected) => {
          const events = [event('A'), event('B')];
          const first = right(await log.append('s', events, expected)());
          right(await log.append('s', [event('C')], 1)());
          expect(right(await log.append('s', events, expected)())).toEqual({ ...first, repeated: true });
          expect(await types('s')).toEqual(['A', 'B', 'C']);
        },
      );

      it('answers a repeated append at an exact revision with the first outcome', async () => {
        right(await log.append('s', [event('A')], 'no_stream')());
        const events = [event('B')];
        const first = right(await log.append('s', events, 0)());
        expect(right(await log.append('s', events, 0)())).toEqual({ ...first, repeated: true });
        expect(await types('s')).toEqual(['A', 'B']);
      });

      it('refuses an append of which only a part is there', async () => {
        const [a, b] = [event('A'), event('B')];
        right(await log.append('s', [a], 'no_stream')());
        expect(left(await log.append('s', [a, b], 'any')())).toMatchObject({ _tag: 'WrongExpectedRevision' });
        expect(await types('s')).toEqual(['A']);
      });

      it('takes the same event id in another stream', async () => {
        const shared = event('A');
        right(await log.append('s', [shared], 'any')());
        expect(right(await log.append('t', [shared], 'any')())).toMatchObject({
          revision: 0,
          repeated: false,
        });
      });

      it('takes any UUID for an event id, of a kind that has a version or not', async () => {
        const ids = ['00000001-0000-0000-0000-00000000000f', 'ffffffff-0000-f000-f000-ffffffffffff'];
        for (const id of ids) right(await log.append('s', [event('A', '{}', id)], 'any')());
        expect(right(await log.append('s', [event('A', '{}', ids[0])], 'no_stream')()).repeated).toBe(true);
        expect(right(await log.readStream('s')()).map(({ eventId }) => eventId)).toEqual(ids);
      });

      it('keeps text and bytes exactly as they were given', async () => {
        const text = '{"emoji":"🎉","rtl":"שלום","spaces":  [1,\t2]}';
        const bytes = new Uint8Array([0, 255, 10, 13, 34]);
        right(
          await log.append(
            's',
            [
              { ...event('A', text), metadata: '' },
              { ...event('B'), data: bytes, metadata: bytes },
            ],
            'any',
          )(),
        );
        const [first, second] = right(await log.readStream('s')());
        expect([first?.data, first?.metadata]).toEqual([text, '']);
        expect(Buffer.from(second?.data as Uint8Array)).toEqual(Buffer.from(bytes));
        expect(Buffer.from(second?.metadata as Uint8Array)).toEqual(Buffer.from(bytes));
      });

      it('lets exactly one of many writers with one expected revision win', async () => {
        right(await log.append('s', [event()], 'no_stream')());
        const results = await Promise.all(Array.from({ length: 20 }, () => log.append('s', [event()], 0)()));
        expect(results.filter(({ _tag }) => _tag === 'Right')).toHaveLength(1);
        expect(await types('s')).toHaveLength(2);
      });
    });

    describe('readStream', () => {
      beforeEach(async () => {
        for (const type of ['A', 'B', 'C', 'D']) right(await log.append('s', [event(type)], 'any')());
      });

      it.each<[object, string]>([
        [{}, 'ABCD'],
        [{ from: 2 }, 'CD'],
        [{ from: 1, limit: 2 }, 'BC'],
        [{ from: 9 }, ''],
        [{ limit: 0 }, ''],
        [{ limit: Infinity }, 'ABCD'],
        [{ direction: 'backwards' }, 'DCBA'],
        [{ direction: 'backwards', from: 1 }, 'BA'],
        [{ direction: 'backwards', limit: 1 }, 'D'],
      ])('reads %j as %s', async (options, expected) => {
        expect((await types('s', options)).join('')).toBe(expected);
      });

      it('reads a stream that nobody has written as empty', async () => {
        expect(await types('nobody')).toEqual([]);
      });
    });

    describe('readAll', () => {
      beforeEach(async () => {
        for (const stream of ['session-a', 'branch-a', 'session-b', 'sessions', 'audit'])
          right(await log.append(stream, [event(`Of_${stream}`), event('Other')], 'any')());
      });

      const all = async (options = {}) => right(await log.readAll(options)());

      it('gives the events of all streams in the order of their positions', async () => {
        const positions = (await all()).map(({ position }) => position);
        expect(positions).toHaveLength(10);
        expect(positions).toEqual([...positions].sort((a, b) => (a < b ? -1 : 1)));
        expect(right(await log.head()())).toBe(positions.at(-1));
      });

      it('goes on after a position, as far as the limit', async () => {
        const events = await all();
        const after = events[3]!.position;
        expect(await all({ after, limit: 2 })).toEqual(events.slice(4, 6));
        expect(await all({ after: events.at(-1)!.position })).toEqual([]);
        expect(await all({ limit: 0 })).toEqual([]);
        expect(await all({ limit: Infinity })).toEqual(events);
      });

      it('filters by stream prefix and by event type, both at once', async () => {
        const filter = { streamPrefixes: ['session-', 'audit'], eventTypes: ['Other'] };
        expect((await all({ filter })).map(({ stream }) => stream)).toEqual([
          'session-a',
          'session-b',
          'audit',
        ]);
        expect(await all({ filter, limit: 2 })).toHaveLength(2);
      });
    });

    describe('subscribeToAll', () => {
      it('hands out what is there, says that it has caught up, then follows', async () => {
        right(await log.append('s', [event('A')], 'any')());
        const items: string[] = [];
        for await (const item of log.subscribeToAll()) {
          items.push(item._tag === 'event' ? item.event.type : item._tag);
          if (items.length === 2) void log.append('s', [event('B')], 'any')();
          if (items.at(-1) === 'caught_up' && items.length > 2) break;
        }
        expect(items).toEqual(['A', 'caught_up', 'B', 'caught_up']);
      });

      it('begins after a position and keeps to its filter', async () => {
        const first = right(await log.append('s', [event('A')], 'any')());
        right(await log.append('t', [event('B')], 'any')());
        right(await log.append('s', [event('C')], 'any')());
        const items = await take(
          log.subscribeToAll({ after: first.position, filter: { streamPrefixes: ['s'] } }),
          1,
        );
        expect(items.map((item) => item._tag === 'event' && item.event.type)).toEqual(['C']);
      });

      it('ends without an error when its signal says so', async () => {
        const stop = new AbortController();
        const seen: string[] = [];
        for await (const item of log.subscribeToAll({ signal: stop.signal })) {
          seen.push(item._tag);
          setTimeout(() => stop.abort(), 5);
        }
        expect(seen).toEqual(['caught_up']);
      });

      it('hands every event to every subscriber, in order, while writers write', async () => {
        const subscribers = [0, 1].map(() => take(log.subscribeToAll(), 60));
        await Promise.all(
          Array.from({ length: 60 }, (_, n) => log.append(`s${n % 3}`, [event(String(n))], 'any')()),
        );
        const expected = right(await log.readAll()()).map(({ position }) => position);
        for (const items of await Promise.all(subscribers))
          expect(items.flatMap((item) => (item._tag === 'event' ? [item.event.position] : []))).toEqual(
            expected,
          );
      });

      it('throws when the log is closed under it', async () => {
        const waiting = take(log.subscribeToAll(), 1);
        await new Promise((resolve) => setTimeout(resolve, 20));
        await log.close();
        await expect(waiting).rejects.toThrow(/closed/);
      });
    });

    describe('tombstone', () => {
      beforeEach(async () => {
        right(await log.append('s', [event('A'), event('B')], 'any')());
        right(await log.append('other', [event('C')], 'any')());
      });

      it('removes the stream for good', async () => {
        right(await log.tombstone('s', 1)());
        expect(left(await log.readStream('s')())).toEqual({ _tag: 'StreamDeleted', stream: 's' });
        expect(left(await log.append('s', [event()], 'any')())._tag).toBe('StreamDeleted');
        expect(left(await log.append('s', [event()], 'no_stream')())._tag).toBe('StreamDeleted');
        expect(left(await log.tombstone('s', 'any')())._tag).toBe('StreamDeleted');
        expect(await types('other')).toEqual(['C']);
      });

      it('refuses another revision than the expected one and removes nothing', async () => {
        expect(left(await log.tombstone('s', 0)())).toMatchObject({
          _tag: 'WrongExpectedRevision',
          actual: 1,
        });
        expect(await types('s')).toEqual(['A', 'B']);
      });

      it('never gives a position twice', async () => {
        const before = right(await log.head()());
        right(await log.tombstone('other', 0)());
        expect(right(await log.append('new', [event()], 'any')()).position > before).toBe(true);
      });
    });

    it('answers every call after close with LogUnavailable', async () => {
      await log.close();
      const errors = [
        left(await log.append('s', [event()], 'any')()),
        left(await log.readStream('s')()),
        left(await log.readAll()()),
        left(await log.head()()),
        left(await log.tombstone('s', 'any')()),
      ];
      expect(errors.map(({ _tag }) => _tag)).toEqual(errors.map(() => 'LogUnavailable'));
    });

    it('agrees with a list of accepted appends, whatever is appended in whatever order', async () => {
      const step = fc.record({
        stream: fc.constantFrom('a', 'b', 'c'),
        expected: fc.oneof(
          fc.constant('any' as const),
          fc.constant('no_stream' as const),
          fc.nat({ max: 6 }),
        ),
        count: fc.integer({ min: 1, max: 3 }),
        repeat: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          const run = v7();
          const model = new Map<string, string[]>();
          let last: { stream: string; expected: ExpectedRevision; events: NewEvent[] } | null = null;
          for (const { stream, expected, count, repeat } of steps) {
            const name = `${run}-${stream}`;
            if (repeat && last !== null) {
              expect(right(await log.append(last.stream, last.events, last.expected)()).repeated).toBe(true);
              continue;
            }
            const events = Array.from({ length: count }, () => event());
            const known = model.get(name) ?? [];
            const accepted =
              expected === 'any' ||
              (expected === 'no_stream' ? known.length === 0 : expected === known.length - 1);
            const result = await log.append(name, events, expected)();
            expect(result._tag).toBe(accepted ? 'Right' : 'Left');
            if (!accepted) continue;
            model.set(name, [...known, ...events.map(({ eventId }) => eventId)]);
            last = { stream: name, expected, events };
          }
          for (const [name, ids] of model) {
            const events = right(await log.readStream(name)());
            expect(events.map(({ eventId }) => eventId)).toEqual(ids);
            expect(events.map(({ revision }) => revision)).toEqual(ids.map((_, index) => index));
          }
        }),
        { numRuns: 25 },
      );
    });

    if (engine.shared)
      it('shows another handle of the same log what was committed', async () => {
        const other = await opened.reopen();
        const following = take(other.subscribeToAll(), 2);
        right(await log.append('s', [event('A')], 'no_stream')());
        expect(left(await other.append('s', [event()], 'no_stream')())._tag).toBe('WrongExpectedRevision');
        right(await other.append('s', [event('B')], 0)());
        expect((await following).flatMap((item) => (item._tag === 'event' ? [item.event.type] : []))).toEqual(
          ['A', 'B'],
        );
        expect(await types('s')).toEqual(['A', 'B']);
      });
  });
};
