import { CloudEvent } from 'cloudevents';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { v7 } from 'uuid';
import { sealEnvelope } from '../../src/domain/envelope.js';
import type { Draft } from '../../src/domain/events.js';
import { derivedId, envelopeIdOf, Id, notifyConsumerOf, streamKind } from '../../src/domain/ids.js';
import { Json, mergeMetadata } from '../../src/domain/json.js';
import { judge, judgeLeg } from '../../src/domain/processIdentity.js';
import type { Observation, ProcessIdentity } from '../../src/domain/processIdentity.js';
import { buildReasonRegistry, defaultReasonFor } from '../../src/domain/reasons.js';
import { TERMINAL_STATUSES } from '../../src/domain/status.js';
import { stamp } from '../../src/domain/stamp.js';
import { elapsed, Instant } from '../../src/domain/time.js';
import { left, right } from '../support/engines.js';
import { processOf } from '../support/ledger.js';

describe('the verdict on a process', () => {
  const here = { hostId: 'host', bootId: 'boot', pidNamespace: 'pid:[1]' };
  const present = (more: Partial<Extract<Observation, { _tag: 'present' }>> = {}): Observation => ({
    _tag: 'present',
    startTime: '70',
    zombie: false,
    thread: false,
    ...more,
  });
  const recorded = processOf(7);
  const never = (): Observation => {
    throw new Error('looked');
  };

  it.each<[string, ProcessIdentity | null, () => Observation, string, RegExp]>([
    ['a pid that exists and started when recorded', recorded, present, 'alive', /pid 7 exists/],
    ['a pid that does not exist', recorded, () => ({ _tag: 'absent' }), 'gone', /no process has pid 7/],
    ['a zombie', recorded, () => present({ zombie: true }), 'gone', /zombie/],
    [
      'a pid that was given to another process',
      recorded,
      () => present({ startTime: '71' }),
      'gone',
      /another process/,
    ],
    ['a pid that is a thread now', recorded, () => present({ thread: true }), 'gone', /thread/],
    [
      'a process that may not be inspected',
      recorded,
      () => ({ _tag: 'denied' }),
      'unverifiable',
      /may not be inspected/,
    ],
    ['a look that failed', recorded, () => ({ _tag: 'unknown', error: 'EIO' }), 'unverifiable', /EIO/],
    [
      'a start that was not recorded',
      { ...recorded, startTime: null },
      present,
      'unverifiable',
      /start time is not known/,
    ],
    [
      'a machine that was rebooted since',
      { ...recorded, bootId: 'older', pidNamespace: 'pid:[9]' },
      never,
      'gone',
      /rebooted/,
    ],
    ['another host', { ...recorded, hostId: 'elsewhere', bootId: 'older' }, never, 'foreign', /elsewhere/],
    ['another pid namespace', { ...recorded, pidNamespace: 'pid:[2]' }, never, 'foreign', /namespace/],
    ['mode none', { ...recorded, mode: 'none' }, never, 'foreign', /mode none/],
    ['no process recorded', null, never, 'no_pid', /no process/],
    ['no pid recorded on this host', { ...recorded, pid: null }, never, 'no_pid', /without a pid/],
  ])('%s', (_name, identity, look, verdict, evidence) => {
    const judged = judge(identity, here, look);
    expect(judged.verdict).toBe(verdict);
    expect(judged.evidence).toMatch(evidence);
  });

  it('is alive for a leg whose wrapper is gone while its command works', () => {
    const look = (pid: number): Observation =>
      pid === 8 ? present({ startTime: '80' }) : { _tag: 'absent' };
    expect(judgeLeg(recorded, processOf(8), here, look)).toMatchObject({
      verdict: 'alive',
      evidence: expect.stringMatching(/orphaned child/) as string,
    });
    expect(judgeLeg(recorded, processOf(9), here, look).verdict).toBe('gone');
    expect(judgeLeg(recorded, null, here, look).verdict).toBe('gone');
  });
});

describe('reasons', () => {
  it('are a closed, immutable list that a configuration extends', () => {
    const registry = right(
      buildReasonRegistry([{ code: 'run.failed.quota', meaning: 'the quota was used up' }]),
    );
    expect(registry.has('run.failed.quota')).toBe(true);
    expect(registry.has('run.failed.unheard_of')).toBe(false);
    expect(Object.isFrozen(registry)).toBe(true);
    expect(() => (registry.all as unknown[]).push(1)).toThrow();
    for (const status of TERMINAL_STATUSES) expect(registry.has(defaultReasonFor(status, null))).toBe(true);
    expect(defaultReasonFor('failed', 3)).toBe('run.failed.exit_nonzero');
  });

  it.each([
    ['Run.Failed.X', /three lower-case segments/],
    ['run.failed', /three lower-case segments/],
    ['weather.failed.rain', /unknown domain "weather"/],
    ['run.completed.ok', /defined twice/],
  ])('refuse the extension %s', (code, problem) => {
    expect(left(buildReasonRegistry([{ code, meaning: 'm' }])).join()).toMatch(problem);
  });

  it('refuse an empty meaning', () => {
    expect(left(buildReasonRegistry([{ code: 'run.failed.quota', meaning: ' ' }])).join()).toMatch(
      /empty meaning/,
    );
  });
});

