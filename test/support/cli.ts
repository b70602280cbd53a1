/** The built program, run as a user runs it, in a state directory of its own. */
import { spawn } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import type { Ended } from './fixture.js';
import { temporaryDirectory } from './temp.js';

export const PROGRAM = resolve('dist/cli.js');

export interface Cli {
  readonly directory: string;
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly run: (...args: readonly string[]) => Promise<Ended>;
  /** Runs with --json, expects exit 0 and gives what was printed. */
  readonly json: <A = Record<string, unknown>>(...args: readonly string[]) => Promise<A>;
  readonly start: (
    args: readonly string[],
    options?: SpawnOptions,
  ) => { readonly child: ChildProcess; readonly ended: Promise<Ended>; readonly stdout: () => string };
}

export const cli = (directory = temporaryDirectory()): Cli => {
  const stateDir = join(directory, 'state');
  const env = {
    ...process.env,
    SESSION_LEDGER_STATE_DIR: stateDir,
    XDG_CONFIG_HOME: join(directory, 'config'),
    SESSION_LEDGER_SESSION_ID: undefined,
  };
  const start: Cli['start'] = (args, options = {}) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], {
      cwd: directory,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...options,
    });
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const ended = new Promise<Ended>((done, fail) => {
      child.once('error', fail);
      child.once('close', (code, signal) => {
        done({ code, signal, stdout, stderr });
      });
    });
    return { child, ended, stdout: () => stdout };
  };
  const run: Cli['run'] = (...args) => start(args).ended;
  return {
    directory,
    stateDir,
    env,
    run,
    start,
    json: async <A>(...args: readonly string[]) => {
      const { code, stdout, stderr } = await run('--json', ...args);
      expect([code, stderr]).toEqual([0, '']);
      return JSON.parse(stdout) as A;
    },
  };
};
