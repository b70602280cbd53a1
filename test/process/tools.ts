/** What the tests about processes share: real processes, a leg in a program of its own, and what is left of them. */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ProcessIdentity } from '../../src/domain/processIdentity.js';
import type { LegEnd } from '../../src/process/legEnd.js';
import { identify } from '../../src/process/liveness.js';
import { buildFixture, until } from '../support/fixture.js';
import { temporaryDirectory } from '../support/temp.js';

/** A process in a group of its own, which is killed whole at the end of the test. */
export const started = (command: string, args: readonly string[], env = process.env) => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'], detached: true, env });
  onTestFinished(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // It has ended.
    }
  });
  return child;
};

export const has = (tool: string): boolean => {
  try {
    execFileSync('which', [tool], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** Not told by a signal of zero, which a zombie answers too. */
export const lives = (pid: number): boolean => identify(pid) !== null;

/** The numbers in a file that processes append their pid to, once there are that many. */
export const pidsIn = async (file: string, count: number): Promise<readonly number[]> => {
  const read = () =>
    existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number) : [];
  await until(() => read().length >= count);
  onTestFinished(() => {
    for (const pid of read()) if (lives(pid)) process.kill(pid, 'SIGKILL');
  });
  return read();
};

let program: Promise<string> | null = null;
export const legRunner = (): Promise<string> => (program ??= buildFixture('test/process/legRunner.ts'));

export interface LegOptions {
  readonly command: string;
  readonly args?: readonly string[];
  readonly timeoutMs?: number;
  readonly graceMs?: number;
  readonly watchOutput?: boolean;
}

export interface RunningLeg {
  readonly child: ChildProcess;
  /** The identity of the command, once it was told. */
  readonly command: () => Promise<ProcessIdentity>;
  readonly ended: Promise<{ readonly code: number | null; readonly end: LegEnd }>;
}

/** What `legRunner` is called with. */
export const legArguments = (report: string, options: LegOptions): string =>
  JSON.stringify({ args: [], watchOutput: false, mark: report, ...options, report });

/** Without a terminal, as under a scheduler: the program leads a session of its own. */
export const startLeg = async (options: LegOptions, stdio: StdioOptions = 'ignore'): Promise<RunningLeg> => {
  const report = join(temporaryDirectory(), 'report');
  const child = spawn(process.execPath, [await legRunner(), legArguments(report, options)], {
    stdio,
    detached: true,
  });
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  });
  const ended = new Promise<{ code: number | null; end: LegEnd }>((resolve, reject) => {
    child.once('exit', (code, signal) => {
      const end = told(report).find((line) => 'end' in line)?.end;
      if (end === undefined) reject(new Error(`the runner ended with ${code ?? signal} and told nothing`));
      else resolve({ code, end });
    });
  });
  return {
    child,
    command: async () => {
      await until(() => told(report).length > 0);
      return told(report)[0]!.started!;
    },
    ended,
  };
};

export const told = (report: string): readonly { started?: ProcessIdentity; end?: LegEnd }[] =>
  existsSync(report)
    ? readFileSync(report, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { started?: ProcessIdentity; end?: LegEnd })
    : [];
