/** The processes that came of one process, by the tree of parents. */
import { everyProcess } from './processTable.js';
import type { Listed } from './processTable.js';

/** The roots that are listed and whatever came of them, parents before their children; never this program (pure but for that). */
export const treesOf = (roots: ReadonlySet<number>, table: readonly Listed[]): readonly Listed[] => {
  const children = new Map<number, Listed[]>();
  for (const listed of table) {
    const siblings = children.get(listed.parent);
    if (siblings === undefined) children.set(listed.parent, [listed]);
    else siblings.push(listed);
  }
  const others = (listed: Listed) => listed.pid !== process.pid;
  const found = new Set(table.filter(({ pid }) => roots.has(pid)).filter(others));
  // A set that grows while it is walked: each member is visited once.
  for (const { pid } of found) for (const child of (children.get(pid) ?? []).filter(others)) found.add(child);
  return [...found];
};

/** Pids of the living children, their children and so on; not the process itself. */
export const descendantsOf = (root: number): readonly number[] =>
  treesOf(new Set([root]), everyProcess())
    .filter(({ pid, zombie }) => pid !== root && !zombie)
    .map(({ pid }) => pid);

/** The process and those that came of it, as far as they are in this program's own process group. */
export const inOurGroup = (root: number): readonly number[] => {
  const table = everyProcess();
  const ours = table.find(({ pid }) => pid === process.pid)?.group;
  const descendants = treesOf(new Set([root]), table).filter(
    ({ pid, group, zombie }) => pid !== root && group === ours && !zombie,
  );
  return [root, ...descendants.map(({ pid }) => pid)];
};
