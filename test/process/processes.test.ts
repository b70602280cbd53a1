import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { judge } from '../../src/domain/processIdentity.js';
import { descendantsOf, endAll } from '../../src/process/descendants.js';
import { judgeEnd, notStarted } from '../../src/process/legEnd.js';
import type { StopSignal } from '../../src/process/legEnd.js';
import { hostFacts, identify, isPid, observe, parseStat, selfIdentity } from '../../src/process/liveness.js';
import { after } from '../../src/process/longTimer.js';
import { LONGEST_ARGUMENT, runBounded } from '../../src/process/runBounded.js';
import { PROGRAM } from '../support/cli.js';
import { until } from '../support/fixture.js';
import { temporaryDirectory } from '../support/temp.js';

const started = (command: string, args: readonly string[]) => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  onTestFinished(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // It has ended.
    }
  });
  return child;
};

const has = (tool: string): boolean => {
  try {
    execFileSync('which', [tool], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

describe('looking at a process', () => {
  it('finds this one alive, and itself the same each time', () => {
    const self = selfIdentity('local');
    expect(self).toMatchObject({ mode: 'local', pid: process.pid, ...hostFacts() });
    expect(judge(self, hostFacts(), observe)).toMatchObject({ verdict: 'alive' });
    expect(selfIdentity('local')).toEqual(self);
  });

  it('finds one that ended gone, and one with another start recycled', async () => {
    const child = started('sleep', ['60']);
    const identity = identify(child.pid!)!;
    expect(judge(identity, hostFacts(), observe).verdict).toBe('alive');
    expect(judge({ ...identity, startTime: `${identity.startTime}0` }, hostFacts(), observe)).toMatchObject({
      verdict: 'gone',
      evidence: expect.stringMatching(/another process/) as string,
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    expect(judge(identity, hostFacts(), observe)).toMatchObject({ verdict: 'gone' });
    expect(identify(child.pid!)).toBeNull();
  });

  it('finds a zombie gone', async () => {
    // The shell's child ends, and nobody reaps it: the shell has become a sleep.
    const shell = started('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60']);
    const pid = await new Promise<number>((resolve) =>
      shell.stdout.once('data', (line: Buffer) => resolve(Number(line.toString()))),
    );
    const identity = identify(pid)!;
    await until(() => {
      const seen = observe(pid);
      return seen._tag === 'present' && seen.zombie;
    });
    expect(judge(identity, hostFacts(), observe)).toMatchObject({
      verdict: 'gone',
      evidence: expect.stringMatching(/zombie/) as string,
    });
  });

  it('is not misled by a name, by a thread, or by what is no pid', async () => {
    const directory = temporaryDirectory();
    const strange = join(directory, ') R 1 (');
    copyFileSync('/bin/sleep', strange);
    const child = started(strange, ['60']);
    await until(() => readFileSync(`/proc/${child.pid}/stat`, 'latin1').includes(') R 1 ('));
    expect(observe(child.pid!)).toMatchObject({ _tag: 'present', zombie: false, thread: false });
    expect(parseStat('1 (a) b) S 7 8 9 0 10')).toBeNull();
    const threads = execFileSync('ls', [`/proc/${process.pid}/task`], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map(Number);
    const thread = threads.find((tid) => tid !== process.pid)!;
    expect(observe(thread)).toMatchObject({ _tag: 'present', thread: true });
    for (const wrong of [0, -1, 1.5, Number.NaN, 4_194_305]) {
      expect(isPid(wrong)).toBe(false);
      expect(observe(wrong)._tag).toBe('unknown');
    }
  });

  it('from inside another pid namespace finds the recorded one foreign', ({ skip }) => {
    let inside: string;
    try {
      inside = execFileSync('unshare', ['-p', '-f', '--mount-proc', 'readlink', '/proc/self/ns/pid'], {
        encoding: 'utf8',
      }).trim();
    } catch {
      console.warn('SKIPPED: this machine does not let us make a pid namespace');
      return skip();
    }
    expect(inside).not.toBe(hostFacts().pidNamespace);
    expect(judge({ ...selfIdentity('local'), pidNamespace: inside }, hostFacts(), observe).verdict).toBe(
      'foreign',
    );
  });
});

describe('ending a tree of processes', () => {
  it('asks first, kills what does not go, and leaves the rest of the world alone', async () => {
    const bystander = started('sleep', ['60']);
    const tree = started('sh', [
      '-c',
      'trap "" TERM; sh -c "sleep 60 & sleep 60" & echo up; while :; do sleep 0.05; done',
    ]);
    await new Promise((resolve) => tree.stdout.once('data', resolve));
    await until(() => descendantsOf(tree.pid!).length >= 3);
    await endAll(() => [tree.pid!, ...descendantsOf(tree.pid!)], 200);
    expect(descendantsOf(tree.pid!)).toEqual([]);
    expect(identify(tree.pid!)).toBeNull();
    expect(identify(bystander.pid!)).not.toBeNull();
  });
});

describe('how a leg ended', () => {
  const stop = (signal: StopSignal, atTerminal = false) => ({ signal, atTerminal });
  it.each([
    [{ code: 0, signal: null }, null, false, 'completed', 0],
    [{ code: 0, signal: null }, null, true, 'completed_empty', 0],
    [{ code: 3, signal: null }, null, true, 'failed', 3],
    [{ code: 143, signal: null }, null, false, 'failed', 143],
    [{ code: null, signal: 'SIGTERM' }, null, false, 'failed', 143],
    [{ code: null, signal: 'SIGKILL' }, null, false, 'failed', 137],
    [{ code: null, signal: 'SIGTERM' }, stop('SIGTERM'), false, 'cancelled', 143],
    [{ code: 143, signal: null }, stop('SIGTERM'), false, 'cancelled', 143],
    [{ code: null, signal: 'SIGKILL' }, stop('SIGTERM'), false, 'cancelled', 143],
    [{ code: 130, signal: null }, stop('SIGINT'), false, 'cancelled', 130],
    [{ code: null, signal: 'SIGINT' }, stop('SIGINT', true), false, 'aborted', 130],
    [{ code: 0, signal: null }, stop('SIGINT', true), false, 'completed', 0],
    [{ code: 9, signal: null }, stop('SIGTERM'), false, 'failed', 9],
    [{ code: null, signal: 'SIGSEGV' }, stop('SIGTERM'), false, 'failed', 139],
    [{ code: null, signal: 'SIGHUP' }, stop('SIGHUP'), false, 'cancelled', 129],
  ] as const)(
    '%j after the stop %j (silent: %s) is %s, exit %i',
    (exit, request, silent, status, exitCode) => {
      expect(judgeEnd(exit, request, silent)).toMatchObject({
        status,
        exitCode,
        exit,
        stopRequested: request !== null,
      });
    },
  );

  it('names what kept a command from starting', () => {
    const error = (code: string) => Object.assign(new Error('spawn x'), { code });
    expect(notStarted('x', error('ENOENT'))).toMatchObject({
      exitCode: 127,
      reasonSummary: 'command not found: x',
    });
    expect(notStarted('x', error('EACCES'))).toMatchObject({ exitCode: 126 });
    expect(notStarted('x', error('E2BIG')).reasonSummary).toMatch(/131071/);
  });
});

describe('a timer', () => {
  it('of forty days does not go off at once', async () => {
    let rung = false;
    const stop = after(40 * 86_400_000, () => (rung = true));
    await new Promise((resolve) => setTimeout(resolve, 50));
    stop();
    expect(rung).toBe(false);
    await new Promise<void>((resolve) => after(1, resolve));
  });
});

describe('a notify command', () => {
  const run = (
    script: string,
    more: Partial<Parameters<typeof runBounded>[2]> = {},
    args: readonly string[] = [],
  ) =>
    runBounded('sh', ['-c', script, 'sh', ...args], {
      stdin: 'the envelope',
      env: { ...process.env, MARK: script },
      timeLimitMs: 10_000,
      mark: `MARK=${script}`,
      ...more,
    });

  it('gets the text, and its words are kept', async () => {
    const file = join(temporaryDirectory(), 'got');
    const ended = await run(`cat > ${file}; echo oops >&2; exit 3`);
    expect(ended).toMatchObject({ _tag: 'exited', code: 3 });
    expect(ended._tag === 'exited' && ended.stderr.toString()).toBe('oops\n');
    expect(readFileSync(file, 'utf8')).toBe('the envelope');
  });

  it('that reads nothing, and one that says very much, are no trouble', async () => {
    expect(await run('exit 0', { stdin: 'x'.repeat(5_000_000) })).toMatchObject({ _tag: 'exited', code: 0 });
    const loud = await run('head -c 3000000 /dev/zero >&2; exit 1');
    expect(loud._tag === 'exited' && loud.stderr.length).toBeLessThanOrEqual(65_536);
  });

  it('that leaves a background process holding its output is told at once', async () => {
    const file = join(temporaryDirectory(), 'pid');
    const ended = await run(`sleep 100 & echo $! > ${file}; exit 0`);
    expect(ended).toMatchObject({ _tag: 'exited', code: 0 });
    const pid = Number(readFileSync(file, 'utf8'));
    expect(identify(pid)).not.toBeNull();
    process.kill(pid, 'SIGKILL');
  });

  it('that hangs with children of its own is ended, and nothing is left over', async () => {
    const file = join(temporaryDirectory(), 'pids');
    const ended = await run(
      `trap "" TERM; setsid sh -c 'echo $$ >> ${file}; exec sleep 100' & sh -c 'echo $$ >> ${file}; exec sleep 100' & echo $$ >> ${file}; wait; sleep 100`,
      { timeLimitMs: 500 },
    );
    expect(ended._tag).toBe('timed_out');
    const pids = readFileSync(file, 'utf8').trim().split('\n').map(Number);
    expect(pids).toHaveLength(3);
    for (const pid of pids) expect(identify(pid)).toBeNull();
  });

  it('that cannot be started is told why', async () => {
    const options = { stdin: '', env: process.env, timeLimitMs: 1000, mark: 'x=y' };
    const plain = join(temporaryDirectory(), 'plain');
    writeFileSync(plain, '', { mode: 0o644 });
    expect(await runBounded('/no/such', [], options)).toMatchObject({ problem: 'not_found' });
    expect(await runBounded(plain, [], options)).toMatchObject({ problem: 'not_executable' });
    expect(await runBounded('true', ['x'.repeat(LONGEST_ARGUMENT + 1)], options)).toMatchObject({
      problem: 'too_large',
    });
    expect(await runBounded('true', ['x'.repeat(LONGEST_ARGUMENT)], options)).toMatchObject({
      _tag: 'exited',
      code: 0,
    });
    expect(await runBounded('true', ['a\0b'], options)).toMatchObject({ problem: 'invalid' });
  });
});

describe('a terminal', () => {
  const tmux = (socket: string, ...args: readonly string[]) =>
    execFileSync('tmux', ['-L', socket, ...args], { encoding: 'utf8' });
  const inTerminal = async (
    work: (t: {
      directory: string;
      type: (...keys: string[]) => void;
      screen: () => string;
      shows: (text: string | RegExp) => Promise<void>;
    }) => Promise<void>,
  ) => {
    const directory = temporaryDirectory();
    const socket = `session-ledger-${process.pid}-${Math.random().toString(36).slice(2)}`;
    tmux(
      socket,
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      '100',
      '-y',
      '30',
      '-c',
      directory,
      'env',
      `SESSION_LEDGER_STATE_DIR=${directory}/state`,
      'PS1=ready> ',
      'sh',
    );
    try {
      const screen = () => tmux(socket, 'capture-pane', '-p');
      const shows = (text: string | RegExp) =>
        until(() => (typeof text === 'string' ? screen().includes(text) : text.test(screen())));
      await shows('ready>');
      await work({ directory, type: (...keys) => void tmux(socket, 'send-keys', ...keys), screen, shows });
    } finally {
      tmux(socket, 'kill-server');
    }
  };
  const ledger = `${process.execPath} ${PROGRAM}`;
  const hasTmux = has('tmux');
  if (!hasTmux) console.warn('SKIPPED: the terminal tests need tmux, which this machine does not have');

  it.skipIf(!hasTmux)(
    "is the command's own, and Ctrl-C reaches the command once: the leg is aborted by its user",
    async () => {
      await inTerminal(async ({ directory, type, shows }) => {
        const script = join(directory, 'leg.sh');
        writeFileSync(
          script,
          `trap 'echo int >> ints; trap - INT; kill -INT $$' INT\ntest -t 0 && test -t 1 && echo hello > /dev/tty\nwhile :; do sleep 0.05; done\n`,
        );
        type(`${ledger} run --session s -- sh ${script}; echo "exit $?"`, 'Enter');
        await shows(/^hello/m);
        type('C-c');
        await shows('exit 130');
        expect(readFileSync(join(directory, 'ints'), 'utf8')).toBe('int\n');
        type(`${ledger} show s | head -5`, 'Enter');
        await shows('run.aborted.user');
      });
    },
  );

  it.skipIf(!hasTmux)('is given back as it was found when a full-screen command is killed', async () => {
    await inTerminal(async ({ directory, type, screen, shows }) => {
      const script = join(directory, 'full.sh');
      writeFileSync(
        script,
        `stty raw -echo; printf '\\033[?1049h\\033[?1000hFULL SCREEN'; sleep 0.5; kill -KILL $$\n`,
      );
      type(`${ledger} run --session s -- sh ${script}; echo "exit $?"`, 'Enter');
      await shows('exit 137');
      type('echo visi""ble', 'Enter');
      await shows(/^visible$/m);
      expect(screen()).not.toContain('FULL SCREEN');
      // Echo is on again: what was typed stands there as well.
      expect(screen()).toContain('echo visi""ble');
      expect(existsSync(join(directory, 'state'))).toBe(true);
    });
  });
});
