/** Runs a leg's command: it gets the terminal and our signals, ends in time with all that came of it, and is judged. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Exit } from '../domain/events.js';
import type { ProcessIdentity } from '../domain/processIdentity.js';
import { inOurGroup } from './descendants.js';
import { endTree } from './endTree.js';
import { judgeEnd, looksStopped, notStarted, stoppedBeforeStart, timedOut } from './legEnd.js';
import type { LegEnd } from './legEnd.js';
import { identify } from './liveness.js';
import { after } from './longTimer.js';
import { passOn } from './output.js';
import { tell } from './signalProcess.js';
import type { Stops } from './stops.js';
import { outputPipe } from './streams.js';
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
/** Between a stop that ended the command and the same stop for us. */
const BEHIND_MS = 200;

export const runLeg = async (options: RunLegOptions): Promise<LegEnd> => {
  const { command, args, env, timeoutMs = 0, watchOutput, stops, onStarted } = options;
  const [asked] = stops.asked();
  if (asked !== undefined) return stoppedBeforeStart(asked);
  const shared = hasTerminal();
  const giveBack = rememberTerminal();
  const pipe = watchOutput ? outputPipe() : null;
  let child: ChildProcess;
  try {
    child = spawn(command, args, {
      env: { ...env },
      stdio: ['inherit', pipe?.theirs ?? (watchOutput ? 'pipe' : 'inherit'), 'inherit'],
      detached: !shared,
    });
  } catch (error) {
    pipe?.ours.destroy();
    return notStarted(command, error as NodeJS.ErrnoException);
  } finally {
    if (pipe !== null) closeSync(pipe.theirs);
  }
  const stdout = pipe?.ours ?? child.stdout;
  const output = stdout === null ? null : passOn(stdout);
  const identity = child.pid === undefined ? null : identify(child.pid);
  const exited = exitOf(child);
  const clock = makeClock(child, identity, shared, options);
  const releases = [
    stops.onStop((request) => {
      if (!request.atTerminal) forward(child, shared, request.signal);
    }),
    stops.onUser(() => {
      // Not a stop: whoever works for the command would die of it.
      if (child.pid !== undefined && runs(child)) tell(child.pid, 'SIGUSR2');
    }),
  ];
  try {
    if (identity !== null) onStarted(identity);
    const ended = await Promise.race([exited, clock.gaveUp]);
    clock.stop();
    await output?.drained();
    if (ended instanceof Error) return notStarted(command, ended);
    const left = await clock.ending();
    if (clock.expired() || cutShort(ended)) giveBack();
    if (ended === null || clock.expired()) return timedOut(ended, timeoutMs, left, stops.asked().length > 0);
    if (stops.asked().length === 0 && looksStopped(ended)) await nextStop(stops);
    return judgeEnd(ended, stops.asked(), output?.bytes() === 0);
  } finally {
    for (const release of releases) release();
  }
};

/** A terminal or a service manager tells all of us, one after the other: the command may have died of it before we know. */
const nextStop = (stops: Stops): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      release();
      clearTimeout(timer);
      resolve();
    };
    const release = stops.onStop(done);
    const timer = setTimeout(done, BEHIND_MS);
  });

/** Decided on `exit`: `close` waits for whoever holds the pipes. */
const exitOf = (child: ChildProcess): Promise<Exit | NodeJS.ErrnoException> =>
  new Promise((resolve) => {
    child.once('error', resolve);
    child.once('exit', (code, signal) => {
      resolve({ code, signal });
    });
  });

/** Died of a signal, or says so by the code that a shell gives: the screen is then as it was in the middle of the work. */
const cutShort = (ended: Exit | null): boolean =>
  ended === null || ended.signal !== null || (ended.code ?? 0) > 128;

const runs = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

/** Our stop is the command's: told to its group, which in ours is the command and what came of it there. */
const forward = (child: ChildProcess, shared: boolean, signal: NodeJS.Signals): void => {
  const { pid } = child;
  if (pid === undefined || !runs(child)) return;
  for (const target of shared ? inOurGroup(pid) : [-pid]) tell(target, signal);
};

/** Ends the command and everything that came of it when its time is over. */
const makeClock = (
  child: ChildProcess,
  identity: ProcessIdentity | null,
  shared: boolean,
  { timeoutMs, graceMs = GRACE_MS, mark }: RunLegOptions,
) => {
  let ending: Promise<readonly number[]> | null = null;
  let giveUp: (nothing: null) => void = () => undefined;
  const gaveUp = new Promise<null>((resolve) => (giveUp = resolve));
  const end = async (pid: number): Promise<readonly number[]> => {
    const groups = shared ? [] : [pid];
    const left = await endTree(identity === null ? [] : [identity], { graceMs, groups, mark });
    if (!runs(child)) return left;
    // Where the system does not show its processes, nothing was found to be ended.
    tell(pid, 'SIGKILL');
    if (left.includes(pid)) {
      child.unref();
      giveUp(null);
    }
    return left;
  };
  const stop =
    timeoutMs === undefined
      ? () => undefined
      : after(timeoutMs, () => {
          if (child.pid !== undefined) ending = end(child.pid);
        });
  return {
    stop,
    expired: () => ending !== null,
    /** Who could not be ended. */
    ending: () => ending ?? Promise.resolve([]),
    /** When the command itself is not to be ended, its end is not waited for. */
    gaveUp,
  };
};
