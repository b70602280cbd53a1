/** Runs a notify command: its own group, text on stdin, a time limit for all that came of it, its words kept short. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { carriersOf, descendantsOf, endAll } from './descendants.js';

export interface BoundedOptions {
  readonly stdin: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeLimitMs: number;
  /** A `NAME=value` pair of `env` that no other process has. */
  readonly mark: string;
}

export type BoundedEnd =
  | {
      readonly _tag: 'exited';
      readonly code: number | null;
      readonly signal: string | null;
      readonly stderr: Buffer;
    }
  | { readonly _tag: 'timed_out'; readonly stderr: Buffer }
  | {
      readonly _tag: 'not_started';
      readonly problem: 'not_found' | 'not_executable' | 'too_large' | 'invalid';
      readonly message: string;
    };

export type RunBounded = (
  command: string,
  args: readonly string[],
  options: BoundedOptions,
) => Promise<BoundedEnd>;

/** The longest argument or variable that Linux takes, its closing NUL not counted. */
export const LONGEST_ARGUMENT = 131_071;

const KILL_AFTER_MS = 1_000;
const DRAIN_MS = 50;
const STDERR_BYTES = 65_536;

export const runBounded: RunBounded = async (command, args, options) => {
  if (args.some((arg) => Buffer.byteLength(arg) > LONGEST_ARGUMENT))
    return {
      _tag: 'not_started',
      problem: 'too_large',
      message: `an argument is longer than ${LONGEST_ARGUMENT} bytes`,
    };
  let child: ChildProcess;
  try {
    child = spawn(command, args, {
      env: { ...options.env },
      stdio: ['pipe', 'ignore', 'pipe'],
      detached: true,
    });
  } catch (error) {
    return notStarted(error as NodeJS.ErrnoException);
  }
  const stderr = collect(child);
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(options.stdin);
  const exited = new Promise<BoundedEnd>((resolve) => {
    child.once('error', (error) => {
      resolve(notStarted(error));
    });
    child.once('exit', (code, signal) => {
      resolve({ _tag: 'exited', code, signal, stderr: Buffer.alloc(0) });
    });
  });
  const stop = new AbortController();
  const limit = delay(options.timeLimitMs, 'limit' as const, { signal: stop.signal }).catch(
    () => 'limit' as const,
  );
  const first = await Promise.race([exited, limit]);
  stop.abort();
  if (first === 'limit') {
    const { pid } = child;
    if (pid !== undefined)
      await endAll(
        () => [...new Set([pid, ...descendantsOf(pid), ...carriersOf(options.mark)])],
        KILL_AFTER_MS,
      );
    return { _tag: 'timed_out', stderr: await stderr() };
  }
  return first._tag === 'exited' ? { ...first, stderr: await stderr() } : first;
};

const notStarted = (error: NodeJS.ErrnoException): BoundedEnd => {
  const { code } = error;
  const problem =
    code === 'ENOENT'
      ? 'not_found'
      : code === 'EACCES'
        ? 'not_executable'
        : code === 'E2BIG'
          ? 'too_large'
          : 'invalid';
  const message =
    code === 'E2BIG' ? 'arguments and environment are larger than the system takes' : error.message;
  return { _tag: 'not_started', problem, message };
};

/** The beginning of what the command says; a background child that holds the pipe does not hold the result. */
const collect = (child: ChildProcess): (() => Promise<Buffer>) => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const { stderr } = child;
  stderr?.on('data', (chunk: Buffer) => {
    if (bytes < STDERR_BYTES) chunks.push(chunk.subarray(0, STDERR_BYTES - bytes));
    bytes += chunk.length;
  });
  const closed = new Promise<void>((resolve) => {
    if (stderr === null) resolve();
    else stderr.once('close', resolve);
  });
  return async () => {
    await Promise.race([closed, delay(DRAIN_MS, undefined, { ref: false })]);
    stderr?.destroy();
    return Buffer.concat(chunks);
  };
};
