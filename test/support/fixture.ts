/** Programs for tests that need real processes: bundled from TypeScript, so that the oldest Node runs them. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const CACHE = join(process.cwd(), 'node_modules', '.cache');

/** The path of a program that Node can run; packages are found from where it lies. */
export const buildFixture = async (entry: string): Promise<string> => {
  mkdirSync(CACHE, { recursive: true });
  const outfile = join(mkdtempSync(join(CACHE, 'fixture-')), 'program.mjs');
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  });
  return outfile;
};

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly stdout: () => string;
  /** Throws, with what it said, when the program has ended already. */
  readonly expectAlive: () => void;
}

/** Starts a program of Node's and collects what it says. */
export const start = (
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running => {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      resolve({ code, signal, stdout, stderr });
    });
  });
  const expectAlive = () => {
    if (child.exitCode !== null) throw new Error(`it ended with exit code ${child.exitCode}: ${stderr}`);
  };
  return { child, ended, stdout: () => stdout, expectAlive };
};

/** Whether a process follows a log: it watches a directory, and has by then arranged for its interruption (Linux). */
export const follows = (pid: number | undefined): boolean =>
  readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`) === 'anon_inode:inotify';
    } catch {
      return false;
    }
  });

/** Waits until something is so; the limit only keeps a hang from lasting for ever. */
export const until = async (holds: () => boolean | Promise<boolean>, limitMs = 120_000): Promise<void> => {
  const deadline = Date.now() + limitMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('it never came to be');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
