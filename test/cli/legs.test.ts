/** Real commands run as legs: what a person sees who runs, resumes, kills and is told. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { v7 } from 'uuid';
import { observe } from '../../src/process/liveness.js';
import { Sqlite } from '../../src/sqlite/driver.js';
import { cli } from '../support/cli.js';
import type { Cli } from '../support/cli.js';
import { until } from '../support/fixture.js';

const lines = (path: string): string[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];
const inbox = (c: Cli) => join(c.directory, 'inbox.jsonl');
const told = (c: Cli) =>
  lines(inbox(c)).map((line) => (JSON.parse(line) as { data: Record<string, unknown> }).data);
const notify = (c: Cli) => ['--notify', `tee -a ${inbox(c)}`];
type Row = Record<string, unknown> & {
  sessionId: string;
  status: string;
  leg: number;
  process: { pid: number };
};
const show = (c: Cli, id: string) => c.json<Row>('show', id);
type Entry = Record<string, unknown> & { type: string; leg: number; from: string; to: string };
const history = (c: Cli, id: string) => c.json<Entry[]>('history', id);

/** Whether a process runs; one that only waits to be reaped does not. */
const works = (pid: string): boolean => {
  const seen = observe(Number(pid));
  return seen._tag === 'present' && !seen.zombie;
};

/** Starts a leg whose command waits, and waits until it does. */
const startWaiting = async (c: Cli, args: readonly string[], script = 'echo working; exec sleep 60') => {
  const leg = c.start([...args, '--', 'sh', '-c', script]);
  await until(() => leg.stdout().includes('working'));
  return leg;
};

