/** Runs a leg's command: it gets the terminal and our signals, ends in time with all that came of it, and is judged. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Exit } from '../domain/events.js';
import type { ProcessIdentity } from '../domain/processIdentity.js';
import { carriersOf, descendantsOf, endAll, signal } from './descendants.js';
import { judgeEnd, notStarted, stoppedBeforeStart, timedOut } from './legEnd.js';
import type { LegEnd, StopRequest } from './legEnd.js';
import { identify } from './liveness.js';
import { after } from './longTimer.js';
import type { Stops } from './stops.js';
import { hasTerminal, rememberTerminal } from './terminal.js';

export interface RunLegOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A `NAME=value` pair of `env` that no other run has: whatever came of this one is recognised by it. */
  readonly mark: string;
  readonly timeoutMs?: number;
  /** Between SIGTERM and SIGKILL at the end of the time. */
  readonly graceMs?: number;
  /** Stdout goes through this program, which notices whether there was any. */
  readonly watchOutput: boolean;
  readonly stops: Stops;
  readonly onStarted: (child: ProcessIdentity) => void;
}

const GRACE_MS = 5_000;
/** Output that a command left in the pipe is read for so long after its exit; a background child may hold the pipe for ever. */
const DRAIN_MS = 100;

export const runLeg = async (options: RunLegOptions): Promise<LegEnd> => {
  const { command, args, env, timeoutMs, stops } = options;
  const asked = stops.first();
  if (asked !== null) return stoppedBeforeStart(asked);
  const shared = hasTerminal();
  const giveBack = rememberTerminal();
  let child: ChildProcess;
  try {
    child = spawn(command, args, {
      env: { ...env },
      stdio: ['inherit', options.watchOutput ? 'pipe' : 'inherit', 'inherit'],
      detached: !shared,
    });
  } catch (error) {
    return notStarted(command, error as NodeJS.ErrnoException);
  }
  const output = passOn(child);
  const release = stops.onStop((request) => {
    forward(child, shared, request);
  });
  const clock = makeClock(child, options);
  try {
    const ended = await exitOf(child, options.onStarted);
    clock.stop();
    if (ended instanceof Error) return notStarted(command, ended);
    await output.drained();
    await clock.ended();
    if (ended.signal !== null || clock.expired()) giveBack();
    if (clock.expired()) return timedOut(ended, timeoutMs ?? 0, stops.first() !== null);
    return judgeEnd(ended, stops.first(), options.watchOutput && output.bytes() === 0);
  } finally {
    release();
  }
};

/** Decided on `exit`: `close` waits for whoever holds the pipes. */
const exitOf = (
  child: ChildProcess,
  onStarted: (identity: ProcessIdentity) => void,
): Promise<Exit | NodeJS.ErrnoException> =>
  new Promise((resolve) => {
    child.once('error', resolve);
    child.once('spawn', () => {
      const identity = child.pid === undefined ? null : identify(child.pid);
      if (identity !== null) onStarted(identity);
    });
    child.once('exit', (code, signalName) => {
      resolve({ code, signal: signalName });
    });
  });

const passOn = (child: ChildProcess) => {
  const { stdout } = child;
  let bytes = 0;
  stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    // A reader that has gone away is no reason to stop the leg; what it says is then only counted.
    if (process.stdout.writable && !process.stdout.write(chunk)) stdout.pause();
  });
  const resume = () => stdout?.resume();
  process.stdout.on('drain', resume).on('close', resume);
  const ended = new Promise<void>((resolve) => {
    if (stdout === null) resolve();
    else stdout.once('close', resolve);
  });
  return {
    bytes: () => bytes,
    drained: async (): Promise<void> => {
      if (stdout === null) return;
      await Promise.race([ended, delay(DRAIN_MS, undefined, { ref: false })]);
      stdout.destroy();
      process.stdout.off('drain', resume).off('close', resume);
    },
  };
};

/** Ours are the command's: told to its group when it has one, to itself when it shares ours. */
const forward = (child: ChildProcess, shared: boolean, { signal: name, atTerminal }: StopRequest): void => {
  if (child.pid === undefined || atTerminal) return;
  signal(shared ? child.pid : -child.pid, name);
};

/** Ends the command and everything that came of it when its time is over. */
const makeClock = (child: ChildProcess, { timeoutMs, graceMs = GRACE_MS, mark }: RunLegOptions) => {
  let expired = false;
  let ending: Promise<void> = Promise.resolve();
  const stop =
    timeoutMs === undefined
      ? () => undefined
      : after(timeoutMs, () => {
          const { pid } = child;
          if (pid === undefined) return;
          expired = true;
          // What left the tree is found by the mark it inherited.
          ending = endAll(() => [...new Set([pid, ...descendantsOf(pid), ...carriersOf(mark)])], graceMs);
        });
  return {
    expired: () => expired,
    ended: () => ending,
    stop,
  };
};
