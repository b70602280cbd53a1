import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { descendantsOf } from '../../src/process/descendants.js';
import { endTree } from '../../src/process/endTree.js';
import { identify } from '../../src/process/liveness.js';
import { until } from '../support/fixture.js';
import { temporaryDirectory } from '../support/temp.js';
import { lives, pidsIn, started } from './tools.js';

/** Ignores SIGTERM, and tells its pid in a file. */
const stubborn = (file: string) => `sh -c 'trap "" TERM; echo $$ >> ${file}; while :; do sleep 0.05; done'`;

describe('ending a tree of processes', () => {
  it('asks first, kills what does not go, and leaves the rest of the world alone', async () => {
    const bystander = started('sleep', ['60']);
    const tree = started('sh', [
      '-c',
      'trap "" TERM; sh -c "sleep 60 & sleep 60" & echo up; while :; do sleep 0.05; done',
    ]);
    await new Promise((resolve) => tree.stdout.once('data', resolve));
    await until(() => descendantsOf(tree.pid!).length >= 3);
    expect(await endTree([identify(tree.pid!)!], { graceMs: 200 })).toEqual([]);
    expect(descendantsOf(tree.pid!)).toEqual([]);
    expect(lives(tree.pid!)).toBe(false);
    expect(lives(bystander.pid!)).toBe(true);
  });

  it('gives a process the time to end by itself', async () => {
    const file = join(temporaryDirectory(), 'last');
    const tree = started('sh', [
      '-c',
      `trap 'sleep 0.3; echo words > ${file}; exit' TERM; echo up; while :; do sleep 0.05; done`,
    ]);
    await new Promise((resolve) => tree.stdout.once('data', resolve));
    expect(await endTree([identify(tree.pid!)!], { graceMs: 60_000 })).toEqual([]);
    expect(readFileSync(file, 'utf8')).toBe('words\n');
  });

  it('never touches a process that was given the number of one that ended', async () => {
    const child = started('sh', ['-c', 'sleep 60 & sleep 60']);
    await until(() => descendantsOf(child.pid!).length === 2);
    const recycled = { ...identify(child.pid!)!, startTime: '1' };
    expect(await endTree([recycled], { graceMs: 0 })).toEqual([]);
    expect(lives(child.pid!)).toBe(true);
    expect(descendantsOf(child.pid!)).toHaveLength(2);
  });

  it('loses nobody whose parents end first, with nothing left that tells where it came from', async () => {
    const file = join(temporaryDirectory(), 'pids');
    const tree = started('sh', ['-c', `env -i setsid ${stubborn(file)} & exec sleep 60`]);
    const [survivor] = await pidsIn(file, 1);
    expect(await endTree([identify(tree.pid!)!], { graceMs: 300 })).toEqual([]);
    expect(lives(survivor!)).toBe(false);
  });

  it('finds by its group who lost its parents before, and by its mark who left the group as well', async () => {
    const file = join(temporaryDirectory(), 'pids');
    const tree = started(
      'sh',
      [
        '-c',
        `(env -i ${stubborn(file)} &) ; (setsid ${stubborn(file)} &) ; (env -i setsid sh -c 'echo $$ >> ${file}; exec sleep 60' &) ; exec sleep 60`,
      ],
      { ...process.env, MARK: file },
    );
    const pids = await pidsIn(file, 3);
    // The third has left tree and group and has no mark: nothing tells that it came of here.
    await endTree([identify(tree.pid!)!], { graceMs: 100, groups: [tree.pid!], mark: `MARK=${file}` });
    expect(pids.filter(lives)).toHaveLength(1);
    expect(lives(tree.pid!)).toBe(false);
  });
});
