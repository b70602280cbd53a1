/** The invariants of the design, over random interleavings, on every engine. */
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evolve, initialState, replay } from '../../src/domain/session.js';
import { isTerminal } from '../../src/domain/status.js';
import type { EventLog } from '../../src/log/port.js';
import { openReadModel } from '../../src/projector/readModel.js';
import type { ReadModel } from '../../src/projector/model.js';
import { rowOf } from '../../projections/sessionRow.js';
import { engines, right } from '../support/engines.js';
import { worldOn } from '../support/ledger.js';
import type { World } from '../support/ledger.js';
import { programs, runProgram } from '../support/program.js';
import { temporaryDirectory } from '../support/temp.js';

const IDS = ['s', 't', 'u'];
const RUNS = 40;

/** Everything that a read model tells, as text: equal means equal to the byte. */
const everything = async (model: ReadModel): Promise<string> => {
  const parts: unknown[] = [
    right(await model.list({})()),
    right(await model.overrides({})()),
    right(await model.rejections({})()),
    right(await model.envelopesAfter(0n, 10_000)()),
    right(await model.owed()()),
    right(await model.status()()),
  ];
  for (const id of IDS) parts.push(right(await model.row(id)()), right(await model.envelopesOf(id)()));
  return JSON.stringify(parts, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
};

const fresh = async (log: EventLog): Promise<ReadModel> => right(await openReadModel(':memory:', log)());

/** What the stream says, event by event: checked against what the design promises. */
const checkStream = async (w: World, sessionId: string) => {
  let state = initialState;
  let toTerminal = 0;
  const events = await w.events(sessionId);
  for (const event of events) {
    const before = state.session;
    const evolved = evolve(sessionId, state, event);
    state = evolved.state;
    const { session } = state;
    if (session === null) continue;
    expect(session.status === 'running').toBe(session.endedAt === null);
    if (before !== null) {
      expect(session.startedAt).toBe(before.startedAt);
      expect(session.leg).toBeGreaterThanOrEqual(before.leg);
      if (evolved.change === null) expect(session.status).toBe(before.status);
    }
    if (evolved.change !== null) {
      expect(evolved.change.from).not.toBe(evolved.change.to);
      expect(evolved.change.override !== null).toBe(isTerminal(evolved.change.from));
      if (isTerminal(evolved.change.to)) toTerminal += 1;
    }
  }
  return toTerminal;
};

describe.each(engines)('on $name, whatever is done in whatever order', (engine) => {
  it('streams keep the invariants, and rows, envelopes and overrides follow from them', async () => {
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const opened = await engine.open();
        const w = worldOn(opened.log);
        // One read model follows all the time, in pieces; the other reads everything at the end.
        const following = await fresh(opened.log);
        for (const batch of program) {
          await runProgram(w, [batch]);
          right(await following.catchUp()());
        }
        const late = await fresh(opened.log);
        const told = await everything(following);
        expect(await everything(late)).toBe(told);
        right(await following.rebuild()());
        expect(await everything(following)).toBe(told);

        let expectedEnvelopes = 0;
        for (const id of IDS) {
          expectedEnvelopes += await checkStream(w, id);
          expect(JSON.stringify(right(await late.row(id)()))).toBe(
            JSON.stringify(rowOf(replay(id, await w.events(id)))),
          );
        }
        const envelopes = right(await late.envelopesAfter(0n, 10_000)());
        expect(envelopes).toHaveLength(expectedEnvelopes);
        expect(new Set(envelopes.map(({ envelope }) => envelope.id)).size).toBe(expectedEnvelopes);
        const overrides = right(await late.overrides({})());
        expect(overrides).toHaveLength(
          right(await late.list({})()).reduce((sum, row) => sum + row.overrideCount, 0),
        );
        following.close();
        late.close();
        await opened.dispose();
      }),
      { numRuns: RUNS },
    );
  });

  it('a command that is retried changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const opened = await engine.open();
        const w = worldOn(opened.log);
        const withoutForgeries = program.map((batch) => batch.filter((one) => one.do !== 'forge'));
        await runProgram(
          w,
          withoutForgeries.map((batch) => batch.slice(0, 1)),
        );
        const before = right(await opened.log.head()());
        await runProgram(w, [
          [{ do: 'resume', session: 's', gone: true }],
          [{ do: 'retry' }],
          [{ do: 'retry' }],
        ]);
        const after = right(await opened.log.head()());
        // A reopening is two events, a take-over one; a retry is none.
        expect(after - before).toBeLessThanOrEqual(2n);
        const ids = right(await opened.log.readAll()()).map(({ stream, eventId }) => stream + eventId);
        expect(new Set(ids).size).toBe(ids.length);
        await opened.dispose();
      }),
      { numRuns: RUNS / 2 },
    );
  });

  it('two projectors that race on one read model change nothing', async () => {
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const opened = await engine.open();
        const w = worldOn(opened.log);
        const path = join(temporaryDirectory(), 'read-model.db');
        const racers = await Promise.all(
          [0, 1, 2].map(async () => right(await openReadModel(path, opened.log)())),
        );
        for (const batch of program) {
          await runProgram(w, [batch]);
          await Promise.all(racers.map((model) => model.catchUp()()));
        }
        const alone = await fresh(opened.log);
        const told = await everything(alone);
        for (const model of racers) expect(await everything(model)).toBe(told);
        for (const model of [...racers, alone]) model.close();
        await opened.dispose();
      }),
      { numRuns: 10 },
    );
  });
});
