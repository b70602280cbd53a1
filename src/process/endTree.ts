/** Ends processes with all that came of them: asked first, killed after a grace time, nobody else touched. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessIdentity } from '../domain/processIdentity.js';
import { treesOf } from './descendants.js';
import { carries, everyProcess } from './processTable.js';
import type { Listed } from './processTable.js';
import { tell } from './signalProcess.js';

export interface EndTreeOptions {
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** Process groups that belong to the tree whole: members whose parents have ended are found by them. */
  readonly groups?: readonly number[];
  /** A `NAME=value` that only what came of the roots has in its environment: what left tree and group is found by it. */
  readonly mark?: string;
}

const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 100;
/** One that the system does not let go (stuck in a device) is not waited for without end. */
const STUCK_MS = 5_000;

/**
 * Roots are identities of this machine. Whoever was found once stays known by pid and start, also when its parents end
 * before it, so that neither a survivor is lost nor a process hit that was given its number. Answers who could not be ended.
 */
export const endTree = async (
  roots: readonly Pick<ProcessIdentity, 'pid' | 'startTime'>[],
  { graceMs, groups = [], mark }: EndTreeOptions,
): Promise<readonly number[]> => {
  const known = new Map<number, string>();
  for (const { pid, startTime } of roots)
    // What came of pid 1 is everybody.
    if (pid !== null && pid > 1 && startTime !== null) known.set(pid, startTime);
  const alive = new Set(groups);
  const asked = new Map<number, string>();
  const beginning = performance.now();
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const left = members(known, alive, mark);
    const late = performance.now() - beginning - graceMs;
    const refused = left.filter(({ pid, startTime }) => {
      if (late < 0 && asked.get(pid) === startTime) return false;
      asked.set(pid, startTime);
      return !tell(pid, late < 0 ? 'SIGTERM' : 'SIGKILL');
    });
    if (left.length === 0) return [];
    if (late >= 0 && (refused.length === left.length || late > STUCK_MS)) return left.map(({ pid }) => pid);
    await delay(Math.max(FIRST_PAUSE_MS, late < 0 ? Math.min(pause, -late) : pause));
  }
};

/** Who lives of the tree now; remembers them. */
const members = (
  known: Map<number, string>,
  groups: Set<number>,
  mark: string | undefined,
): readonly Listed[] => {
  const table = everyProcess();
  for (const group of groups) {
    const inGroup = table.filter((listed) => listed.group === group && !listed.zombie);
    // A group that is empty is over, and its number free to be given to others.
    if (inGroup.length === 0) groups.delete(group);
    for (const { pid, startTime } of inGroup) known.set(pid, startTime);
  }
  if (mark !== undefined)
    for (const { pid, startTime } of table) if (carries(pid, mark)) known.set(pid, startTime);
  const roots = table.filter(({ pid, startTime }) => known.get(pid) === startTime);
  const found = treesOf(new Set(roots.map(({ pid }) => pid)), table).filter(({ zombie }) => !zombie);
  for (const { pid, startTime } of found) known.set(pid, startTime);
  return found;
};