/** The wrapper and its command, both gone without a word. */
const killBoth = async (leg: {
  child: { pid?: number | undefined; kill: (signal: NodeJS.Signals) => boolean };
  ended: Promise<unknown>;
}) => {
  const children = readFileSync(`/proc/${leg.child.pid}/task/${leg.child.pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter((pid) => pid !== '');
  leg.child.kill('SIGKILL');
  for (const pid of children) process.kill(Number(pid), 'SIGKILL');
  await leg.ended;
};

describe('a leg', () => {
  it.each([
    ['exits with 0', ['true'], 0, 'completed', 'run.completed.ok'],
    ['exits with 3', ['sh', '-c', 'exit 3'], 3, 'failed', 'run.failed.exit_nonzero'],
    [
      'dies of a signal that nobody asked for',
      ['sh', '-c', 'kill -SEGV $$'],
      139,
      'failed',
      'run.failed.exception',
    ],
    ['says 143 out of nowhere', ['sh', '-c', 'exit 143'], 143, 'failed', 'run.failed.exit_nonzero'],
    ['is not found', ['/no/such/command'], 127, 'failed', 'run.failed.spawn'],
    ['is not executable', ['./plain'], 126, 'failed', 'run.failed.spawn'],
  ])('whose command %s', async (_name, command, code, status, reason) => {
    const c = cli();
    writeFileSync(join(c.directory, 'plain'), 'not a program', { mode: 0o644 });
    const ended = await c.run('run', '--session', 's', '--', ...command);
    expect(ended.code).toBe(code);
    expect(await show(c, 's')).toMatchObject({ status, reasonCode: reason, leg: 1, legCount: 1 });
  });

  it('has its session, leg and branch in its environment, and its output untouched', async () => {
    const c = cli();
    const script =
      'echo "$SESSION_LEDGER_SESSION_ID $SESSION_LEDGER_LEG $SESSION_LEDGER_BRANCH_ID"; echo oops >&2';
    expect(await c.run('run', '--session', 's', '--branch', 'b', '--', 'sh', '-c', script)).toMatchObject({
      stdout: 's 1 b\n',
      stderr: 'oops\n',
    });
    expect(await c.run('resume', 'b', '--', 'sh', '-c', script)).toMatchObject({
      stdout: 's 2 b\n',
      stderr: 'oops\n',
    });
  });

  it('without output is completed_empty when output is required, and its output passes through', async () => {
    const c = cli();
    expect(await c.run('run', '--session', 'a', '--require-output', '--', 'true')).toMatchObject({ code: 0 });
    expect(await c.run('run', '--session', 'b', '--require-output', '--', 'echo', 'héllo')).toMatchObject({
      code: 0,
      stdout: 'héllo\n',
    });
    expect((await show(c, 'a')).status).toBe('completed_empty');
    expect((await show(c, 'b')).status).toBe('completed');
  });

  it('that leaves a background process holding its output is told at once', async () => {
    const c = cli();
    const pidFile = join(c.directory, 'pid');
    const ended = await c.run(
      'run',
      '--session',
      's',
      '--require-output',
      '--',
      'sh',
      '-c',
      `sleep 100 2> /dev/null & echo $! > ${pidFile}; echo done`,
    );
    expect(ended).toMatchObject({ code: 0, stdout: 'done\n' });
    process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL');
  });

  it.each([
    ['SIGTERM', 143, 'cancelled', 'run.cancelled.sigterm'],
    ['SIGINT', 130, 'cancelled', 'run.cancelled.sigint'],
    ['SIGHUP', 129, 'cancelled', 'run.cancelled.system'],
  ] as const)(
    'is cancelled by %s to its wrapper, with everything that came of it',
    async (signal, code, status, reason) => {
      const c = cli();
      const leg = await startWaiting(c, ['run', '--session', 's'], 'echo working; sleep 60; echo never');
      leg.child.kill(signal);
      expect((await leg.ended).code).toBe(code);
      expect(await show(c, 's')).toMatchObject({ status, reasonCode: reason });
    },
  );

  it('is not started any more when the stop comes before its command', async () => {
    const c = cli();
    // Asks itself to stop as soon as somebody listens for it.
    writeFileSync(
      join(c.directory, 'stop.mjs'),
      `process.on('newListener', (name) => { if (name === 'SIGTERM') setImmediate(() => process.kill(process.pid, 'SIGTERM')); });`,
    );
    const leg = c.start(['run', '--session', 's', '--', 'touch', join(c.directory, 'started')], {
      env: { ...c.env, NODE_OPTIONS: `--import ${join(c.directory, 'stop.mjs')}` },
    });
    expect((await leg.ended).code).toBe(143);
    expect(existsSync(join(c.directory, 'started'))).toBe(false);
    expect(await show(c, 's')).toMatchObject({ status: 'cancelled', reasonCode: 'run.cancelled.sigterm' });
  });

  it('that handles the signal is judged by its own exit code', async () => {
    const c = cli();
    const leg = await startWaiting(
      c,
      ['run', '--session', 's'],
      'trap "exit 0" TERM; echo working; while :; do sleep 0.05; done',
    );
    leg.child.kill('SIGTERM');
    expect((await leg.ended).code).toBe(0);
    expect(await show(c, 's')).toMatchObject({ status: 'completed' });
  });

  it('that runs too long is ended with its descendants, also one that left its session', async () => {
    const c = cli();
    const pids = join(c.directory, 'pids');
    const script = `trap '' TERM; setsid sh -c 'echo $$ >> ${pids}; exec sleep 100' & sh -c 'echo $$ >> ${pids}; exec sleep 100' & echo $$ >> ${pids}; wait; sleep 100`;
    const ended = await c.run('run', '--session', 's', '--timeout', '700ms', '--', 'sh', '-c', script);
    expect(ended.code).toBe(124);
    expect(await show(c, 's')).toMatchObject({ status: 'timed_out', reasonCode: 'run.timed_out.deadline' });
    for (const pid of lines(pids)) expect(works(pid)).toBe(false);
    expect(lines(pids)).toHaveLength(3);
  });

  it('that timed out is tried again, and one notice tells the final status', async () => {
    const c = cli();
    const mark = join(c.directory, 'second');
    const script = `echo "leg $SESSION_LEDGER_LEG"; test -e ${mark} || { touch ${mark}; sleep 60; }`;
    const ended = await c.run(
      'run',
      '--session',
      's',
      '--timeout',
      '800ms',
      '--resume-on-timeout',
      '1',
      ...notify(c),
      '--',
      'sh',
      '-c',
      script,
    );
    expect(ended).toMatchObject({ code: 0, stdout: 'leg 1\nleg 2\n' });
    expect(told(c)).toMatchObject([{ status: 'completed', leg: 2 }]);
    const entries = await history(c, 's');
    expect(entries.map(({ type }) => type).filter((type) => type !== 'ActivityRecorded')).toEqual([
      'SessionOpened',
      'LegTakenOver',
      'StatusChanged',
    ]);
    expect(await show(c, 's')).toMatchObject({ status: 'completed', leg: 2 });
  });
});

describe('a leg whose reader has left', () => {
  it('goes on, and its end is recorded', async () => {
    const c = cli();
    const leg = c.start([
      'run',
      '--session',
      's',
      '--require-output',
      '--',
      'sh',
      '-c',
      'yes | head -c 3000000; exit 3',
    ]);
    leg.child.stdout!.destroy();
    expect((await leg.ended).code).toBe(3);
    expect(await show(c, 's')).toMatchObject({ status: 'failed', reasonSummary: 'exit code 3' });
  });

  it('of its words goes on as well', async () => {
    const c = cli();
    const leg = c.start([
      'run',
      '--session',
      's',
      '--timeout',
      '700ms',
      '--resume-on-timeout',
      '1',
      '--',
      'sleep',
      '60',
    ]);
    leg.child.stderr!.destroy();
    expect((await leg.ended).code).toBe(124);
    expect(await show(c, 's')).toMatchObject({ status: 'timed_out', leg: 2 });
  });
});

describe('resuming', () => {
  it('tells the end of every leg: the file of a --notify command is there after each', async () => {
    const c = cli();
    const file = join(c.directory, 'told');
    const template = `sh -c 'echo "$SESSION_LEDGER_STATUS $SESSION_LEDGER_LEG" >> ${file}'`;
    await c.run('run', '--branch', 'b', '--notify', template, '--', 'true');
    expect(lines(file)).toEqual(['completed 1']);
    await c.run('resume', 'b', '--notify', template, '--', 'true');
    expect(lines(file)).toEqual(['completed 1', 'completed 2']);
    const statuses = (await history(c, 'b'))
      .filter(({ type }) => /Opened|StatusChanged/.test(type))
      .map(({ to }) => to);
    expect(statuses).toEqual(['running', 'completed', 'running', 'completed']);
  });

  it('takes over from a leg that was killed -9, and the new leg is the one that counts', async () => {
    const c = cli();
    const killed = await startWaiting(c, ['run', '--branch', 'b', ...notify(c)]);
    await killBoth(killed);
    expect(await show(c, 'b')).toMatchObject({ status: 'running', leg: 1 });
    const resumed = await c.run('resume', 'b', '--', 'sh', '-c', 'echo $SESSION_LEDGER_LEG');
    expect(resumed).toMatchObject({
      code: 0,
      stdout: '2\n',
      stderr: expect.stringMatching(/took over session .* as leg 2/) as string,
    });
    expect(await show(c, 'b')).toMatchObject({ status: 'completed', leg: 2, overrideCount: 0 });
    // Whoever waited for leg 1 is told by the leg that took over, once.
    expect(told(c)).toMatchObject([{ status: 'completed', leg: 2 }]);
  });

  it('observes a leg whose wrapper is gone while its command works', async () => {
    const c = cli();
    const leg = await startWaiting(c, ['run', '--branch', 'b']);
    await until(async () => (await history(c, 'b')).some(({ type }) => type === 'ActivityRecorded'));
    const child = Number(
      readFileSync(`/proc/${leg.child.pid}/task/${leg.child.pid}/children`, 'utf8').trim(),
    );
    leg.child.kill('SIGKILL');
    await until(() => !existsSync(`/proc/${leg.child.pid}`));
    const resumed = await c.run('resume', 'b', '--', 'true');
    expect(resumed.stderr).toMatch(/running leg 1 already/);
    process.kill(child, 'SIGKILL');
    await leg.ended;
    expect((await c.run('resume', 'b', '--', 'true')).stderr).toMatch(/took over/);
  });

  it('beside a live leg writes nothing, tells its own end as observing, and leaves the session its own notice', async () => {
    const c = cli();
    const leg = await startWaiting(
      c,
      ['run', '--branch', 'b', ...notify(c)],
      'echo working; while ! test -e stop; do sleep 0.05; done',
    );
    await until(async () => (await history(c, 'b')).length >= 2);
    const before = await history(c, 'b');
    const observer = await c.run(
      'resume',
      'b',
      ...notify(c),
      '--',
      'sh',
      '-c',
      'echo "leg $SESSION_LEDGER_LEG"; exit 5',
    );
    expect(observer).toMatchObject({
      code: 5,
      stdout: 'leg 0\n',
      stderr: expect.stringMatching(/runs beside it and changes nothing/) as string,
    });
    expect(await history(c, 'b')).toEqual(before);
    expect(told(c)).toMatchObject([{ status: 'failed', observing: true }]);
    const refused = await c.run('resume', 'b', '--exclusive', '--', 'touch', join(c.directory, 'started'));
    expect(refused).toMatchObject({
      code: 75,
      stderr: expect.stringMatching(/--exclusive.*not started/) as string,
    });
    expect(existsSync(join(c.directory, 'started'))).toBe(false);
    writeFileSync(join(c.directory, 'stop'), '');
    expect((await leg.ended).code).toBe(0);
    expect(told(c).map(({ observing, status }) => [observing, status])).toEqual([
      [true, 'failed'],
      [undefined, 'completed'],
    ]);
  });

  it("leaves a status that an operator decided, and says so; the leg's own exit code stays", async () => {
    const c = cli();
    const leg = await startWaiting(
      c,
      ['run', '--session', 's', ...notify(c)],
      'echo working; while ! test -e stop; do sleep 0.05; done; exit 7',
    );
    expect(
      (
        await c.run(
          'close',
          's',
          '--leg',
          '1',
          '--status',
          'cancelled',
          '--reason',
          'run.cancelled.manual_kill',
        )
      ).code,
    ).toBe(0);
    const count = (await history(c, 's')).length;
    writeFileSync(join(c.directory, 'stop'), '');
    const ended = await leg.ended;
    expect(ended).toMatchObject({
      code: 7,
      stderr: expect.stringMatching(/is cancelled already.*changes nothing/) as string,
    });
    expect(await history(c, 's')).toHaveLength(count);
    // Sent once, by the operator's close.
    expect(told(c)).toMatchObject([{ status: 'cancelled' }]);
  });

  it('a wrapper that wakes up after its session was taken over closes nothing', async () => {
    const c = cli();
    const leg = await startWaiting(
      c,
      ['run', '--session', 's'],
      'echo working; while ! test -e stop; do sleep 0.05; done; exit 4',
    );
    const { process: wrapper } = await show(c, 's');
    expect(wrapper.pid).toBe(leg.child.pid);
    // Taken over as if it were dead, by the steps that a leg in another language takes.
    await c.run('close', 's', '--leg', '1', '--status', 'failed', '--reason', 'session.phantom.process_dead');
    await c.run('reopen', 's');
    writeFileSync(join(c.directory, 'stop'), '');
    expect(await leg.ended).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/moved on to leg 2/) as string,
    });
    expect(await show(c, 's')).toMatchObject({ status: 'running', leg: 2 });
  });

  it('corrects a sweep that was wrong about it, and the envelope names the one that it corrects', async () => {
    const c = cli();
    const leg = await startWaiting(
      c,
      ['run', '--session', 's', ...notify(c)],
      'echo working; while ! test -e stop; do sleep 0.05; done',
    );
    await c.run('close', 's', '--leg', '1', '--status', 'aborted', '--reason', 'session.stale.no_heartbeat');
    await c.run('deliver');
    writeFileSync(join(c.directory, 'stop'), '');
    expect((await leg.ended).code).toBe(0);
    expect(await show(c, 's')).toMatchObject({
      status: 'completed',
      reasonCode: 'session.corrected.late_outcome',
      overrideCount: 1,
    });
    const [first, second] = lines(inbox(c)).map((line) => JSON.parse(line) as { id: string; data: object });
    expect([first!.data, second!.data]).toMatchObject([
      { status: 'aborted' },
      { status: 'completed', previousStatus: 'aborted', corrects: first!.id },
    ]);
  });

  it('by a name that nobody has seen starts a session on it, and says so', async () => {
    const c = cli();
    expect(await c.run('resume', 'fresh', '--', 'true')).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/nothing to resume under fresh: started/) as string,
    });
    expect(await c.json<Row[]>('list')).toMatchObject([{ branchId: 'fresh', status: 'completed' }]);
  });

  it('by a prefix finds the session; by an ambiguous one touches nothing', async () => {
    const c = cli();
    await c.run('run', '--session', 'abc1', '--', 'true');
    expect(await c.run('resume', 'ab', '--', 'true')).toMatchObject({ code: 0, stderr: '' });
    await c.run('run', '--session', 'abc2', '--', 'true');
    const refused = await c.run('resume', 'ab', '--', 'touch', join(c.directory, 'started'));
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/ambiguous.*abc1, abc2/) as string,
    });
    expect(existsSync(join(c.directory, 'started'))).toBe(false);
  });
});

describe('a log in trouble', () => {
  it('never stops a leg that runs: its end is spooled, and the next command appends it', async () => {
    const c = cli();
    const leg = await startWaiting(
      c,
      ['run', '--session', 's', ...notify(c)],
      'echo working; while ! test -e stop; do sleep 0.05; done; exit 9',
    );
    const database = join(c.stateDir, 'ledger.db');
    await until(async () => (await history(c, 's')).length >= 2);
    // A schema that the running writer cannot use: its statements fail at once, and nothing is damaged.
    const db = new Sqlite(database, { timeout: 5000 });
    db.exec('ALTER TABLE events RENAME TO events_away');
    writeFileSync(join(c.directory, 'stop'), '');
    expect(await leg.ended).toMatchObject({
      code: 9,
      stderr: expect.stringMatching(/the end of this leg is kept in .*spool/) as string,
    });
    expect(readdirSync(join(c.stateDir, 'spool'))).toHaveLength(1);
    db.exec('ALTER TABLE events_away RENAME TO events');
    db.close();
    expect(await show(c, 's')).toMatchObject({ status: 'failed', leg: 1, reasonSummary: 'exit code 9' });
    expect(readdirSync(join(c.stateDir, 'spool'))).toEqual([]);
    await c.run('deliver');
    expect(told(c)).toMatchObject([{ status: 'failed', exit: { code: 9, signal: null } }]);
  });

  it('stops a leg before it starts, with a message and exit 69', async () => {
    const c = cli();
    mkdirSync(c.stateDir, { recursive: true });
    writeFileSync(join(c.stateDir, 'ledger.db'), 'a shopping list');
    const refused = await c.run('run', '--', 'touch', join(c.directory, 'started'));
    expect(refused).toMatchObject({
      code: 69,
      stderr: expect.stringMatching(/^session-ledger: .*ledger\.db is not a database.*\n$/) as string,
    });
    expect(existsSync(join(c.directory, 'started'))).toBe(false);
  });

  it('puts a spooled close that cannot be read aside, and goes on', async () => {
    const c = cli();
    await c.run('run', '--session', 's', '--', 'true');
    mkdirSync(join(c.stateDir, 'spool'));
    writeFileSync(join(c.stateDir, 'spool', `${v7()}.json`), '{"half');
    const listed = await c.run('list');
    expect(listed.code).toBe(0);
    expect(listed.stderr).toMatch(/put aside/);
    expect(readdirSync(join(c.stateDir, 'spool'))[0]).toMatch(/unreadable$/);
  });
});

describe('notices', () => {
  it('of a session whose legs are run by others are sent by the close that ends it', async () => {
    const c = cli();
    await c.run('open', '--session', 's', ...notify(c));
    await c.run('close', 's', '--leg', '1', '--status', 'completed');
    expect(told(c)).toMatchObject([{ status: 'completed' }]);
    await c.run('reopen', 's', ...notify(c));
    expect(await c.run('close', 's', '--leg', '2', '--status', 'failed')).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(told(c).map(({ leg }) => leg)).toEqual([1, 2]);
  });

  it.each([
    ["echo 'unbalanced", /unbalanced quote '/],
    ['echo a | cat', /unquoted pipe \|/],
    ['echo a > file', /unquoted redirection >/],
    ['echo a && echo b', /unquoted &&/],
    ['echo $HOME', /variable or substitution \$/],
    ['echo `id`', /command substitution `/],
    ['  ', /empty command/],
    ['', /empty command/],
    ['echo {statsu}', /unknown placeholder \{statsu\}/],
  ])('whose template is %j are refused before the leg starts', async (template, problem) => {
    const c = cli();
    const refused = await c.run('run', '--notify', template, '--', 'touch', join(c.directory, 'started'));
    expect(refused).toMatchObject({ code: 64, stderr: expect.stringMatching(problem) as string });
    expect(refused.stderr.trim().split('\n')).toHaveLength(1);
    expect(existsSync(join(c.directory, 'started'))).toBe(false);
    expect(existsSync(c.stateDir)).toBe(false);
  });

  it('that cannot be sent leave the session alone, and are seen', async () => {
    const c = cli();
    const ended = await c.run(
      'run',
      '--session',
      's',
      '--notify',
      '/no/such/notifier --token secret',
      '--notify',
      'sh -c "exit 3"',
      ...notify(c),
      '--',
      'true',
    );
    expect(ended.code).toBe(0);
    expect(ended.stderr).toMatch(
      /was not delivered \(parked\): attempt 1: command not found: \/no\/such\/notifier/,
    );
    expect(ended.stderr).toMatch(/was not delivered \(failed\): attempt 1: exit code 3/);
    expect(ended.stderr).not.toMatch(/secret/);
    expect(told(c)).toHaveLength(1);
    expect((await c.run('show', 's')).stdout).toMatch(/parked\t1\tcommand not found/);
    for (let attempt = 2; attempt <= 4; attempt += 1)
      expect(await c.run('deliver')).toMatchObject({
        code: 1,
        stdout: expect.stringContaining(`attempt ${attempt}`) as string,
      });
    expect((await c.run('deliver')).stdout).toMatch(/1 parked/);
    expect((await c.run('deliver')).code).toBe(0);
    expect(told(c)).toHaveLength(1);
    expect(await c.json('status')).toMatchObject({ notices: { delivered: 1, parked: 2 } });
  });

  it('of a leg that was killed between its close and its notice are sent by the next deliver, once', async () => {
    const c = cli();
    // The notice's first attempt kills the leg's process, as a crash at that moment would.
    const fuse = join(c.directory, 'fuse');
    writeFileSync(fuse, '');
    const script = `if test -e ${fuse}; then rm ${fuse}; kill -9 $PPID; exit 1; fi; cat >> ${inbox(c)}`;
    const leg = await c.run('run', '--session', 's', '--notify', `sh -c '${script}'`, '--', 'true');
    expect(leg.signal).toBe('SIGKILL');
    expect(await show(c, 's')).toMatchObject({ status: 'completed' });
    expect(told(c)).toHaveLength(0);
    await c.run('deliver');
    await c.run('deliver');
    expect(told(c)).toMatchObject([{ status: 'completed', leg: 1 }]);
  });
});
