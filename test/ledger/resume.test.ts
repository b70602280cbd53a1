import { describe, expect, it } from 'vitest';
import type { EventLog } from '../../src/log/port.js';
import { TERMINAL_STATUSES } from '../../src/domain/status.js';
import { historyOf } from '../../projections/history.js';
import { openReadModel } from '../../src/projector/readModel.js';
import { engines, right } from '../support/engines.js';
import { newLeg, processOf, rowIn, USER, world, worldOn } from '../support/ledger.js';

/** Does something once, right before the n-th read or append of a stream. */
const before = (
  log: EventLog,
  call: 'readStream' | 'append',
  stream: string,
  act: () => Promise<unknown>,
  nth = 1,
): EventLog => {
  let calls = 0;
  const intervene = async (name: string) => {
    if (name !== stream) return;
    calls += 1;
    if (calls === nth) await act();
  };
  return {
    ...log,
    readStream: (name, options) => async () => {
      if (call === 'readStream') await intervene(name);
      return log.readStream(name, options)();
    },
    append: (name, events, expected) => async () => {
      if (call === 'append') await intervene(name);
      return log.append(name, events, expected)();
    },
  };
};

describe.each(engines)('resuming on $name', (engine) => {
  it.each(TERMINAL_STATUSES)('a session that is %s reopens to running, in one append', async (status) => {
    const w = await world(engine);
    await w.open('s', { branchId: 'b', metadata: { kept: 1 } });
    w.advance(1000);
    await w.close('s', status, { leg: 1 });
    w.advance(1000);
    const resumed = right(await w.useCases.resume('b', newLeg(200, { metadata: { added: 2 } }), USER)());
    expect(resumed).toMatchObject({
      outcome: 'applied',
      from: status,
      to: 'running',
      changed: true,
      leg: 2,
      revision: 3,
    });
    expect(await rowIn(w, 's')).toMatchObject({
      status: 'running',
      leg: 2,
      legCount: 2,
      endedAt: null,
      startedAt: '2026-01-01T00:00:00.000Z',
      legStartedAt: '2026-01-01T00:00:02.000Z',
      process: processOf(200),
      metadata: { kept: 1, added: 2 },
      reasonCode: 'session.reopened.by_resume',
      overrideCount: 1,
      irregularCount: 0,
    });
    const [, , changed, overridden] = await w.events('s');
    // Status and process identity are in one event: no state of the log has one without the other.
    expect(JSON.parse(changed!.data as string)).toMatchObject({ to: 'running', process: processOf(200) });
    expect(JSON.parse(overridden!.data as string)).toMatchObject({ override: { actor: 'cli.resume' } });
  });

  it('completed, resumed and completed again is two envelopes, the second for leg 2', async () => {
    const w = await world(engine);
    await w.open('s');
    await w.close('s', 'completed', { leg: 1 });
    await w.resume('s');
    await w.close('s', 'completed', { leg: 2 });
    const model = right(await openReadModel(':memory:', w.log)());
    const envelopes = right(await model.envelopesOf('s')());
    expect(envelopes.map(({ envelope }) => [envelope.data.leg, envelope.data.status])).toEqual([
      [1, 'completed'],
      [2, 'completed'],
    ]);
    expect(new Set(envelopes.map(({ envelope }) => envelope.id)).size).toBe(2);
    model.close();
    const statuses = historyOf('s', await w.events('s')).filter(
      ({ type }) => type !== 'TransitionOverridden',
    );
    expect(statuses.map(({ to }) => to)).toEqual(['running', 'completed', 'running', 'completed']);
  });

  it.each([null, 'word', '{bad', '{"pid":1}', 5, true, [1], { a: { b: { c: [{}] } } }])(
    'stored metadata %j does not stop a resume',
    async (metadata) => {
      const w = await world(engine);
      const opened = {
        sessionId: 's',
        branchId: 's',
        leg: 1,
        reason: { code: 'run.started.ok', summary: '' },
        process: null,
        metadata,
        notify: [],
        correlation: null,
      };
      await w.forge('session-s', 'SessionOpened', opened);
      await w.close('s', 'completed', { leg: 1 });
      expect(right(await w.useCases.resume('s', newLeg(7, { metadata: { k: 'v' } }), USER)())).toMatchObject({
        outcome: 'applied',
        leg: 2,
      });
      expect(await rowIn(w, 's')).toMatchObject({
        status: 'running',
        process: processOf(7),
        metadata: expect.objectContaining({ k: 'v' }) as object,
      });
    },
  );

  it.each(['{"broken', '[]', '"x"', 'null'])(
    'an opening event whose data is %s is no session: the leg gets a new one',
    async (data) => {
      const w = await world(engine);
      await w.forge('session-s', 'SessionOpened', data);
      const resumed = await w.resume('s');
      expect(resumed).toMatchObject({ outcome: 'applied', branchId: 's', from: null, leg: 1 });
    },
  );

  it('a running session with a living process is observed, and nothing is written', async () => {
    const w = await world(engine);
    await w.open('s');
    expect(await w.resume('s')).toMatchObject({ outcome: 'observing', leg: 1, changed: false, eventIds: [] });
    expect(await w.types('s')).toHaveLength(1);
  });

  it('a running session whose process is gone is taken over, with what was seen', async () => {
    const w = await world(engine);
    await w.open('s');
    w.gone.add(100);
    expect(await w.resume('s')).toMatchObject({
      outcome: 'taken_over',
      from: 'running',
      to: 'running',
      leg: 2,
    });
    expect(await w.types('s')).toEqual(['SessionOpened', 'LegTakenOver']);
    expect(JSON.parse((await w.events('s'))[1]!.data as string)).toMatchObject({
      cause: 'process_gone',
      previous: processOf(100),
      process: processOf(200),
      evidence: { verdict: 'gone' },
    });
    // Leg 1 was presumed dead: it wakes, closes, and harms nobody.
    expect(await w.close('s', 'completed', { leg: 1, yields: true })).toMatchObject({
      outcome: 'conflict',
      current: { leg: 2 },
    });
    expect(await rowIn(w, 's')).toMatchObject({ status: 'running', leg: 2, process: processOf(200) });
  });

  it("a reopening decided on a stale read leaves the other leg's identity alone", async () => {
    const opened = await engine.open();
    const other = worldOn(opened.log);
    await other.open('s');
    await other.close('s', 'completed', { leg: 1 });
    const w = worldOn(opened.log, (log) => before(log, 'append', 'session-s', () => other.reopen('s', 555)));
    expect(await w.resume('s', 666)).toMatchObject({ outcome: 'observing', leg: 2 });
    expect(await rowIn(w, 's')).toMatchObject({ leg: 2, process: processOf(555) });
    await other.close('s', 'completed', { leg: 2 });
    const pinned = worldOn(opened.log, (log) =>
      before(log, 'append', 'session-s', () => other.reopen('s', 777)),
    );
    const { revision } = (await rowIn(w, 's'))!;
    expect(await pinned.reopen('s', 888, { expectedRevision: revision })).toMatchObject({
      outcome: 'conflict',
    });
    expect(await rowIn(w, 's')).toMatchObject({ leg: 3, process: processOf(777) });
    await opened.dispose();
  });

  it.each([
    ['between the look-up of the branch and the read', 'readStream', 'session-s', 1],
    ['between the read and the write', 'append', 'session-s', 1],
  ] as const)('a session that disappears %s does not stop the leg', async (_name, call, stream, nth) => {
    const opened = await engine.open();
    const w = worldOn(opened.log);
    await w.open('s', { branchId: 'b' });
    await w.close('s', 'completed', { leg: 1 });
    const racing = worldOn(opened.log, (log) =>
      before(log, call, stream, () => log.tombstone('session-s', 'any')(), nth),
    );
    const resumed = await racing.resume('b');
    expect(resumed).toMatchObject({ outcome: 'applied', from: null, branchId: 'b', leg: 1 });
    if (resumed.outcome !== 'applied') return;
    expect(resumed.sessionId).not.toBe('s');
    expect(await w.resume('b')).toMatchObject({ outcome: 'observing', sessionId: resumed.sessionId });
    await opened.dispose();
  });

  it('a branch that nobody has seen gets a new session', async () => {
    const w = await world(engine);
    expect(await w.resume('fresh')).toMatchObject({ outcome: 'applied', from: null, branchId: 'fresh' });
  });

  it('a branch whose opener died between its two appends gets a new session, and the late opener loses', async () => {
    const opened = await engine.open();
    const w = worldOn(opened.log);
    await w.forge('branch-b', 'BranchBound', { branchId: 'b', sessionId: 'never', supersedes: null });
    const resumed = await w.resume('b');
    expect(resumed).toMatchObject({ outcome: 'applied', from: null, branchId: 'b' });
    expect(await w.open('never', { branchId: 'b' })).toMatchObject({ outcome: 'conflict' });
    await opened.dispose();
  });

  it('resumes at once: one leg reopens, the others observe it', async () => {
    const w = await world(engine);
    await w.open('s');
    await w.close('s', 'failed', { leg: 1 });
    const outcomes = await Promise.all([201, 202, 203, 204].map((pid) => w.resume('s', pid)));
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual([
      'applied',
      'observing',
      'observing',
      'observing',
    ]);
    expect((await w.session('s')).leg).toBe(2);
  });

  it('a leg that timed out is followed by another one, and one status tells the end', async () => {
    const w = await world(engine);
    await w.open('s');
    const takeOver = {
      leg: 1,
      cause: 'timed_out' as const,
      reason: { code: 'run.timed_out.deadline', summary: '' },
      process: processOf(100),
      evidence: null,
      metadata: {},
      notify: [],
    };
    expect(right(await w.useCases.takeOver('s', takeOver, USER)())).toMatchObject({
      outcome: 'taken_over',
      leg: 2,
    });
    expect(right(await w.useCases.takeOver('s', takeOver, USER)())).toMatchObject({ outcome: 'conflict' });
    await w.close('s', 'completed', { leg: 2 });
    expect(await w.types('s')).toEqual(['SessionOpened', 'LegTakenOver', 'StatusChanged']);
  });

  it('activity is recorded of the current leg only', async () => {
    const w = await world(engine);
    await w.open('s');
    expect(
      right(await w.useCases.recordActivity('s', { leg: 1, child: processOf(9) }, USER)()),
    ).toMatchObject({ outcome: 'applied' });
    expect((await w.session('s')).child).toEqual(processOf(9));
    expect(right(await w.useCases.recordActivity('s', { leg: 2, child: null }, USER)())).toMatchObject({
      outcome: 'conflict',
    });
    expect(await w.types('s')).toHaveLength(2);
  });
});
