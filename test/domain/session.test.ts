import { describe, expect, it } from 'vitest';
import { v7 } from 'uuid';
import type { RawEvent } from '../../src/domain/events.js';
import { evolve, initialState, replay } from '../../src/domain/session.js';
import { historyOf } from '../../projections/history.js';
import { legsOf } from '../../projections/legs.js';
import { rowOf } from '../../projections/sessionRow.js';
import { META, processOf } from '../support/ledger.js';

type Given = readonly [type: string, data: unknown, metadata?: unknown];

const raw = (given: readonly Given[]): RawEvent[] =>
  given.map(([type, data, metadata = META], revision) => ({
    stream: 'session-s',
    revision,
    position: BigInt(revision + 1),
    eventId: v7(),
    type,
    data: typeof data === 'string' ? data : JSON.stringify(data),
    metadata: JSON.stringify(metadata),
    recordedAt: 0,
  }));

const reason = { code: 'run.completed.ok', summary: '' };
const opened: Given = [
  'SessionOpened',
  {
    sessionId: 's',
    branchId: 'b',
    leg: 1,
    reason: { code: 'run.started.ok', summary: '' },
    process: processOf(1),
    metadata: {},
    notify: [],
    correlation: null,
  },
];
const close = (from: string, to: string, leg: number, more = {}): Given => [
  'StatusChanged',
  {
    sessionId: 's',
    from,
    to,
    leg,
    reason,
    endedAt: '2026-01-01T00:00:05.000Z',
    exit: null,
    durationMs: 1,
    evidence: null,
    artifacts: [],
    ...more,
  },
];
const reopen = (from: string, leg: number): Given => [
  'StatusChanged',
  { sessionId: 's', from, to: 'running', leg, reason, process: processOf(2), metadata: {}, notify: [] },
];
const override = (from: string, to: string): Given => [
  'TransitionOverridden',
  { sessionId: 's', from, to, reasonCode: reason.code, override: { actor: 'a', justification: 'j' } },
];
const takeOver = (leg: number): Given => [
  'LegTakenOver',
  {
    sessionId: 's',
    leg,
    process: processOf(3),
    cause: 'process_gone',
    reason,
    previous: null,
    evidence: null,
    metadata: {},
    notify: [],
  },
];

