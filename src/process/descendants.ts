/** The processes that came of one process, and their end: asked first, killed after a grace time, none left over. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { observe, parseStat } from './liveness.js';

interface Seen {
  readonly pid: number;
  readonly parent: number;
  readonly zombie: boolean;
}

const everyProcess = (): readonly Seen[] =>
  process.platform === 'darwin' ? everyProcessByPs() : everyProcessByProc();

const everyProcessByProc = (): readonly Seen[] =>
  readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = parseStat(readFileSync(`/proc/${name}/stat`, 'latin1'));
      return stat === null ? [] : [{ pid: Number(name), parent: stat.parent, zombie: stat.state === 'Z' }];
    } catch {
      return [];
    }
  });

const everyProcessByPs = (): readonly Seen[] =>
  execFileSync('/bin/ps', ['-axo', 'pid=,ppid=,stat='], { encoding: 'utf8', env: { LC_ALL: 'C' } })
    .split('\n')
    .flatMap((line) => {
      const [, pid, parent, state] = /^\s*(\d+)\s+(\d+)\s+(\S+)/.exec(line) ?? [];
      return state === undefined
        ? []
        : [{ pid: Number(pid), parent: Number(parent), zombie: state.startsWith('Z') }];
    });

/** Pids of the living children, their children and so on; not the process itself, and never this program. */
export const descendantsOf = (root: number): readonly number[] => {
  const children = new Map<number, Seen[]>();
  for (const seen of everyProcess()) {
    const siblings = children.get(seen.parent);
    if (siblings === undefined) children.set(seen.parent, [seen]);
    else siblings.push(seen);
  }
  const found: number[] = [];
  const queue = [root];
  for (let pid = queue.shift(); pid !== undefined; pid = queue.shift())
    for (const child of children.get(pid) ?? []) {
      queue.push(child.pid);
      if (!child.zombie && child.pid !== process.pid) found.push(child.pid);
    }
  return found;
};

/** Processes that carry this variable in their environment: what left its parents behind is found by it (Linux only). */
export const carriersOf = (variable: string): readonly number[] => {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      const variables = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
      return variables.includes(variable) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
};

const LOOK_EVERY_MS = 20;
const STUCK_MS = 5_000;

/**
 * Ends what `find` finds, again and again until it finds nothing: SIGTERM at once, SIGKILL to what is still there after
 * the grace time. Each process is told once, and remembered with its start, so that a recycled pid is not.
 */
export const endAll = async (find: () => readonly number[], graceMs: number): Promise<void> => {
  const asked = new Map<number, string | null>();
  const deadline = Date.now() + graceMs;
  for (;;) {
    const left = find().filter((pid) => pid !== process.pid && living(pid) !== undefined);
    // One that the system does not let go (stuck in a device) is not waited for without end.
    if (left.length === 0 || Date.now() > deadline + STUCK_MS) return;
    const late = Date.now() >= deadline;
    for (const pid of left) {
      const startTime = living(pid);
      if (startTime === undefined) continue;
      if (late) signal(pid, 'SIGKILL');
      else if (asked.get(pid) !== startTime) {
        asked.set(pid, startTime);
        signal(pid, 'SIGTERM');
      }
    }
    await delay(LOOK_EVERY_MS);
  }
};

/** The start time of a process that still runs; undefined when it does not. */
const living = (pid: number): string | null | undefined => {
  const seen = observe(pid);
  return seen._tag === 'present' && !seen.zombie ? seen.startTime : undefined;
};

export const signal = (pid: number, name: NodeJS.Signals): boolean => {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
};
