import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { build } from 'esbuild';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { StopRequest } from '../../src/process/legEnd.js';
import { observe } from '../../src/process/liveness.js';
import { runLeg } from '../../src/process/runLeg.js';
import type { Stops } from '../../src/process/stops.js';
import { after } from '../../src/process/longTimer.js';
import { until } from '../support/fixture.js';
import { temporaryDirectory } from '../support/temp.js';
import { has, legArguments, legRunner, lives, pidsIn, started, startLeg, told } from './tools.js';

const noStops: Stops = {
  asked: () => [],
  onStop: () => () => undefined,
  onUser: () => () => undefined,
  release: () => undefined,
};
const plainly = {
  env: process.env,
  mark: 'x=y',
  watchOutput: false,
  stops: noStops,
  onStarted: () => undefined,
};

const sh = (script: string) => ({ command: 'sh', args: ['-c', script] });

describe("a leg's command", () => {
  it('is known by its own identity while it runs, and judged by how it ends', async () => {
    const file = join(temporaryDirectory(), 'pids');
    const leg = await startLeg(sh(`echo $$ >> ${file}; sleep 0.5; exit 3`));
    const [pid] = await pidsIn(file, 1);
    expect(await leg.command()).toMatchObject({ mode: 'local', pid });
    expect(await leg.ended).toMatchObject({
      code: 3,
      end: { status: 'failed', reasonSummary: 'exit code 3', exit: { code: 3, signal: null } },
    });
  });

  it('gets what is typed or piped into us, also when it comes late', async () => {
    const leg = await startLeg({ command: 'cat' }, ['pipe', 'pipe', 'ignore']);
    await leg.command();
    await delay(100);
    leg.child.stdin!.end('late');
    expect(await text(leg.child.stdout!)).toBe('late');
    expect((await leg.ended).code).toBe(0);
  });

  it.each([
    ['SIGTERM', 143, 'run.cancelled.sigterm'],
    ['SIGINT', 130, 'run.cancelled.sigint'],
    ['SIGHUP', 129, 'run.cancelled.system'],
    ['SIGQUIT', 131, 'run.cancelled.system'],
  ] as const)('is told our %s, and those that work for it too', async (signal, exitCode, reasonCode) => {
    const file = join(temporaryDirectory(), 'pids');
    // The helper takes a default disposition again, which a shell withholds from what it starts in the background.
    const helper = `${process.execPath} -e 'require("fs").appendFileSync("${file}", process.pid + "\\n"); process.on("${signal}", () => process.exit()); setTimeout(() => {}, 60000)'`;
    const leg = await startLeg(sh(`${helper} & echo $$ >> ${file}; exec sleep 60`));
    const pids = await pidsIn(file, 2);
    leg.child.kill(signal);
    expect(await leg.ended).toMatchObject({ code: exitCode, end: { status: 'cancelled', reasonCode } });
    await until(() => !pids.some(lives));
  });

  it('that handles our signal is judged by its own exit code, however often it is told', async () => {
    const file = join(temporaryDirectory(), 'pids');
    const leg = await startLeg(
      sh(
        `n=0; trap 'n=$((n+1)); echo 1 >> ${file}.n; test $n = 2 && exit 0' TERM; echo $$ >> ${file}; while :; do sleep 0.05; done`,
      ),
    );
    await pidsIn(file, 1);
    leg.child.kill('SIGTERM');
    await until(() => existsSync(`${file}.n`));
    leg.child.kill('SIGTERM');
    expect(await leg.ended).toMatchObject({ code: 0, end: { status: 'completed', stopRequested: true } });
  });

  it('is told SIGUSR2 alone, which stops nothing', async () => {
    const file = join(temporaryDirectory(), 'pids');
    const leg = await startLeg(
      sh(
        `trap 'echo usr2 > ${file}.told; kill $!; exit 5' USR2; sleep 60 & echo $! >> ${file}; wait; exit 6`,
      ),
    );
    const [helper] = await pidsIn(file, 1);
    await leg.command();
    leg.child.kill('SIGUSR2');
    expect(await leg.ended).toMatchObject({ code: 5, end: { status: 'failed', stopRequested: false } });
    expect(readFileSync(`${file}.told`, 'utf8')).toBe('usr2\n');
    await until(() => !lives(helper!));
  });

  it('that dies of a signal that nobody asked for has failed', async () => {
    expect(await (await startLeg(sh('kill -SEGV $$'))).ended).toMatchObject({
      code: 139,
      end: { status: 'failed', reasonCode: 'run.failed.exception', reasonSummary: 'killed by SIGSEGV' },
    });
    expect((await (await startLeg(sh('exit 143'))).ended).end).toMatchObject({
      reasonCode: 'run.failed.exit_nonzero',
    });
  });

  it('that dies of a stop which then reaches us as well was stopped', async () => {
    const listeners = new Set<(request: StopRequest) => void>();
    const asked: StopRequest[] = [];
    const stops: Stops = {
      ...noStops,
      asked: () => asked,
      onStop: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const end = await runLeg({
      ...plainly,
      ...sh('exec sleep 60'),
      stops,
      onStarted: ({ pid }) => {
        process.kill(pid!, 'SIGHUP');
        // Reaped: its end is known here.
        void until(() => observe(pid!)._tag === 'absent').then(() => {
          asked.push({ signal: 'SIGHUP', atTerminal: false });
          for (const listener of listeners) listener(asked[0]!);
        });
      },
    });
    expect(end).toMatchObject({ status: 'cancelled', reasonCode: 'run.cancelled.system' });
  });

  it('is not waited for in those that it leaves behind', async () => {
    const file = join(temporaryDirectory(), 'pids');
    const leg = await startLeg({ ...sh(`sleep 60 & echo $! >> ${file}; echo out`), watchOutput: true });
    expect(await leg.ended).toMatchObject({ code: 0, end: { status: 'completed' } });
    const [left] = await pidsIn(file, 1);
    expect(lives(left!)).toBe(true);
  });
});

describe('a command that cannot be started', () => {
  it('is told apart by what keeps it from starting', async () => {
    const directory = temporaryDirectory();
    const plain = join(directory, 'plain');
    writeFileSync(plain, 'x', { mode: 0o644 });
    const script = join(directory, 'script');
    writeFileSync(script, '#!/no/such/interpreter\n', { mode: 0o755 });
    const ended = async (command: string, ...args: readonly string[]) => {
      const { code, end } = await (await startLeg({ command, args })).ended;
      expect(end).toMatchObject({ status: 'failed', reasonCode: 'run.failed.spawn', exit: null });
      return [code, end.reasonSummary];
    };
    expect(await ended('no-such-command')).toEqual([127, 'command not found: no-such-command']);
    expect(await ended(script)).toEqual([127, expect.stringContaining('interpreter') as string]);
    expect(await ended(plain)).toEqual([126, `not executable: ${plain}`]);
    expect(await ended('true', 'a\0b')).toEqual([126, expect.stringContaining('NUL') as string]);
  });

  it('because of an argument that is too long is told so, and leaves nothing open', async () => {
    const end = await runLeg({
      ...plainly,
      command: 'true',
      args: ['x'.repeat(131_072)],
      watchOutput: true,
    });
    expect(end).toMatchObject({ exitCode: 126, reasonCode: 'run.failed.spawn' });
    expect(end.reasonSummary).toMatch(/131071/);
  });
});

describe('the time of a leg', () => {
  it('once over, ends the command and all that came of it, wherever they went', async () => {
    const file = join(temporaryDirectory(), 'pids');
    const stubborn = `sh -c 'trap "" TERM; echo $$ >> ${file}; while :; do sleep 0.05; done'`;
    const beside = started('sleep', ['60']);
    const leg = await startLeg({
      ...sh(
        `${stubborn} & setsid ${stubborn} & (setsid ${stubborn} &); env -i setsid ${stubborn} & exec sleep 60`,
      ),
      timeoutMs: 4000,
      graceMs: 300,
    });
    const pids = await pidsIn(file, 4);
    expect(await leg.ended).toMatchObject({
      code: 124,
      end: { status: 'timed_out', reasonCode: 'run.timed_out.deadline', reasonSummary: 'no end within 4 s' },
    });
    expect(pids.filter(lives)).toEqual([]);
    expect(lives(beside.pid!)).toBe(true);
  });

  it('once over, is what the leg is judged by, also when the command then ends well', async () => {
    const leg = await startLeg({
      ...sh(`trap 'exit 0' TERM; while :; do sleep 0.05; done`),
      timeoutMs: 500,
    });
    expect(await leg.ended).toMatchObject({ code: 124, end: { exit: { code: 0, signal: null } } });
  });

  it('that is not over has no say', async () => {
    const leg = await startLeg({ command: 'true', timeoutMs: 3_000_000_000 });
    expect(await leg.ended).toMatchObject({ code: 0, end: { status: 'completed' } });
  });

  it('once over, does not keep us waiting for a command that the system does not let us end', async ({
    skip,
  }) => {
    // As with sudo: the command has become another user's.
    const anybody = ['--reuid=65534', '--clear-groups'];
    if (process.getuid?.() !== 0 || !has('setpriv')) {
      console.warn('SKIPPED: only root can start a process that another user cannot end');
      return skip();
    }
    const directory = temporaryDirectory();
    chmodSync(directory, 0o777);
    const become = join(directory, 'become');
    copyFileSync(execFileSync('which', ['setpriv'], { encoding: 'utf8' }).trim(), become);
    chmodSync(become, 0o4755);
    const program = join(directory, 'program.mjs');
    // Whole, since this user finds no packages.
    await build({
      entryPoints: ['test/process/legRunner.ts'],
      outfile: program,
      bundle: true,
      platform: 'node',
      format: 'esm',
    });
    const report = join(directory, 'report');
    const args = ['--reuid=0', 'sleep', '60'];
    const child = spawn(
      'setpriv',
      [
        ...anybody,
        process.execPath,
        program,
        legArguments(report, { command: become, args, timeoutMs: 500, graceMs: 100 }),
      ],
      { stdio: 'ignore', detached: true },
    );
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await until(() => told(report).length > 0 || child.exitCode !== null);
    const pid = told(report)[0]!.started!.pid!;
    onTestFinished(() => void process.kill(pid, 'SIGKILL'));
    expect(await ended).toBe(124);
    expect(told(report)[1]!.end).toMatchObject({
      status: 'timed_out',
      exit: null,
      reasonSummary: `no end within 0.5 s; still there: pid ${pid}`,
    });
    expect(lives(pid)).toBe(true);
  });
});

describe('the output of a leg that must have some', () => {
  const watched = (script: string) =>
    startLeg({ ...sh(script), watchOutput: true }, ['ignore', 'pipe', 'ignore']);

  it('passes through, and is missed when there is none', async () => {
    const some = await watched('printf "%s" "no newline"');
    expect(await text(some.child.stdout!)).toBe('no newline');
    expect((await some.ended).end.status).toBe('completed');
    const none = await watched('echo on another channel >&2');
    expect((await none.ended).end).toMatchObject({ status: 'completed_empty', exitCode: 0 });
  });

  it('may be opened by its name in /dev', async () => {
    const leg = await watched('echo named > /dev/stdout');
    expect(await text(leg.child.stdout!)).toBe('named\n');
    expect((await leg.ended).code).toBe(0);
  });

  it('reaches a slow reader whole', async () => {
    const report = join(temporaryDirectory(), 'report');
    const options = legArguments(report, { ...sh('seq 1 100000'), watchOutput: true });
    // The command has ended, and its pipe is forgotten, while much is unread.
    const slow = `const b = Buffer.alloc(65536); let n = 0, r; do { r = fs.readSync(0, b); n += r; Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150); } while (r > 0); console.log(n)`;
    const line = `"$0" "$1" "$2" | "$0" -e "$3"`;
    const args = ['-c', line, process.execPath, await legRunner(), options, slow];
    const pipeline = spawn('sh', args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
    expect(await text(pipeline.stdout)).toBe('588895\n');
    expect(told(report).at(-1)?.end?.status).toBe('completed');
  });

  it('is counted also when its reader has gone away, and the leg goes on', async () => {
    const file = join(temporaryDirectory(), 'done');
    const leg = await watched(`seq 1 300000; echo > ${file}`);
    leg.child.stdout!.destroy();
    expect((await leg.ended).end).toMatchObject({ status: 'completed', exitCode: 0 });
    expect(existsSync(file)).toBe(true);
  });
});

describe('a timer', () => {
  it('of forty days does not go off at once', async () => {
    let rung = false;
    const stop = after(40 * 86_400_000, () => (rung = true));
    await delay(50);
    stop();
    expect(rung).toBe(false);
    await new Promise<void>((resolve) => after(1, resolve));
  });
});
