import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { v7 } from 'uuid';
import { deliver } from '../../src/delivery/deliver.js';
import type { DeliveryPorts } from '../../src/delivery/deliver.js';
import { proveIntent, signIntent } from '../../src/delivery/intent.js';
import { machineKey } from '../../src/delivery/machineKey.js';
import { describeTemplateProblem, expand, parseTemplate, PLACEHOLDERS } from '../../src/delivery/template.js';
import type { Placeholder } from '../../src/delivery/template.js';
import type { NotifyIntent } from '../../src/domain/events.js';
import { judge } from '../../src/domain/processIdentity.js';
import { hostFacts, observe, selfIdentity } from '../../src/process/liveness.js';
import { runBounded } from '../../src/process/runBounded.js';
import { openReadModel } from '../../src/projector/readModel.js';
import { engines, left, right } from '../support/engines.js';
import { world } from '../support/ledger.js';
import type { World } from '../support/ledger.js';
import { temporaryDirectory } from '../support/temp.js';

const values = Object.fromEntries(PLACEHOLDERS.map((name) => [name, `<${name}>`])) as Record<
  Placeholder,
  string
>;
const wordsOf = (text: string) => expand(right(parseTemplate(text)), values);

describe('a template', () => {
  it.each<[string, readonly string[]]>([
    ['notify {status}', ['notify', '<status>']],
    ['say \'two words\' "and {leg}"', ['say', 'two words', 'and <leg>']],
    ["echo '|' '$HOME' '`' 'a;b' '>'", ['echo', '|', '$HOME', '`', 'a;b', '>']],
    ['echo a\\ b \\| "\\"q\\"" "\\$x"', ['echo', 'a b', '|', '"q"', '$x']],
    ["echo '' x", ['echo', '', 'x']],
    [`curl -d '{"a":1}' x{status}y{leg}`, ['curl', '-d', '{"a":1}', 'x<status>y<leg>']],
    ['  spaced\tout  ', ['spaced', 'out']],
    ['sh -c \'cat > "$1" && echo $?\' sh file', ['sh', '-c', 'cat > "$1" && echo $?', 'sh', 'file']],
  ])('%s is split without a shell', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  it.each([
    ['a | b', /unquoted pipe/],
    ['a || b', /unquoted \|\|/],
    ['a & b', /unquoted &/],
    ['a && b', /unquoted &&/],
    ['a ; b', /unquoted ;/],
    ['a < b', /redirection </],
    ['a 2>&1', /redirection >/],
    ['(a)', /unquoted \(/],
    ['a $X', /substitution \$/],
    ['a "$X"', /substitution \$/],
    ['a "`x`"', /command substitution/],
    ['a\nb', /line break/],
    ["a 'b", /unbalanced quote '.*at character 3/],
    ['a "b', /unbalanced quote "/],
    ['a \\', /backslash at the end/],
    ['', /empty command/],
    ["''", /empty command/],
    ['{status} x', /placeholder \{status\} as the command/],
    ['a {stauts}', /unknown placeholder \{stauts\}.*\{status\}/],
    ['a \0', /NUL/],
  ])('%j is refused, with the construct named', (text, problem) => {
    expect(describeTemplateProblem(left(parseTemplate(text)))).toMatch(problem);
  });

  it('keeps its words whatever the values hold, and every value verbatim, in a single pass', () => {
    const nasty = fc.oneof(
      fc.string(),
      fc.constantFrom('{status}', '{payload}', '$(touch x)', "'; rm -rf /; '", '$&', '$1', 'a\nb', '"', '\\'),
    );
    fc.assert(
      fc.property(
        fc.record(
          Object.fromEntries(PLACEHOLDERS.map((name) => [name, nasty])) as Record<Placeholder, typeof nasty>,
        ),
        (given) => {
          const words = expand(right(parseTemplate("cmd {status} 'x{reason_code}y' {payload}{leg}")), given);
          expect(words).toEqual(['cmd', given.status, `x${given.reason_code}y`, given.payload + given.leg]);
        },
      ),
    );
  });
});

describe('the key of a machine', () => {
  it('is made once, for this user alone, and is the same afterwards', () => {
    const stateDir = join(temporaryDirectory(), 'state');
    const key = right(machineKey(stateDir));
    expect(statSync(join(stateDir, 'exec.key')).mode & 0o777).toBe(0o600);
    expect(statSync(stateDir).mode & 0o777).toBe(0o700);
    expect(right(machineKey(stateDir))).toEqual(key);
    expect(readdirSync(stateDir)).toEqual(['exec.key']);
    expect(key.keyId).not.toContain(Buffer.from(key.secret).toString('hex').slice(0, 8));
  });

  it('that others can read, or that is damaged, is refused and not replaced', () => {
    const stateDir = temporaryDirectory();
    const path = join(stateDir, 'exec.key');
    right(machineKey(stateDir));
    const bytes = readFileSync(path);
    chmodSync(path, 0o644);
    expect(left(machineKey(stateDir))).toMatch(/can be read by others.*chmod 600/);
    chmodSync(path, 0o600);
    writeFileSync(path, 'short');
    expect(left(machineKey(stateDir))).toMatch(/damaged \(5 bytes, not 32\)/);
    expect(readFileSync(path, 'utf8')).toBe('short');
    expect(bytes).toHaveLength(32);
  });

  it('proves a command for one session, host and user only', () => {
    const key = right(machineKey(temporaryDirectory()));
    const other = right(machineKey(temporaryDirectory()));
    const place = { hostId: 'h', user: '1' };
    const intent = signIntent(key, place, 's', 'notify');
    expect(proveIntent(key, place, 's', intent)).toEqual({ _tag: 'ours', template: 'notify' });
    expect(proveIntent(key, place, 't', intent)._tag).toBe('refused');
    expect(proveIntent(other, place, 's', intent)._tag).toBe('refused');
    expect(proveIntent(key, place, 's', { ...intent, template: 'rm -rf /' })._tag).toBe('refused');
    expect(proveIntent(key, place, 's', { ...intent, mac: '' })._tag).toBe('refused');
    expect(proveIntent(key, { hostId: 'elsewhere', user: '1' }, 's', intent)._tag).toBe('elsewhere');
    expect(proveIntent(key, { hostId: 'h', user: '2' }, 's', intent)._tag).toBe('elsewhere');
    expect(proveIntent(key, place, 's', { kind: 'telegram' })._tag).toBe('elsewhere');
  });
});

const PLACE = { hostId: hostFacts().hostId, user: '0' };

/** A ledger on a real engine with the real delivery; `run` sends what is owed. */
const setUp = async (engine: (typeof engines)[number], directory = temporaryDirectory()) => {
  const w = await world(engine);
  const stateDir = join(directory, 'state');
  const key = right(machineKey(stateDir));
  const model = right(await openReadModel(':memory:', w.log)());
  const ports: DeliveryPorts = {
    log: w.log,
    queue: model,
    key,
    place: PLACE,
    self: selfIdentity('local'),
    judge: (owner) => judge(owner, hostFacts(), observe),
    runBounded,
    stateDir,
    env: process.env,
    now: w.now,
    newId: () => v7(),
    actor: { type: 'user', id: 'tester' },
  };
  const file = join(directory, 'told');
  return {
    w,
    ports,
    key,
    directory,
    stateDir,
    told: () =>
      existsSync(file)
        ? readFileSync(file, 'utf8')
            .split('\n')
            .filter((line) => line !== '')
        : [],
    append: (text: string) => `sh -c 'echo "$0" >> ${file}' ${text}`,
    run: async (more: Partial<DeliveryPorts> = {}, sessionId?: string) =>
      right(await deliver({ ...ports, ...more }, sessionId)()),
  };
};
type SetUp = Awaited<ReturnType<typeof setUp>>;

const ended = async (
  s: SetUp,
  id: string,
  templates: readonly string[],
  more: { intents?: readonly NotifyIntent[]; summary?: string } = {},
) => {
  await s.w.open(id, {
    notify: (sessionId) =>
      more.intents ?? templates.map((template) => signIntent(s.key, PLACE, sessionId, template)),
  });
  await s.w.close(id, 'completed', {
    leg: 1,
    reason: { code: 'run.completed.ok', summary: more.summary ?? '' },
  });
};

const consumerTypes = async (w: World) =>
  right(await w.log.readAll({ filter: { streamPrefixes: ['consumer-'] } })()).map(({ type }) => type);

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
    while (s.told().length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
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
    while ((await consumerTypes(s.w)).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await s.run()).toMatchObject({ busy: 1, delivered: 0 });
    expect(await s.run({ judge: () => ({ verdict: 'gone', evidence: 'no such process' }) })).toMatchObject({
      delivered: 1,
    });
    expect(s.told()).toEqual(['told']);
    expect(await consumerTypes(s.w)).toEqual(['EnvelopeAttempted', 'EnvelopeAttempted', 'EnvelopeDelivered']);
  });

  it('repeats, with the same id, only what fell between the effect and its record', async () => {
    const s = await setUp(engine);
    const file = join(s.directory, 'ids');
    mkdirSync(s.stateDir, { recursive: true });
    await ended(s, 's', [`sh -c 'echo "$0" >> ${file}' {event_id}`]);
    let away = false;
    const flaky: DeliveryPorts['log'] = {
      ...s.w.log,
      append: (stream, events, expected) =>
        away
          ? () =>
              Promise.resolve({
                _tag: 'Left',
                left: { _tag: 'LogUnavailable', message: 'away', outcomeUnknown: false },
              })
          : s.w.log.append(stream, events, expected),
    };
    const result = await deliver({
      ...s.ports,
      log: flaky,
      runBounded: async (...args) => {
        const run = await runBounded(...args);
        away = true;
        return run;
      },
    })();
    expect(left(result)).toMatchObject({ _tag: 'LogUnavailable' });
    expect(await s.run({ judge: () => ({ verdict: 'gone', evidence: '' }) })).toMatchObject({ delivered: 1 });
    const ids = readFileSync(file, 'utf8').trim().split('\n');
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });
});
