import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import { describe, expect, it } from 'vitest';
import { deliver } from '../../src/delivery/deliver.js';
import type { DeliveryPorts } from '../../src/delivery/deliver.js';
import { signIntent } from '../../src/delivery/intent.js';
import type { LogError } from '../../src/log/port.js';
import { identify } from '../../src/process/liveness.js';
import { runBounded } from '../../src/process/runBounded.js';
import { openReadModel } from '../../src/projector/readModel.js';
import { engines, left, right } from '../support/engines.js';
import { until } from '../support/fixture.js';
import { consumerTypes, ended, PLACE, setUp } from './support.js';

const unavailable = () =>
  Promise.resolve(E.left<LogError>({ _tag: 'LogUnavailable', message: 'away', outcomeUnknown: true }));

describe.each(engines)('delivery on $name', (engine) => {
  it('sends each notice once, and records the attempt and its result', async () => {
    const s = await setUp(engine);
    await ended(s, 's', [s.append('{status}/{leg}/{session_id}/{previous_status}')]);
    expect(await s.run()).toMatchObject({ delivered: 1 });
    expect(await s.run()).toMatchObject({ delivered: 0, notices: [] });
    expect(s.told()).toEqual(['completed/1/s/running']);
    expect(await consumerTypes(s.w)).toEqual(['EnvelopeAttempted', 'EnvelopeDelivered']);
  });

  it('owes nothing for a conflict, a rejection, a note or a reopening', async () => {
    const s = await setUp(engine);
    await s.w.open('s', { notify: (id) => [signIntent(s.key, PLACE, id, s.append('x'))] });
    await s.w.close('s', 'failed', { leg: 2 });
    await s.w.useCases.note(
      's',
      { reason: { code: 'run.started.ok', summary: '' } },
      { actor: { type: 'user', id: 'u' } },
    )();
    expect(await s.run()).toMatchObject({ notices: [] });
    await s.w.close('s', 'completed', { leg: 1 });
    await s.w.close('s', 'completed', { leg: 1 });
    await s.w.close('s', 'failed', { leg: 1 });
    await s.w.reopen('s');
    expect((await s.run()).notices).toHaveLength(1);
  });

  it('delivers a reason verbatim: nothing in it is expanded or executed', async () => {
    const s = await setUp(engine);
    const summary = `{status} $(touch ${s.directory}/touched) 'single' "double" \n new line \\ $& {payload}`;
    const file = join(s.directory, 'payload');
    await ended(s, 's', [`sh -c 'printf "%s" "$0" > ${file}; cat > ${file}.stdin' {payload}`], { summary });
    await s.run();
    for (const path of [file, `${file}.stdin`])
      expect(
        (JSON.parse(readFileSync(path, 'utf8')) as { data: { reasonSummary: string } }).data.reasonSummary,
      ).toBe(summary);
    expect(existsSync(join(s.directory, 'touched'))).toBe(false);
  });

  it('never runs a command that this key has not proven, and shows it as refused', async () => {
    const s = await setUp(engine);
    const forged = {
      kind: 'exec',
      template: s.append('forged'),
      hostId: PLACE.hostId,
      user: PLACE.user,
      keyId: s.key.keyId,
      mac: 'AAAA',
    };
    const stolen = signIntent(s.key, PLACE, 'another-session', s.append('stolen'));
    await ended(s, 's', [], {
      intents: [forged, stolen, { ...forged, hostId: 'elsewhere' }, { kind: 'unheard-of' }],
    });
    expect(await s.run()).toMatchObject({ refused: 2, elsewhere: 2, delivered: 0 });
    expect(s.told()).toEqual([]);
    expect(await consumerTypes(s.w)).toEqual([]);
  });

  it('does not let a slow or a failing consumer delay or repeat the others', async () => {
    const s = await setUp(engine);
    const go = join(s.directory, 'go');
    await ended(s, 's', [
      `sh -c 'while ! test -e ${go}; do sleep 0.02; done'`,
      'sh -c "exit 1"',
      s.append('quick'),
    ]);
    const running = s.run();
    // The quick one is through while the slow one still works.
    await until(() => s.told().length > 0);
    writeFileSync(go, '');
    expect(await running).toMatchObject({ delivered: 2, failed: 1 });
    expect(await s.run()).toMatchObject({ delivered: 0, failed: 1 });
    expect(s.told()).toEqual(['quick']);
  });

  it('tells the legs of a session in order: a later notice waits for an earlier one', async () => {
    const s = await setUp(engine);
    const fuse = join(s.directory, 'fuse');
    const template = `sh -c 'test -e ${fuse} || { touch ${fuse}; exit 1; }; echo "$0" >> ${s.directory}/told' {leg}`;
    await ended(s, 's', [template]);
    const intent = signIntent(s.key, PLACE, 's', template);
    right(
      await s.w.useCases.reopen(
        's',
        {
          process: null,
          metadata: {},
          notify: () => [intent],
          override: { actor: 'a', justification: 'j' },
          summary: '',
        },
        {},
        { actor: { type: 'user', id: 'u' } },
      )(),
    );
    await s.w.close('s', 'failed', { leg: 2 });
    expect(await s.run()).toMatchObject({ failed: 1, waiting: 1, delivered: 0 });
    expect(await s.run()).toMatchObject({ delivered: 2 });
    expect(s.told()).toEqual(['1', '2']);
  });

  it('parks what fails for good at once, and what fails again and again after five attempts', async () => {
    const s = await setUp(engine);
    await ended(s, 's', ['/no/such/notifier --secret hunter2', 'sh -c "echo hunter2 >&2; exit 7"']);
    expect(await s.run()).toMatchObject({ parked: 1, failed: 1 });
    for (let attempt = 2; attempt < 5; attempt += 1)
      expect(await s.run()).toMatchObject({ parked: 0, failed: 1 });
    expect(await s.run()).toMatchObject({ parked: 1, failed: 0 });
    expect(await s.run()).toMatchObject({ notices: [] });
    const recorded = JSON.stringify(
      right(await s.w.log.readAll({ filter: { streamPrefixes: ['consumer-'] } })()).map(({ data }) => data),
    );
    expect(recorded).not.toContain('hunter2');
    expect(recorded).toContain('command not found: /no/such/notifier');
    const kept = readdirSync(join(s.stateDir, 'notify'));
    expect(kept).toHaveLength(5);
    expect(readFileSync(join(s.stateDir, 'notify', kept[0]!), 'utf8')).toBe('hunter2\n');
    expect(statSync(join(s.stateDir, 'notify', kept[0]!)).mode & 0o777).toBe(0o600);
  });

  it('advises when the payload is too large for an argument', async () => {
    const s = await setUp(engine);
    await s.w.open('s', { notify: (id) => [signIntent(s.key, PLACE, id, 'true {payload}')] });
    await s.w.close('s', 'completed', {
      leg: 1,
      artifacts: Array.from({ length: 20 }, () => 'x'.repeat(9_000)),
    });
    const { notices } = await s.run();
    expect(notices).toMatchObject([
      { result: 'parked', detail: expect.stringMatching(/read the envelope from standard input/) as string },
    ]);
  });

  it('lets two deliverers at once send nothing twice', async () => {
    const s = await setUp(engine);
    for (let n = 0; n < 12; n += 1) await ended(s, `s${n}`, [s.append(`s${n}`)]);
    const second = right(await openReadModel(':memory:', s.w.log)());
    const summaries = await Promise.all([s.run(), s.run({ queue: second }), s.run({ queue: second })]);
    expect(summaries.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(12);
    expect(s.told().sort()).toEqual(Array.from({ length: 12 }, (_, n) => `s${n}`).sort());
    second.close();
  });

  it('leaves an attempt of a living process alone, and takes over that of one that is gone', async () => {
    const s = await setUp(engine);
    await ended(s, 's', [s.append('told')]);
    const lost: DeliveryPorts['runBounded'] = () => new Promise(() => undefined);
    void s.run({ runBounded: lost });
    await until(async () => (await consumerTypes(s.w)).length > 0);
    expect(await s.run()).toMatchObject({ busy: 1, delivered: 0 });
    expect(await s.run({ judge: () => ({ verdict: 'gone', evidence: 'no such process' }) })).toMatchObject({
      delivered: 1,
    });
    expect(s.told()).toEqual(['told']);
    expect(await consumerTypes(s.w)).toEqual(['EnvelopeAttempted', 'EnvelopeAttempted', 'EnvelopeDelivered']);
  });

  it('goes on after the log was away for the record: the command is run again, with the same id', async () => {
    const s = await setUp(engine);
    const file = join(s.directory, 'ids');
    await ended(s, 's', [`sh -c 'echo "$0" >> ${file}' {event_id}`]);
    let away = false;
    const result = await deliver({
      ...s.ports,
      log: { ...s.w.log, append: (...args) => (away ? unavailable : s.w.log.append(...args)) },
      runBounded: async (...args) => {
        const run = await runBounded(...args);
        away = true;
        return run;
      },
    })();
    expect(left(result)).toMatchObject({ _tag: 'LogUnavailable' });
    // The process of that attempt, this one, lives on.
    expect(await s.run()).toMatchObject({ delivered: 1, busy: 0 });
    const ids = readFileSync(file, 'utf8').trim().split('\n');
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  it('goes on when nobody knows whether the claim, or the record, was written', async () => {
    const s = await setUp(engine);
    const lost = (type: string): DeliveryPorts['log'] => ({
      ...s.w.log,
      append: (stream, events, expected) => async () => {
        const written = await s.w.log.append(stream, events, expected)();
        return events[0]?.type === type ? unavailable() : written;
      },
    });
    await ended(s, 's', [s.append('s')]);
    left(await deliver({ ...s.ports, log: lost('EnvelopeAttempted') })());
    expect(s.told()).toEqual([]);
    expect(await s.run()).toMatchObject({ delivered: 1 });
    await ended(s, 't', [s.append('t')]);
    const owed = await s.ports.queue.owed()();
    left(await deliver({ ...s.ports, log: lost('EnvelopeDelivered') })());
    expect(await s.run()).toMatchObject({ notices: [] });
    // Also for a queue that still lists it: the consumer's stream is what counts.
    expect(await s.run({ queue: { owed: () => () => Promise.resolve(owed) } })).toMatchObject({
      notices: [],
    });
    expect(s.told()).toEqual(['s', 't']);
  });

  it('ends a command that hangs, with what it started, and leaves alone what others started', async () => {
    const s = await setUp(engine);
    const pids = join(s.directory, 'pids');
    const go = join(s.directory, 'go');
    await ended(s, 's', [
      // One child in its group, and one that left it.
      `sh -c 'sleep 600 & setsid sleep 600 & echo $! >> ${pids}; echo $$ >> ${pids}; echo secret >&2; wait'`,
      `sh -c 'while ! test -e ${go}; do sleep 0.02; done; echo other >> ${s.directory}/told'`,
    ]);
    const running = s.run({
      runBounded: (command, args, options) =>
        runBounded(command, args, {
          ...options,
          timeLimitMs: args.some((arg) => arg.includes('setsid')) ? 500 : options.timeLimitMs,
        }),
    });
    await until(async () => (await consumerTypes(s.w)).includes('EnvelopeFailed'));
    writeFileSync(go, '');
    const { notices } = await running;
    expect(notices.map(({ result }) => result).sort()).toEqual(['delivered', 'failed']);
    expect(notices.find(({ result }) => result === 'failed')?.detail).toMatch(
      /^attempt 1: no end within 10 s; its stderr is in /,
    );
    expect(s.told()).toEqual(['other']);
    const pidsLeft = readFileSync(pids, 'utf8').trim().split('\n').map(Number);
    expect(pidsLeft.map((pid) => identify(pid))).toEqual([null, null]);
    expect((await s.w.session('s')).status).toBe('completed');
  });

  it('records the result of a command that leaves a process with its output, and lets that process live', async () => {
    const s = await setUp(engine);
    const file = join(s.directory, 'pid');
    await ended(s, 's', [`sh -c 'sleep 600 & echo $! > ${file}'`]);
    expect(await s.run()).toMatchObject({ delivered: 1 });
    const pid = Number(readFileSync(file, 'utf8'));
    expect(identify(pid)).not.toBeNull();
    process.kill(pid, 'SIGKILL');
  });

  it('tries again what could not be started for a reason that passes', async () => {
    const s = await setUp(engine);
    await ended(s, 's', [s.append('told')]);
    const crowded: DeliveryPorts['runBounded'] = () =>
      Promise.resolve({ _tag: 'not_started', problem: 'invalid', message: 'spawn sh EAGAIN' });
    expect(await s.run({ runBounded: crowded })).toMatchObject({
      failed: 1,
      notices: [{ detail: 'attempt 1: could not be started: spawn sh EAGAIN' }],
    });
    expect(await s.run()).toMatchObject({ delivered: 1 });
  });

  it('keeps what each failed command said, the latest hundred of them', async () => {
    const s = await setUp(engine);
    const kept = join(s.stateDir, 'notify');
    mkdirSync(kept, { recursive: true });
    for (let n = 0; n < 99; n += 1) writeFileSync(join(kept, `1${String(n).padStart(3, '0')}-x.stderr`), '');
    await ended(
      s,
      's',
      ['one', 'two', 'three'].map((word) => `sh -c 'echo ${word} >&2; exit 1'`),
    );
    expect(await s.run()).toMatchObject({ failed: 3 });
    const names = readdirSync(kept).sort();
    expect(names).toHaveLength(100);
    expect(names[0]).toBe('1002-x.stderr');
    const said = names.slice(-3).map((name) => readFileSync(join(kept, name), 'utf8'));
    expect(said.sort()).toEqual(['one\n', 'three\n', 'two\n']);
  });
});
