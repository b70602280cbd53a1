import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LegEnd } from '../../src/process/legEnd.js';
import { PROGRAM } from '../support/cli.js';
import { until } from '../support/fixture.js';
import { temporaryDirectory } from '../support/temp.js';
import { has, legArguments, legRunner, lives, pidsIn, told } from './tools.js';
import type { LegOptions } from './tools.js';

interface Terminal {
  readonly directory: string;
  /** A script of that name, to be run by sh. */
  readonly script: (name: string, text: string) => string;
  /** A program that runs one leg; `end` waits for what it told. */
  readonly leg: (
    options: LegOptions,
  ) => Promise<{ readonly line: string; readonly end: () => Promise<LegEnd> }>;
  readonly type: (...keys: readonly string[]) => void;
  readonly screen: () => string;
  readonly shows: (text: string | RegExp) => Promise<void>;
  readonly hangUp: () => void;
}

const inTerminal = async (work: (terminal: Terminal) => Promise<void>): Promise<void> => {
  const directory = temporaryDirectory();
  const tmux = (...args: readonly string[]) =>
    execFileSync('tmux', ['-S', join(directory, 'tmux'), ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const size = ['-x', '100', '-y', '30'];
  const env = ['env', `SESSION_LEDGER_STATE_DIR=${directory}/state`, 'PS1=ready> '];
  tmux('-f', '/dev/null', 'new-session', '-d', ...size, '-c', directory, ...env, 'bash', '--norc', '-i');
  const script = (name: string, text: string) => {
    const path = join(directory, name);
    writeFileSync(path, `${text}\n`);
    return path;
  };
  let open = true;
  const hangUp = () => {
    if (open) tmux('kill-server');
    open = false;
  };
  const screen = () => tmux('capture-pane', '-p');
  const shows: Terminal['shows'] = (text) =>
    until(() => (typeof text === 'string' ? screen().includes(text) : text.test(screen())));
  try {
    await shows('ready>');
    await work({
      directory,
      script,
      leg: async (options) => {
        const report = join(directory, 'report');
        const json = script('options', legArguments(report, options));
        const run = script('leg', `exec ${process.execPath} ${await legRunner()} "$(cat ${json})"`);
        const ended = () => told(report).find((line) => 'end' in line)?.end;
        return {
          line: `sh ${run}`,
          end: async () => {
            await until(() => ended() !== undefined);
            return ended()!;
          },
        };
      },
      type: (...keys) => void tmux('send-keys', ...keys),
      screen,
      shows,
      hangUp,
    });
  } finally {
    hangUp();
  }
};

const hasTmux = has('tmux');
if (!hasTmux) console.warn('SKIPPED: the terminal tests need tmux, which this machine does not have');
const ledger = `${process.execPath} ${PROGRAM}`;

/** Takes the screen, breaks the terminal's settings, and is killed in the middle of it. */
const FULL_SCREEN = `stty raw -echo < /dev/tty; printf '\\033[?1049h\\033[?1000hFULL SCREEN' > /dev/tty; sleep 0.5; kill -KILL $$`;

describe.skipIf(!hasTmux)('a terminal', () => {
  it("is the command's own, and Ctrl-C reaches the command once: the leg is aborted by its user", () =>
    inTerminal(async ({ directory, script, type, shows }) => {
      const path = script(
        'leg.sh',
        `trap 'echo int >> ints; trap - INT; kill -INT $$' INT\ntest -t 0 && test -t 1 && echo hello > /dev/tty\nwhile :; do sleep 0.05; done`,
      );
      type(`${ledger} run --session s -- sh ${path}; echo "exit $?"`, 'Enter');
      await shows(/^hello/m);
      type('C-c');
      await shows('exit 130');
      expect(readFileSync(join(directory, 'ints'), 'utf8')).toBe('int\n');
      type(`${ledger} show s | head -5`, 'Enter');
      await shows('run.aborted.user');
    }));

  it('is given back as it was found when a full-screen command is killed', () =>
    inTerminal(async ({ directory, script, type, screen, shows }) => {
      type(`${ledger} run --session s -- sh ${script('full.sh', FULL_SCREEN)}; echo "exit $?"`, 'Enter');
      await shows('exit 137');
      type('echo visi""ble', 'Enter');
      await shows(/^visible$/m);
      expect(screen()).not.toContain('FULL SCREEN');
      // Echo is on again: what was typed stands there as well.
      expect(screen()).toContain('echo visi""ble');
      expect(existsSync(join(directory, 'state'))).toBe(true);
    }));

  it('is given back too when it was taken behind a shell, with something else on stdin', () =>
    inTerminal(async ({ script, leg, type, screen, shows }) => {
      const full = script('full.sh', FULL_SCREEN);
      const { line } = await leg({ command: 'sh', args: ['-c', `sh ${full}; exit $?`] });
      type(`echo piped | ${line}; echo "exit $?"`, 'Enter');
      await shows('exit 137');
      type('echo visi""ble', 'Enter');
      await shows(/^visible$/m);
      expect(screen()).not.toContain('FULL SCREEN');
      expect(screen()).toContain('echo visi""ble');
    }));

  it('tells Ctrl-\\ once as well', () =>
    inTerminal(async ({ directory, script, leg, type, shows }) => {
      const path = script(
        'leg.sh',
        `trap 'echo quit >> quits; exit 131' QUIT\necho up > up\nwhile :; do sleep 0.05; done`,
      );
      const { line, end } = await leg({ command: 'sh', args: [path] });
      type(`${line}; echo "exit $?"`, 'Enter');
      await until(() => existsSync(join(directory, 'up')));
      type('C-\\');
      await shows('exit 131');
      expect(readFileSync(join(directory, 'quits'), 'utf8')).toBe('quit\n');
      expect(await end()).toMatchObject({ status: 'cancelled', reasonCode: 'run.cancelled.system' });
    }));

  it('stops and continues the command with us', () =>
    inTerminal(async ({ directory, script, leg, type, shows }) => {
      const path = script('leg.sh', `echo $$ >> pids; while ! test -e go; do sleep 0.05; done; exit 7`);
      const { line } = await leg({ command: 'sh', args: [path] });
      type(`${line}; echo "exit $?"`, 'Enter');
      await pidsIn(join(directory, 'pids'), 1);
      type('C-z');
      await shows('Stopped');
      writeFileSync(join(directory, 'go'), '');
      type('fg; echo "then $?"', 'Enter');
      await shows('then 7');
    }));

  it('leaves a stop that is sent to us to be told to the command and its helpers, and to nobody beside', () =>
    inTerminal(async ({ directory, script, leg, type, screen, shows }) => {
      const path = script('leg.sh', `sleep 60 & echo $! >> pids; echo $$ >> pids; exec sleep 60`);
      const { line, end } = await leg({ command: 'sh', args: [path] });
      // The neighbour is in the same group of processes as the leg.
      const neighbour = script('neighbour', `echo $$ >> beside; trap 'echo told' TERM; cat; echo after`);
      const outer = script('outer', `echo $$ >> wrapper; ${line.replace('sh ', 'exec sh ')}`);
      type(`sh ${outer} | sh ${neighbour}`, 'Enter');
      const pids = await pidsIn(join(directory, 'pids'), 2);
      const [wrapper] = await pidsIn(join(directory, 'wrapper'), 1);
      process.kill(wrapper!, 'SIGTERM');
      expect(await end()).toMatchObject({ status: 'cancelled', exitCode: 143 });
      await until(() => !pids.some(lives));
      await shows(/^after$/m);
      expect(screen()).not.toMatch(/^told$/m);
    }));

  it('is not touched by a leg in the background, which is not suspended for it', () =>
    inTerminal(async ({ directory, script, leg, type, shows }) => {
      const path = script('leg.sh', `echo $$ >> pids; while :; do sleep 0.05; done`);
      const { line, end } = await leg({ command: 'sh', args: [path] });
      type(`${line} &`, 'Enter');
      const [pid] = await pidsIn(join(directory, 'pids'), 1);
      process.kill(pid!, 'SIGKILL');
      expect(await end()).toMatchObject({ reasonCode: 'run.failed.exception', exitCode: 137 });
      type('wait; jobs; echo fini""shed', 'Enter');
      await shows(/^finished$/m);
    }));

  it('that is hung up stops the leg, and its end is still told', () =>
    inTerminal(async ({ directory, script, leg, type, hangUp }) => {
      const path = script('leg.sh', `echo $$ >> pids; exec sleep 60`);
      const { line, end } = await leg({ command: 'sh', args: [path] });
      type(line, 'Enter');
      const pids = await pidsIn(join(directory, 'pids'), 1);
      hangUp();
      expect(await end()).toMatchObject({
        status: 'cancelled',
        reasonCode: 'run.cancelled.system',
        exitCode: 129,
      });
      await until(() => !pids.some(lives));
    }));
});