describe('an event that the rules would not have allowed', () => {
  it.each<[string, readonly Given[], Given, RegExp]>([
    ['data that is not JSON', [opened], ['StatusChanged', '{broken'], /not JSON/],
    ['data that does not fit', [opened], ['StatusChanged', { sessionId: 's' }], /does not fit StatusChanged/],
    [
      'metadata that does not fit',
      [opened],
      ['ReasonAppended', { sessionId: 's', status: 'running', reason }, { at: 'yesterday' }],
      /metadata does not fit/,
    ],
    ['an unknown type', [opened], ['SessionExploded', {}], /unknown event type "SessionExploded"/],
    [
      'another session than its stream',
      [opened],
      ['ReasonAppended', { sessionId: 'other', status: 'running', reason }],
      /names another session/,
    ],
    ['a second opening', [opened], opened, /already opened/],
    ['anything before the opening', [], close('running', 'completed', 1), /never opened/],
    [
      'a from that was not the status',
      [opened],
      close('failed', 'completed', 1),
      /claims the status was failed, which was running/,
    ],
    [
      'a second completed over completed',
      [opened, close('running', 'completed', 1)],
      close('completed', 'completed', 1),
      /was completed already/,
    ],
    [
      'a close of an old leg',
      [opened, close('running', 'completed', 1), reopen('completed', 2), override('completed', 'running')],
      close('running', 'failed', 1),
      /names leg 1, the current leg is 2/,
    ],
    ['a close of a leg to come', [opened], close('running', 'failed', 2), /names leg 2/],
    [
      'a reopening without its override',
      [opened, close('running', 'completed', 1)],
      reopen('completed', 2),
      /without its override/,
    ],
    [
      'an override without its transition',
      [opened, close('running', 'completed', 1)],
      override('completed', 'running'),
      /without the transition/,
    ],
    [
      'a reopening that skips a leg',
      [opened, close('running', 'completed', 1)],
      reopen('completed', 3),
      /names leg 3/,
    ],
    [
      'a reason for a status that is not',
      [opened],
      ['ReasonAppended', { sessionId: 's', status: 'failed', reason }],
      /claims the status failed/,
    ],
    [
      'a take-over of an ended session',
      [opened, close('running', 'completed', 1)],
      takeOver(2),
      /take-over of a session that is completed/,
    ],
    ['a take-over that skips a leg', [opened], takeOver(3), /names leg 3/],
    [
      'activity of an old leg',
      [opened, takeOver(2)],
      ['ActivityRecorded', { sessionId: 's', leg: 1, child: null }],
      /names leg 1/,
    ],
    [
      'activity of an ended session',
      [opened, close('running', 'failed', 1)],
      ['ActivityRecorded', { sessionId: 's', leg: 1, child: null }],
      /activity of a session that is failed/,
    ],
    [
      'a prune of a running session',
      [opened],
      ['SessionPruneClaimed', { sessionId: 's', cutoff: META.at, actor: META.actor }],
      /prune claimed a running session/,
    ],
    [
      "another stream's event",
      [opened],
      ['BranchBound', { branchId: 'b', sessionId: 's', supersedes: null }],
      /does not belong/,
    ],
    [
      'an end that is no instant',
      [opened],
      close('running', 'completed', 1, { endedAt: '2026-02-30T00:00:00.000Z' }),
      /endedAt/,
    ],
    ['a close without an end', [opened], close('running', 'completed', 1, { endedAt: null }), /endedAt/],
  ])('is irregular: %s', (_name, before, event, rule) => {
    const events = raw([...before, event]);
    const state = replay('s', events.slice(0, -1));
    const evolved = evolve('s', state, events.at(-1)!);
    expect(evolved.irregular).toMatch(rule);
    expect(evolved.change).toBeNull();
    expect(evolved.state.session).toEqual(state.session);
    expect(evolved.state).toMatchObject({
      irregularCount: state.irregularCount + 1,
      revision: events.length - 1,
    });
    const entry = historyOf('s', events).at(-1);
    expect(entry).toMatchObject({
      irregular: evolved.irregular,
      from: null,
      to: null,
      revision: events.length - 1,
    });
  });

  it('stops nothing: what follows is applied', () => {
    const events = raw([
      opened,
      ['Nonsense', 'x'],
      close('running', 'completed', 1),
      close('completed', 'failed', 1),
      reopen('completed', 2),
      override('completed', 'running'),
    ]);
    const state = replay('s', events);
    expect(rowOf(state)).toMatchObject({ status: 'running', leg: 2, irregularCount: 2, overrideCount: 1 });
  });

  it('becomes regular only by the override that comes right after it', () => {
    const between = raw([
      opened,
      close('running', 'completed', 1),
      reopen('completed', 2),
      ['ReasonAppended', { sessionId: 's', status: 'completed', reason }],
      override('completed', 'running'),
    ]);
    expect(rowOf(replay('s', between))).toMatchObject({ status: 'completed', leg: 1, irregularCount: 2 });
    const other = raw([
      opened,
      close('running', 'completed', 1),
      reopen('completed', 2),
      override('completed', 'failed'),
    ]);
    expect(rowOf(replay('s', other))).toMatchObject({ status: 'completed', irregularCount: 2 });
  });

  it('after a prune has claimed the session is whatever comes', () => {
    const events = raw([
      opened,
      close('running', 'failed', 1),
      ['SessionPruneClaimed', { sessionId: 's', cutoff: META.at, actor: META.actor }],
      reopen('failed', 2),
      override('failed', 'running'),
    ]);
    expect(replay('s', events)).toMatchObject({
      pruneClaimed: true,
      irregularCount: 2,
      session: { status: 'failed' },
    });
  });
});

describe('history and legs', () => {
  const events = raw([
    opened,
    close('running', 'completed', 1),
    reopen('completed', 2),
    override('completed', 'running'),
    takeOver(3),
    close('running', 'failed', 3),
  ]);

  it('show three legs in order, with who and why', () => {
    const history = historyOf('s', events);
    expect(history.map(({ type, leg, from, to }) => [type, leg, from, to])).toEqual([
      ['SessionOpened', 1, null, 'running'],
      ['StatusChanged', 1, 'running', 'completed'],
      ['StatusChanged', 2, 'completed', 'running'],
      ['TransitionOverridden', 2, 'completed', 'running'],
      ['LegTakenOver', 3, 'running', 'running'],
      ['StatusChanged', 3, 'running', 'failed'],
    ]);
    expect(
      history.every(
        ({ irregular, actor, at }) => irregular === null && actor?.id === 'writer' && at === META.at,
      ),
    ).toBe(true);
    for (const revision of [2, 3])
      expect(history[revision]!.override).toEqual({ actor: 'a', justification: 'j' });
    expect(Object.keys(history[0]!)).toEqual([
      'revision',
      'position',
      'eventId',
      'type',
      'at',
      'leg',
      'from',
      'to',
      'reasonCode',
      'reasonSummary',
      'actor',
      'override',
      'irregular',
    ]);
  });

  it('tell how each leg came to be and how it ended', () => {
    expect(legsOf('s', events).map(({ leg, how, status }) => [leg, how, status])).toEqual([
      [1, 'opened', 'completed'],
      [2, 'reopened', null],
      [3, 'took over', 'failed'],
    ]);
  });

  it('of nothing are nothing', () => {
    expect(historyOf('s', [])).toEqual([]);
    expect(legsOf('s', [])).toEqual([]);
    expect(rowOf(initialState)).toBeNull();
  });
});
