/** What programs and people get from each command: JSON, tables, exit codes, and one line for what is wrong. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { v7 } from 'uuid';
import { cli } from '../support/cli.js';
import { follows, until } from '../support/fixture.js';

describe('the steps one by one', () => {
  it('print their outcome as JSON, with the fields that programs rely on', async () => {
    const c = cli();
    const FIELDS = [
      'outcome',
      'sessionId',
      'branchId',
      'leg',
      'from',
      'to',
      'changed',
      'revision',
      'eventIds',
    ];
    const opened = await c.json('open', '--session', 's', '--branch', 'b', '--meta', 'k=v=w');
    expect(Object.keys(opened)).toEqual(FIELDS);
    expect(opened).toMatchObject({
      outcome: 'applied',
      sessionId: 's',
      branchId: 'b',
      leg: 1,
      from: null,
      to: 'running',
      changed: true,
      revision: 0,
    });
    expect(await c.json('note', 'b', '--reason', 'run.started.ok', '--summary', 'fetching')).toMatchObject({
      outcome: 'applied',
      from: 'running',
      to: 'running',
      changed: false,
      revision: 1,
    });
    expect(await c.json('close', 's', '--leg', '1', '--status', 'failed', '--exit-code', '3')).toMatchObject({
      outcome: 'applied',
      from: 'running',
      to: 'failed',
      changed: true,
      revision: 2,
    });
    expect(await c.json('reopen', 's', '--justification', 'second round', '--actor', 'alice')).toMatchObject({
      outcome: 'applied',
      from: 'failed',
      to: 'running',
      leg: 2,
      revision: 4,
    });
    expect(await c.json('reopen', 's')).toMatchObject({
      outcome: 'observing',
      leg: 2,
      changed: false,
      eventIds: [],
    });
    const row = await c.json('show', 's');
    expect(Object.keys(row)).toEqual([
      'sessionId',
      'branchId',
      'status',
      'leg',
      'legCount',
      'startedAt',
      'legStartedAt',
      'endedAt',
      'updatedAt',
      'lastActivityAt',
      'reasonCode',
      'reasonSummary',
      'actor',
      'process',
      'metadata',
      'overrideCount',
      'irregularCount',
      'revision',
    ]);
    expect(row).toMatchObject({
      status: 'running',
      endedAt: null,
      metadata: { k: 'v=w' },
      overrideCount: 1,
      process: { pid: process.pid },
    });
    const [override] = await c.json<Record<string, unknown>[]>('audit', 'overrides');
    expect(override).toMatchObject({
      sessionId: 's',
      branchId: 'b',
      revision: 4,
      leg: 2,
      from: 'failed',
      to: 'running',
      actor: 'alice',
      justification: 'second round',
      pruned: false,
      position: expect.any(Number) as number,
    });
    const history = await c.json<Record<string, unknown>[]>('history', 's');
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

  it('answer a conflict and a rejection with exit 75', async () => {
    const c = cli();
    await c.run('open', '--session', 's');
    await c.run('close', 's', '--leg', '1', '--status', 'completed');
    const json = async (...args: string[]) => {
      const { code, stdout } = await c.run('--json', ...args);
      return { code, ...(JSON.parse(stdout) as object) };
    };
    expect(await json('close', 's', '--leg', '1', '--status', 'failed')).toMatchObject({
      code: 75,
      outcome: 'rejected',
      from: 'completed',
      to: 'failed',
      changed: false,
      eventIds: [],
    });
    expect(await json('close', 's', '--leg', '2', '--status', 'completed')).toMatchObject({
      code: 75,
      outcome: 'conflict',
    });
    expect(
      await json('close', 's', '--leg', '1', '--status', 'failed', '--expect-status', 'running'),
    ).toMatchObject({ code: 75, outcome: 'conflict' });
    expect(await json('reopen', 's', '--expect-revision', '0')).toMatchObject({
      code: 75,
      outcome: 'conflict',
    });
    expect(await json('open', '--session', 's')).toMatchObject({
      code: 75,
      outcome: 'conflict',
      sessionId: 's',
    });
    expect(await json('open', '--expect-revision', '0')).toMatchObject({ code: 75, outcome: 'conflict' });
    expect(await c.json<object[]>('audit', 'rejections')).toMatchObject([
      { sessionId: 's', from: 'completed', attempted: 'failed', source: 'cli.close' },
    ]);
    const said = await c.run('close', 's', '--leg', '1', '--status', 'failed');
    expect(said).toMatchObject({
      code: 75,
      stdout: '',
      stderr: expect.stringMatching(/^session-ledger: rejected: .*--override.*\n$/) as string,
    });
  });

  it('override one terminal status with another', async () => {
    const c = cli();
    await c.run('open', '--session', 's');
    await c.run('close', 's', '--leg', '1', '--status', 'completed');
    expect(
      await c.json(
        'close',
        's',
        '--status',
        'failed',
        '--override',
        '--justification',
        'the report was empty',
        '--actor',
        'bob',
      ),
    ).toMatchObject({ outcome: 'applied', from: 'completed', to: 'failed' });
    expect(await c.json<object[]>('audit', 'overrides', '--actor', 'bob')).toHaveLength(1);
    expect(await c.json<object[]>('audit', 'overrides', '--actor', 'nobody')).toEqual([]);
  });

  it('are retried without harm under one command id', async () => {
    const c = cli();
    const open = ['open', '--branch', 'b', '--command-id', v7()];
    const close = (id: string) => ['close', id, '--leg', '1', '--status', 'completed', '--command-id', v7()];
    const first = await c.json<{ sessionId: string }>(...open);
    expect(await c.json(...open)).toEqual(first);
    const closing = close(first.sessionId);
    const closed = await c.json(...closing);
    expect(await c.json(...closing)).toEqual(closed);
    expect(await c.json<object[]>('history', 'b')).toHaveLength(2);
  });

  it('open prints the id alone, for a script to keep', async () => {
    const c = cli();
    const { stdout } = await c.run('open');
    expect(stdout).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}\n$/);
  });
});

describe('bad input is told in one line that names the cause and the way out, and writes nothing', () => {
  it.each<[readonly string[], number, RegExp]>([
    [['frobnicate'], 64, /unknown command 'frobnicate'/],
    [['lst'], 64, /Did you mean list/],
    [['list', '--no-such'], 64, /unknown option '--no-such'/],
    [['list', '--status', 'paused'], 64, /--status: unknown status "paused": use running, completed/],
    [['list', '--limit', 'many'], 64, /--limit: must be a whole number of at least 1/],
    [['list', '--since', 'yesterday'], 64, /--since: must be a time such as/],
    [['list', '--since', '2026-02-30'], 64, /--since: must be a time such as/],
    [['list', '--log-level', 'loud'], 64, /unknown level "loud"/],
    [['run'], 64, /missing required argument 'cmd'/],
    [['run', '--branch', 'a/b', '--', 'true'], 64, /--branch: an id has 1 to 128 characters/],
    [['run', '--session', '', '--', 'true'], 64, /--session: an id has/],
    [['run', '--timeout', '5', '--', 'true'], 64, /--timeout: must be a length of time such as 90s/],
    [['run', '--timeout', '0s', '--', 'true'], 64, /--timeout: must be longer than nothing/],
    [['run', '--resume-on-timeout', '1', '--', 'true'], 64, /--resume-on-timeout needs --timeout/],
    [['run', '--meta', 'novalue', '--', 'true'], 64, /--meta: must be key=value/],
    [['run', '--', ''], 64, /name the command to run/],
    [['resume', '-x', '--', 'true'], 64, /unknown option/],
    [['resume', 'a/b', '--', 'true'], 64, /names no branch or session/],
    [['open', '--pid', '0'], 64, /--pid: must be a whole number of at least 1/],
    [['open', '--pid', '4194300'], 64, /--pid: no process 4194300 can be inspected.*--no-process/],
    [['open', '--pid', '1', '--no-process'], 64, /exclude each other/],
    [['open', '--command-id', 'again'], 64, /--command-id: must be a UUID/],
    [['open', '--notify', 'a | b'], 64, /unquoted pipe/],
    [['close', 's', '--leg', '1'], 64, /required option '--status/],
    [['close', 's', '--status', 'completed'], 64, /--leg N is missing/],
    [
      ['close', 's', '--leg', '0', '--status', 'completed'],
      64,
      /--leg: must be a whole number of at least 1/,
    ],
    [['close', 's', '--leg', '1', '--status', 'done'], 64, /unknown status "done"/],
    [['close', 's', '--leg', '1', '--status', 'failed', '--reason', 'run.failed.mood'], 64, /not registered/],
    [
      ['close', 's', '--leg', '1', '--status', 'failed', '--reason', 'weather.failed.rain'],
      64,
      /unknown domain "weather"/,
    ],
    [['close', 's', '--status', 'failed', '--override'], 64, /needs --justification/],
    [
      ['close', 's', '--status', 'failed', '--override', '--justification', ' '],
      64,
      /--justification: must not be blank/,
    ],
    [['close', 's', '--status', 'failed', '--justification', 'x'], 64, /goes with --override/],
    [['reopen', 's', '--justification', ''], 64, /--justification: must not be blank/],
    [['reopen', 's', '--expect-status', 'ended'], 64, /--expect-status: unknown status "ended"/],
    [['note', 's', '--reason', 'nonsense'], 64, /three lower-case segments/],
    [['note', 's'], 64, /required option '--reason/],
    [['--actor', ' ', 'list'], 78, /--actor is blank/],
    [['--store', 'postgres://x', 'list'], 78, /unknown kind of store: use sqlite:PATH/],
    [['--state-dir', '', 'list'], 78, /--state-dir is empty/],
    [
      ['close', 'nobody', '--leg', '1', '--status', 'completed'],
      2,
      /there is no session or branch "nobody".*list/,
    ],
    [['show', 'no\u001bbody'], 2, /there is no session "no\\x1bbody"/],
    [['history', 'nobody'], 2, /there is no session/],
    [['wait', 'nobody'], 2, /there is no session/],
    [['watch', 'nobody'], 2, /there is no session/],
    [['completion', 'tcsh'], 64, /no completion for "tcsh": use bash, zsh, fish/],
    [['audit', 'overrides', '--format', 'xml'], 64, /Allowed choices are table, json, csv/],
    [['demo', '--colour'], 64, /unknown option/],
  ])('%j', async (args, code, message) => {
    const c = cli();
    const ended = await c.run(...args);
    expect(ended.stderr).toMatch(message);
    expect(ended.stderr.trim().split('\n')).toHaveLength(1);
    expect(ended.stderr).toMatch(/^session-ledger: /);
    expect(ended).toMatchObject({ code, stdout: '' });
    if (existsSync(join(c.stateDir, 'ledger.db')))
      expect(await c.json<{ head: number }>('status')).toMatchObject({ head: 0 });
  });

  it('a configuration that is wrong is named with its path, and nothing starts', async () => {
    const c = cli();
    const file = join(c.directory, 'config', 'session-ledger', 'config.json');
    mkdirSync(join(c.directory, 'config', 'session-ledger'), { recursive: true });
    const attempt = async (content: string) => {
      writeFileSync(file, content);
      return c.run('list');
    };
    expect(await attempt('{')).toMatchObject({
      code: 78,
      stderr: expect.stringContaining(`${file} is not JSON`) as string,
    });
    expect((await attempt('{"colour": 1}')).stderr).toMatch(/colour/);
    expect((await attempt('{"reasons": [{"code": "x", "meaning": "m"}]}')).stderr).toMatch(
      /three lower-case segments/,
    );
    expect(await attempt('{"reasons": [{"code": "run.failed.quota", "meaning": "used up"}]}')).toMatchObject({
      code: 0,
    });
    await c.run('open', '--session', 's');
    expect(
      (await c.run('close', 's', '--leg', '1', '--status', 'failed', '--reason', 'run.failed.quota')).code,
    ).toBe(0);
  });
});

describe('reading', () => {
  it('keeps text of any script verbatim, and lets no control character reach the terminal', async () => {
    const c = cli();
    const summary = '日本語 🎉 שלום \u001b[31mred\u0007 {status} $(touch x) "quoted"\nline\u202e';
    await c.run('open', '--session', 's', '--meta', `ключ=${summary}`);
    await c.run('close', 's', '--leg', '1', '--status', 'failed', '--summary', summary);
    expect(await c.json('show', 's')).toMatchObject({ reasonSummary: summary, metadata: { ключ: summary } });
    for (const command of ['list', 'show s', 'history s']) {
      const { stdout } = await c.run(...command.split(' '));
      expect(stdout).toContain('日本語 🎉 שלום \\x1b[31mred\\x07');
      // eslint-disable-next-line no-control-regex
      expect(stdout).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f\u202e]/);
    }
  });

  it('prints overrides as a table, as JSON and as CSV that a spreadsheet does not compute', async () => {
    const c = cli();
    await c.run('open', '--session', 's');
    await c.run('close', 's', '--leg', '1', '--status', 'completed');
    await c.run(
      'close',
      's',
      '--status',
      'failed',
      '--override',
      '--justification',
      '=1+1, "x"',
      '--actor',
      '@cmd',
    );
    const { stdout: csv } = await c.run('audit', 'overrides', '--format', 'csv');
    const [header, row, rest] = csv.split('\r\n');
    expect(header).toMatch(/^eventId,sessionId,.*,justification,pruned$/);
    expect(row).toContain(`'@cmd,"'=1+1, ""x""",false`);
    expect(rest).toBe('');
    const { stdout: table } = await c.run('audit', 'overrides', '--format', 'table');
    expect(table.split('\n')[1]).toMatch(/\t@cmd\t=1\+1, "x"$/);
    expect(await c.json<object[]>('audit', 'overrides', '--format', 'json')).toMatchObject([
      { actor: '@cmd', justification: '=1+1, "x"' },
    ]);
    expect((await c.run('audit', 'overrides', '--since', '1h', '--format', 'json')).stdout).toContain('@cmd');
    expect((await c.run('audit', 'overrides', '--until', '1h', '--format', 'json')).stdout).toBe('[]\n');
  });

  it('an ambiguous prefix lists its candidates and touches nothing', async () => {
    const c = cli();
    for (const id of ['abc1', 'abc2']) await c.run('open', '--session', id);
    for (const args of [
      ['close', 'abc', '--leg', '1', '--status', 'failed'],
      ['show', 'abc'],
      ['note', 'abc', '--reason', 'run.started.ok'],
      ['reopen', 'abc'],
    ])
      expect(await c.run(...args)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/ambiguous.*abc1, abc2/) as string,
      });
    expect(await c.json<object[]>('history', 'abc1')).toHaveLength(1);
    expect((await c.run('show', 'abc1')).code).toBe(0);
  });

  it('waits for sessions, one line each as they end, in a format that programs read', async () => {
    const c = cli();
    for (const id of ['a', 'b']) await c.run('open', '--session', id);
    const waiting = c.start(['wait', 'a', 'b']);
    const any = c.start(['wait', '--any', 'a', 'b']);
    await until(() => [waiting, any].every(({ child }) => follows(child.pid)));
    await c.run('close', 'b', '--leg', '1', '--status', 'completed', '--exit-code', '0');
    expect(await any.ended).toMatchObject({
      code: 0,
      stdout: 'b\tstatus=completed\treason=run.completed.ok\tleg=1\texit=0\n',
    });
    await until(() => waiting.stdout() !== '');
    await c.run('close', 'a', '--leg', '1', '--status', 'failed', '--exit-code', '3');
    expect(await waiting.ended).toMatchObject({
      code: 1,
      stdout:
        'b\tstatus=completed\treason=run.completed.ok\tleg=1\texit=0\na\tstatus=failed\treason=run.failed.exit_nonzero\tleg=1\texit=3\n',
    });
    expect(await c.run('wait', 'a', 'b')).toMatchObject({ code: 1 });
    await c.run('reopen', 'a');
    expect(await c.run('wait', 'a', '--timeout', '300ms')).toMatchObject({ code: 124, stdout: '' });
    const interrupted = c.start(['wait', 'a']);
    await until(() => follows(interrupted.child.pid));
    interrupted.child.kill('SIGINT');
    expect((await interrupted.ended).code).toBe(3);
  });

  it('watches and follows until it is interrupted', async () => {
    const c = cli();
    await c.run('open', '--session', 'a');
    const watching = c.start(['watch', '--json']);
    const following = c.start(['history', 'a', '--follow', '--json']);
    await until(() => following.stdout() !== '' && follows(watching.child.pid));
    await c.run('close', 'a', '--leg', '1', '--status', 'completed');
    await c.run('reopen', 'a');
    await until(
      () =>
        watching.stdout().trim().split('\n').length === 2 &&
        following.stdout().trim().split('\n').length === 4,
    );
    watching.child.kill('SIGINT');
    following.child.kill('SIGTERM');
    const changes = (await watching.ended).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(changes).toMatchObject([
      { sessionId: 'a', from: 'running', to: 'completed' },
      { sessionId: 'a', from: 'completed', to: 'running', leg: 2 },
    ]);
    const entries = (await following.ended).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(entries).toMatchObject([
      { type: 'SessionOpened' },
      { type: 'StatusChanged' },
      { type: 'StatusChanged', irregular: null },
      { type: 'TransitionOverridden' },
    ]);
  });

  it('ends quietly when its reader has seen enough', async () => {
    const c = cli();
    for (let n = 0; n < 3; n += 1) await c.run('open', '--session', `s${n}`);
    const listing = c.start(['list', '--json']);
    listing.child.stdout?.destroy();
    expect(await listing.ended).toMatchObject({ stderr: '' });
  });
});

describe('the rest', () => {
  it('rebuilds the read model and tells how far it has got', async () => {
    const c = cli();
    await c.run('run', '--session', 's', '--', 'true');
    const before = await c.json('show', 's');
    expect(await c.json('projections', 'rebuild')).toMatchObject({ applied: expect.any(Number) as number });
    expect(await c.json('projections', 'status')).toMatchObject({ applied: 0 });
    expect(await c.json('show', 's')).toEqual(before);
    expect((await c.run('status')).stdout).toMatch(/sessions {4}1 completed/);
  });

  it('has help with examples for every command, and completes in bash', async () => {
    const c = cli();
    const { stdout: help } = await c.run('--help');
    const commands = [...help.matchAll(/^ {2}([a-z]+)\b.*$/gm)].map(([, name]) => name!);
    expect(commands.length).toBeGreaterThan(12);
    const leaves = [
      ...commands.filter((name) => !['audit', 'projections', 'help'].includes(name)),
      'audit overrides',
      'audit rejections',
      'projections status',
      'projections rebuild',
    ];
    for (const name of leaves)
      expect((await c.run(...name.split(' '), '--help')).stdout, name).toMatch(/Examples:|Reason codes/);
    expect(await c.run('--version')).toMatchObject({
      code: 0,
      stdout: `${(JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }).version}\n`,
    });
    const { stdout: script } = await c.run('completion', 'bash');
    writeFileSync(join(c.directory, 'completion.bash'), script);
    const { execFileSync } = await import('node:child_process');
    const complete = (words: string) =>
      execFileSync(
        'bash',
        [
          '-c',
          `source completion.bash; COMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _session_ledger; echo "\${COMPREPLY[*]}"`,
        ],
        { cwd: c.directory, encoding: 'utf8' },
      ).trim();
    expect(complete('session-ledger re')).toBe('resume reopen');
    expect(complete('session-ledger audit o')).toBe('overrides');
    expect(complete('session-ledger run --not')).toBe('--notify');
    expect(complete('session-ledger list --sta').split(' ')).toEqual(
      expect.arrayContaining(['--status', '--state-dir']),
    );
    for (const shell of ['zsh', 'fish'])
      expect((await c.run('completion', shell)).stdout).toContain('session-ledger');
  });

  it('runs the demo, with its own legs and with those of the reader', async () => {
    const c = cli();
    const demo = await c.run('demo');
    expect(demo.stdout).toMatch(/LegTakenOver/);
    expect(demo.stdout).toMatch(/2 notices arrived/);
    expect(demo).toMatchObject({ code: 0 });
    const own = await c.run('demo', '--', 'echo', 'my own leg');
    expect(own.stdout.match(/^my own leg$/gm)).toHaveLength(3);
    expect(own.code).toBe(0);
  });
});
