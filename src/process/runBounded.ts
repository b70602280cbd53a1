/** Runs a notify command: its own group, text on stdin, a time limit for all that came of it, its words kept short. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { endTree } from './endTree.js';
import { identify } from './liveness.js';
import { tell } from './signalProcess.js';
import { inputOf, outputPipe } from './streams.js';

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
  const input = inputOf(options.stdin);
  const errors = outputPipe();
  let child: ChildProcess;
  try {
    child = spawn(command, args, {
      env: { ...options.env },
      stdio: [input ?? 'pipe', 'ignore', errors?.theirs ?? 'pipe'],
      detached: true,
    });
  } catch (error) {
    errors?.ours.destroy();
    return notStarted(error as NodeJS.ErrnoException);
  } finally {
    for (const fd of [input, errors?.theirs]) if (fd != null) closeSync(fd);
  }
  const { pid } = child;
  const identity = pid === undefined ? null : identify(pid);
  const stderr = collect(errors?.ours ?? child.stderr);
  // A command need not read what it is given.
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
  if (first === 'limit' && pid !== undefined) {
    const roots = identity === null ? [] : [identity];
    await endTree(roots, { graceMs: KILL_AFTER_MS, groups: [pid], mark: options.mark });
    // Where the system does not show its processes, nothing was found to be ended.
    if (child.exitCode === null && child.signalCode === null) tell(pid, 'SIGKILL');
    child.unref();
  }
  const said = await stderr();
  child.stdin?.destroy();
  if (first === 'limit') return { _tag: 'timed_out', stderr: said };
  return first._tag === 'exited' ? { ...first, stderr: said } : first;
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
const collect = (from: Readable | null): (() => Promise<Buffer>) => {
  if (from === null) return () => Promise.resolve(Buffer.alloc(0));
  const chunks: Buffer[] = [];
  let bytes = 0;
  from.on('data', (chunk: Buffer) => {
    if (bytes < STDERR_BYTES) chunks.push(chunk.subarray(0, STDERR_BYTES - bytes));
    bytes += chunk.length;
  });
  const closed = new Promise<void>((resolve) => from.once('close', resolve));
  return async () => {
    await Promise.race([closed, delay(DRAIN_MS, undefined, { ref: false })]);
    from.destroy();
    return Buffer.concat(chunks);
  };
};
