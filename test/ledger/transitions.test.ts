import { describe, expect, it } from 'vitest';
import { v7 } from 'uuid';
import type { CommandContext } from '../../src/domain/commands.js';
import { STATUSES, TERMINAL_STATUSES } from '../../src/domain/status.js';
import type { EventLog } from '../../src/log/port.js';
import { engines, left, right } from '../support/engines.js';
import { closing, newLeg, processOf, rowIn, USER, world, worldOn } from '../support/ledger.js';

const OVERRIDE = { actor: 'alice', justification: 'the report was empty' };

describe.each(engines)('transitions on $name', (engine) => {
  it.each(TERMINAL_STATUSES)('a running session closes as %s', async (to) => {
    const w = await world(engine);
    await w.open('s');
    w.advance(1500);
    const closed = await w.close('s', to, { leg: 1, exit: { code: 3, signal: null } });
    expect(closed).toMatchObject({
      outcome: 'applied',
      from: 'running',
      to,
      changed: true,
      leg: 1,
      revision: 1,
    });
    expect(await w.types('s')).toEqual(['SessionOpened', 'StatusChanged']);
    expect(await rowIn(w, 's')).toMatchObject({
      status: to,
      endedAt: '2026-01-01T00:00:01.500Z',
      revision: 1,
    });
    expect(JSON.parse((await w.events('s'))[1]!.data as string)).toMatchObject({
      durationMs: 1500,
      exit: { code: 3, signal: null },
    });
  });

  it.each(TERMINAL_STATUSES)(
    'a session that is %s refuses every other status without an override, and audits it',
    async (status) => {
      const w = await world(engine);
      await w.open('s');
      await w.close('s', status, { leg: 1 });
      const others = STATUSES.filter((other) => other !== status);
      for (const to of others)
        expect(await w.close('s', to, { leg: 1, source: 'cli.close' })).toMatchObject({
          outcome: 'rejected',
          current: { status, leg: 1 },
        });
      expect(await w.types('s')).toHaveLength(2);
      const audit = await w.audit();
      expect(audit.map(({ type }) => type)).toEqual(others.map(() => 'TransitionRejected'));
      expect(
        audit.map(({ data }) => (JSON.parse(data as string) as { attempted: string }).attempted),
      ).toEqual(others);
      expect(JSON.parse(audit[0]!.data as string)).toMatchObject({
        sessionId: 's',
        from: status,
        source: 'cli.close',
      });
      expect(JSON.parse(audit[0]!.metadata as string)).toMatchObject({ actor: USER.actor });
    },
  );

  it('expected statuses that are not met are a conflict and change nothing anywhere', async () => {
    const w = await world(engine);
    await w.open('s');
    expect(await w.close('s', 'failed', { leg: 1, expectedStatuses: ['completed'] })).toMatchObject({
      outcome: 'conflict',
      current: { status: 'running' },
    });
    expect(await w.types('s')).toHaveLength(1);
    expect(await w.audit()).toEqual([]);
  });

  it('a terminal session whose expected status is not met is a quiet conflict, not a rejection', async () => {
    const w = await world(engine);
    await w.open('s');
    await w.close('s', 'completed', { leg: 1 });
    expect(await w.close('s', 'failed', { leg: 1, expectedStatuses: ['running'] })).toMatchObject({
      outcome: 'conflict',
    });
    expect(await w.audit()).toEqual([]);
  });

  it('a rejection outranks a stale pinned revision', async () => {
    const w = await world(engine);
    await w.open('s');
    await w.close('s', 'completed', { leg: 1 });
    expect(
      await w.close('s', 'failed', { leg: 1, expectedStatuses: ['completed'], expectedRevision: 0 }),
    ).toMatchObject({ outcome: 'rejected' });
    expect(await w.audit()).toHaveLength(1);
  });

  it('a stale pinned revision lets none of the companion fields land', async () => {
    const w = await world(engine);
    await w.open('s', { metadata: { kept: 'yes' } });
    await w.close('s', 'completed', { leg: 1 });
    const before = await rowIn(w, 's');
    const stale = await w.useCases.reopen(
      's',
      newLeg(999, { metadata: { landed: 'no' } }),
      { expectedRevision: 0 },
      USER,
    )();
    expect(right(stale)).toMatchObject({ outcome: 'conflict', current: { revision: 1 } });
    expect(await w.close('s', 'failed', { leg: 1, expectedRevision: 0, override: OVERRIDE })).toMatchObject({
      outcome: 'conflict',
    });
    expect(await rowIn(w, 's')).toEqual(before);
  });

  it.each([null, OVERRIDE])(
    'the same status again refreshes the reason and announces nothing (override: %j)',
    async (override) => {
      const w = await world(engine);
      await w.open('s');
      await w.close('s', 'completed', { leg: 1 });
      const again = await w.close('s', 'completed', {
        leg: 1,
        override,
        reason: { code: 'run.completed.ok', summary: 'second look' },
      });
      expect(again).toMatchObject({ outcome: 'applied', from: 'completed', to: 'completed', changed: false });
      expect(await w.types('s')).toEqual(['SessionOpened', 'StatusChanged', 'ReasonAppended']);
      expect(await rowIn(w, 's')).toMatchObject({ reasonSummary: 'second look', overrideCount: 0 });
    },
  );

  it('an override changes a terminal status into another, with its explanation in the same append', async () => {
    const w = await world(engine);
    await w.open('s');
    await w.close('s', 'completed', { leg: 1 });
    const done = await w.close('s', 'failed', { override: OVERRIDE });
    expect(done).toMatchObject({ outcome: 'applied', from: 'completed', to: 'failed', revision: 3 });
    expect((await w.types('s')).slice(2)).toEqual(['StatusChanged', 'TransitionOverridden']);
    expect(JSON.parse((await w.events('s'))[3]!.data as string)).toMatchObject({
      from: 'completed',
      to: 'failed',
      override: OVERRIDE,
    });
    expect(await rowIn(w, 's')).toMatchObject({ status: 'failed', overrideCount: 1, irregularCount: 0 });
  });

  it('of many writers with one revision exactly one applies, also when all write the same status', async () => {
    const w = await world(engine);
    await w.open('s');
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => w.close('s', 'completed', { leg: 1, expectedRevision: 0 })),
    );
    expect(outcomes.filter(({ outcome }) => outcome === 'applied')).toHaveLength(1);
    expect(outcomes.filter(({ outcome }) => outcome === 'conflict')).toHaveLength(7);
    expect(await w.types('s')).toEqual(['SessionOpened', 'StatusChanged']);
  });

  it('a late close of leg 1 leaves leg 2 running', async () => {
    const w = await world(engine);
    await w.open('s');
    await w.close('s', 'completed', { leg: 1 });
    await w.reopen('s');
    for (const yields of [false, true])
      expect(await w.close('s', 'failed', { leg: 1, yields })).toMatchObject({
        outcome: 'conflict',
        current: { leg: 2, status: 'running' },
      });
    expect(await rowIn(w, 's')).toMatchObject({ status: 'running', leg: 2, endedAt: null });
  });

  it('a leg whose session somebody else ended writes nothing and is told the status', async () => {
    const w = await world(engine);
    await w.open('s');
    await w.close('s', 'cancelled', { leg: 1, reason: { code: 'run.cancelled.manual_kill', summary: '' } });
    const events = await w.types('s');
    for (const to of ['completed', 'cancelled'] as const)
      expect(await w.close('s', to, { leg: 1, yields: true })).toMatchObject({
        outcome: 'conflict',
        current: { status: 'cancelled' },
      });
    expect(await w.types('s')).toEqual(events);
    expect(await w.audit()).toEqual([]);
  });

  describe('a sweep that was wrong', () => {
    const swept = async () => {
      const w = await world(engine);
      await w.open('s');
      await w.close('s', 'aborted', { leg: 1, reason: { code: 'session.stale.no_heartbeat', summary: '' } });
      return w;
    };

    it.each([false, true])("is corrected by the leg's own close (yields: %s)", async (yields) => {
      const w = await swept();
      expect(await w.close('s', 'completed', { leg: 1, yields })).toMatchObject({
        outcome: 'applied',
        from: 'aborted',
        to: 'completed',
      });
      const [, , changed, overridden] = await w.events('s');
      expect(JSON.parse(changed!.data as string)).toMatchObject({
        reason: { code: 'session.corrected.late_outcome' },
      });
      expect(JSON.parse(overridden!.data as string)).toMatchObject({
        override: { actor: 'leg' },
        reasonCode: 'session.corrected.late_outcome',
      });
    });

    it('is not corrected once the session was resumed', async () => {
      const w = await swept();
      await w.reopen('s');
      expect(await w.close('s', 'completed', { leg: 1, yields: true })).toMatchObject({
        outcome: 'conflict',
      });
      await w.close('s', 'failed', { leg: 2 });
      expect(await w.close('s', 'completed', { leg: 1, yields: true })).toMatchObject({
        outcome: 'conflict',
      });
    });

    it('is corrected by nobody who names no leg', async () => {
      const w = await swept();
      expect(await w.close('s', 'completed')).toMatchObject({ outcome: 'rejected' });
    });
  });

  describe('command ids', () => {
    const ID: CommandContext = { ...USER, commandId: v7() };

    it('give the first outcome again, also after the session has moved on', async () => {
      const w = await world(engine);
      const more = { sessionId: undefined };
      const opened = await w.open('ignored', more, ID);
      expect(await w.open('ignored', more, ID)).toEqual(opened);
      if (opened.outcome !== 'applied') throw new Error(opened.outcome);
      const { sessionId } = opened;
      const closeId = { ...USER, commandId: v7() };
      const reopenId = { ...USER, commandId: v7() };
      const noteId = { ...USER, commandId: v7() };
      const closed = await w.close(sessionId, 'completed', { leg: 1 }, closeId);
      const reopened = await w.reopen(sessionId, 200, {}, reopenId);
      const note = () =>
        w.useCases.note(sessionId, { reason: { code: 'run.started.ok', summary: 'n' } }, noteId)();
      const noted = right(await note());
      const count = (await w.types(sessionId)).length;
      expect(await w.open('ignored', more, ID)).toEqual(opened);
      expect(await w.close(sessionId, 'completed', { leg: 1 }, closeId)).toEqual(closed);
      expect(await w.reopen(sessionId, 200, {}, reopenId)).toEqual(reopened);
      expect(right(await note())).toEqual(noted);
      expect(await w.types(sessionId)).toHaveLength(count);
    });

    it('give a rejection again, although the session has been reopened since', async () => {
      const w = await world(engine);
      await w.open('s');
      await w.close('s', 'completed', { leg: 1 });
      expect(await w.close('s', 'failed', { leg: 1 }, ID)).toMatchObject({ outcome: 'rejected' });
      await w.reopen('s');
      expect(await w.close('s', 'failed', { leg: 1 }, ID)).toMatchObject({ outcome: 'rejected' });
      expect(await w.audit()).toHaveLength(1);
      expect(await rowIn(w, 's')).toMatchObject({ status: 'running' });
    });

    it('finish an open that died between its two appends', async () => {
      const opened = await engine.open();
      const dies = (log: EventLog): EventLog => ({
        ...log,
        append: (stream, events, expected) =>
          stream.startsWith('session-')
            ? () => Promise.reject(new Error('the process died'))
            : log.append(stream, events, expected),
      });
      const broken = worldOn(opened.log, dies);
      await expect(broken.open('s', { branchId: 'b' }, ID)).rejects.toThrow('died');
      const w = worldOn(opened.log);
      expect(await w.open('s', { branchId: 'b' }, ID)).toMatchObject({ outcome: 'applied', branchId: 'b' });
      expect(right(await w.log.readStream('branch-b')())).toHaveLength(1);
      await opened.dispose();
    });
  });

  it('a lost reply is no second event: the append is looked for before it is decided again', async () => {
    let lose = 1;
    const w = await world(engine, (log) => ({
      ...log,
      append: (stream, events, expected) => async () => {
        const result = await log.append(stream, events, expected)();
        if (stream !== 'session-s' || lose-- <= 0) return result;
        return {
          _tag: 'Left',
          left: { _tag: 'LogUnavailable', message: 'the reply was lost', outcomeUnknown: true },
        };
      },
    }));
    expect(await w.open('s')).toMatchObject({ outcome: 'applied', revision: 0 });
    lose = 1;
    expect(await w.close('s', 'completed', { leg: 1 })).toMatchObject({
      outcome: 'applied',
      changed: true,
      revision: 1,
    });
    lose = 1;
    expect(await w.reopen('s')).toMatchObject({ outcome: 'applied', leg: 2 });
    expect(await w.types('s')).toEqual([
      'SessionOpened',
      'StatusChanged',
      'StatusChanged',
      'TransitionOverridden',
    ]);
  });

  it('a close that loses a race to a mere note is decided again; to another close, it is a conflict', async () => {
    const opened = await engine.open();
    const w = worldOn(opened.log);
    await w.open('s');
    let once: (() => Promise<unknown>) | null = null;
    const racing = worldOn(opened.log, (log) => ({
      ...log,
      append: (stream, events, expected) => async () => {
        const first = once;
        once = null;
        await first?.();
        return log.append(stream, events, expected)();
      },
    }));
    once = w.useCases.note('s', { reason: { code: 'run.started.ok', summary: 'meanwhile' } }, USER);
    expect(await racing.close('s', 'failed', { leg: 1 })).toMatchObject({ outcome: 'applied', revision: 2 });
    await w.reopen('s');
    once = () => w.close('s', 'completed', { leg: 2 });
    expect(await racing.close('s', 'failed', { leg: 2 })).toMatchObject({
      outcome: 'conflict',
      current: { status: 'completed' },
    });
    expect(await w.audit()).toEqual([]);
    await opened.dispose();
  });

  describe('validation comes before anything is read', () => {
    const unread: EventLog = new Proxy({} as EventLog, {
      get: () => () => () => Promise.reject(new Error('the log was read')),
    });
    const w = worldOn(unread);
    const now = '2026-01-01T00:00:00.000Z';
    it.each<[string, object, object, RegExp]>([
      [
        'an unregistered reason',
        { reason: { code: 'run.failed.bad_mood', summary: '' } },
        USER,
        /not registered/,
      ],
      [
        'an unknown domain',
        { reason: { code: 'weather.failed.rain', summary: '' } },
        USER,
        /unknown domain "weather"|reason/,
      ],
      ['a malformed reason', { reason: { code: 'nonsense', summary: '' } }, USER, /reason/],
      ['an unknown status', { to: 'paused' }, USER, /to: /],
      [
        'a blank actor of an override',
        { override: { actor: ' ', justification: 'x' } },
        USER,
        /override\.actor: must not be blank/,
      ],
      [
        'a blank justification',
        { override: { actor: 'a', justification: '' } },
        USER,
        /override\.justification: must not be blank/,
      ],
      ['a blank actor', {}, { actor: { type: 'user', id: ' ' } }, /actor\.id: must not be blank/],
      ['an unknown field', { colour: 'red' }, USER, /colour/],
      [
        'text that is not Unicode',
        { reason: { code: 'run.completed.ok', summary: '\ud800' } },
        USER,
        /lone surrogate/,
      ],
      ['no expected status at all', { expectedStatuses: [] }, USER, /expectedStatuses/],
      ['leg 0', { leg: 0 }, USER, /leg: /],
      ['a command id that is no UUID', {}, { ...USER, commandId: 'again' }, /commandId/],
    ])('%s', async (_name, change, context, message) => {
      const result = await w.useCases.changeStatus(
        's',
        { ...closing('completed', now), ...change },
        context as CommandContext,
      )();
      expect(left(result)).toMatchObject({ _tag: 'Invalid', problems: [expect.stringMatching(message)] });
    });

    it('holds for the other commands as well', async () => {
      const bad = { ...USER, commandId: 'again' };
      expect(
        left(
          await w.useCases.reopen(
            's',
            newLeg(1, { override: { actor: '', justification: 'x' } }),
            {},
            USER,
          )(),
        )._tag,
      ).toBe('Invalid');
      expect(left(await w.useCases.resume('no/such', newLeg(1), USER)())._tag).toBe('Invalid');
      expect(left(await w.useCases.note('s', { reason: { code: 'x', summary: '' } }, USER)())._tag).toBe(
        'Invalid',
      );
      expect(
        left(
          await w.useCases.open(
            {
              process: processOf(1),
              metadata: {},
              notify: () => [],
              correlation: null,
              reason: { code: 'run.started.ok', summary: '' },
              branchId: '-no',
            },
            USER,
          )(),
        )._tag,
      ).toBe('Invalid');
      expect(
        left(
          await w.useCases.open(
            {
              process: processOf(1),
              metadata: {},
              notify: () => [],
              correlation: null,
              reason: { code: 'run.started.ok', summary: '' },
            },
            bad,
          )(),
        )._tag,
      ).toBe('Invalid');
    });
  });

  it('a session that nobody opened is not found', async () => {
    const w = await world(engine);
    expect(left(await w.useCases.changeStatus('nobody', closing('completed', w.now()), USER)())).toEqual({
      _tag: 'NotFound',
      sessionId: 'nobody',
      pruned: false,
    });
  });

  it('a session that exists, and a branch that has a session, cannot be opened again', async () => {
    const w = await world(engine);
    await w.open('s', { branchId: 'b' });
    expect(await w.open('s', { branchId: 'c' })).toMatchObject({
      outcome: 'conflict',
      current: { sessionId: 's' },
    });
    expect(await w.open('t', { branchId: 'b' })).toMatchObject({
      outcome: 'conflict',
      current: { sessionId: 's' },
    });
    expect(right(await w.log.readStream('branch-c')())).toEqual([]);
    expect(await w.types('t')).toEqual([]);
  });

  it('of two sessions opened on one branch at once exactly one is', async () => {
    const w = await world(engine);
    const outcomes = await Promise.all(['s', 't', 'u'].map((id) => w.open(id, { branchId: 'b' })));
    expect(outcomes.filter(({ outcome }) => outcome === 'applied')).toHaveLength(1);
    expect(right(await w.log.readStream('branch-b')())).toHaveLength(1);
  });
});