describe('envelopes', () => {
  const data = {
    sessionId: 's',
    branchId: 'b',
    leg: 1,
    previousStatus: 'running',
    status: 'failed',
    reasonCode: 'run.failed.exception',
    reasonSummary: '',
    exit: null,
    startedAt: '2026-01-01T00:00:00.000Z',
    legStartedAt: '2026-01-01T00:00:00.000Z',
    endedAt: '2026-01-01T00:00:01.000Z',
    durationMs: 1000,
    revision: 4,
    correlation: null,
    artifacts: [],
  } as const;

  it('are CloudEvents 1.0', () => {
    const envelope = sealEnvelope(v7(), data);
    expect(new CloudEvent(JSON.parse(JSON.stringify(envelope)) as object).validate()).toBe(true);
    expect(envelope.sequence < sealEnvelope(v7(), { ...data, revision: 10 }).sequence).toBe(true);
    expect(envelope.source).toContain('/s');
  });

  it('have the same id for ever, and another one for another transition', () => {
    expect(envelopeIdOf('s', 4)).toBe('157b7594-a774-5ad8-82c0-c7a458119435');
    expect(new Set([envelopeIdOf('s', 4), envelopeIdOf('s', 5), envelopeIdOf('t', 4)]).size).toBe(3);
  });
});

describe('ids', () => {
  it.each(['a', '0', 'A-b.c_d~e:f', 'x'.repeat(128)])('%s is one', (id) =>
    expect(Id.safeParse(id).success).toBe(true),
  );
  it.each(['', '-a', '.a', 'a/b', 'a b', 'é', 'x'.repeat(129), 'a\n'])('%j is none', (id) =>
    expect(Id.safeParse(id).success).toBe(false),
  );

  it('tell what a stream holds', () => {
    expect(streamKind('session-a-b')).toEqual({ _tag: 'session', id: 'a-b' });
    expect(streamKind('audit')).toEqual({ _tag: 'audit' });
    expect(streamKind('$settings')._tag).toBe('other');
  });

  it('are derived the same way each time', () => {
    const command = v7();
    expect(derivedId(command, '0')).toBe(derivedId(command, '0'));
    expect(derivedId(command, '0')).not.toBe(derivedId(command, '1'));
    expect(notifyConsumerOf('s', 'k')).not.toBe(notifyConsumerOf('s', 'l'));
  });
});

describe('instants', () => {
  it.each(['2026-01-31T09:30:00.000Z'])('%s is one', (text) =>
    expect(Instant.safeParse(text).success).toBe(true),
  );
  it.each([
    '2026-02-30T09:30:00.000Z',
    '2026-01-31T09:30:00Z',
    '2026-01-31T09:30:00.000',
    '2026-01-31T09:30:00.000+01:00',
    '2026-01-31T09:30:00.000000Z',
    'now',
    '',
  ])('%s is none', (text) => expect(Instant.safeParse(text).success).toBe(false));

  it('never lie a negative time apart; the skew is told', () => {
    expect(elapsed('2026-01-01T00:00:02.000Z', '2026-01-01T00:00:01.500Z')).toEqual({
      ms: 0,
      clockSkewMs: 500,
    });
    expect(elapsed('2026-01-01T00:00:01.000Z', '2026-01-01T00:00:01.500Z')).toEqual({
      ms: 500,
      clockSkewMs: 0,
    });
  });
});

describe('metadata', () => {
  it('merges into an object and keeps its other keys, whatever they are called', () => {
    const stored = JSON.parse('{"__proto__": {"polluted": true}, "a": 1}') as Json;
    const merged = mergeMetadata(stored, { b: 2 });
    expect(JSON.stringify(merged)).toBe('{"__proto__":{"polluted":true},"a":1,"b":2}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('of any shape survives a patch of nothing, and takes any patch', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), (stored, patch) => {
        expect(mergeMetadata(stored as Json, {})).toEqual(stored);
        for (const [key, value] of Object.entries(patch))
          expect(mergeMetadata(stored as Json, patch as Record<string, Json>)).toHaveProperty([key], value);
      }),
    );
  });

  it('refuses text that is not Unicode, however deep', () => {
    expect(Json.safeParse({ a: [{ '\ud800': 1 }] }).success).toBe(false);
    expect(Json.safeParse({ a: [{ b: '\udfff' }] }).success).toBe(false);
    expect(Json.safeParse({ a: ['🎉', 'שלום'] }).success).toBe(true);
  });
});

describe('an event', () => {
  const at = { eventId: v7(), at: '2026-01-01T00:00:00.000Z', actor: { type: 'user', id: 'u' } };

  it('that does not fit its own schema is not written', () => {
    const wrong = {
      type: 'ReasonAppended',
      data: { sessionId: 's', status: 'asleep', reason: { code: 'run.started.ok', summary: '' } },
    };
    expect(() => stamp(wrong as unknown as Draft, at)).toThrow();
  });

  it('that is wrong does not compile', () => {
    const reason = { code: 'run.started.ok', summary: '' };
    // @ts-expect-error a status that there is not
    const status: Draft = { type: 'ReasonAppended', data: { sessionId: 's', status: 'asleep', reason } };
    // @ts-expect-error data of another type
    const data: Draft = { type: 'BranchBound', data: { sessionId: 's' } };
    // @ts-expect-error a type that there is not
    const type: Draft = { type: 'SessionExploded', data: {} };
    expect([status, data, type]).toHaveLength(3);
  });
});
