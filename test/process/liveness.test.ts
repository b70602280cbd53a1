import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judge } from '../../src/domain/processIdentity.js';
import { hostFacts, identify, isPid, observe, parseStat, selfIdentity } from '../../src/process/liveness.js';
import { signalProcess } from '../../src/process/signalProcess.js';
import { until } from '../support/fixture.js';
import { temporaryDirectory } from '../support/temp.js';
import { lives, started } from './tools.js';

const aThread = (): number =>
  execFileSync('ls', [`/proc/${process.pid}/task`], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map(Number)
    .find((tid) => tid !== process.pid)!;

/** The shell's child has ended, and nobody reaps it: the shell has become a sleep. */
const aZombie = async () => {
  const shell = started('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60']);
  const pid = await new Promise<number>((resolve) =>
    shell.stdout.once('data', (line: Buffer) => resolve(Number(line.toString()))),
  );
  const identity = identify(pid)!;
  await until(() => {
    const seen = observe(pid);
    return seen._tag === 'present' && seen.zombie;
  });
  return identity;
};

describe('looking at a process', () => {
  it('finds this one alive, and itself the same each time', () => {
    const self = selfIdentity('local');
    expect(self).toMatchObject({ mode: 'local', pid: process.pid, ...hostFacts() });
    expect(judge(self, hostFacts(), observe)).toMatchObject({ verdict: 'alive' });
    expect(selfIdentity('local')).toEqual(self);
  });

  it('finds one that ended gone, and one with another start recycled', async () => {
    const child = started('sleep', ['60']);
    const identity = identify(child.pid!)!;
    expect(judge(identity, hostFacts(), observe).verdict).toBe('alive');
    expect(judge({ ...identity, startTime: `${identity.startTime}0` }, hostFacts(), observe)).toMatchObject({
      verdict: 'gone',
      evidence: expect.stringMatching(/another process/) as string,
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    expect(judge(identity, hostFacts(), observe)).toMatchObject({ verdict: 'gone' });
    expect(identify(child.pid!)).toBeNull();
  });

  it('finds a zombie gone', async () => {
    expect(judge(await aZombie(), hostFacts(), observe)).toMatchObject({
      verdict: 'gone',
      evidence: expect.stringMatching(/zombie/) as string,
    });
  });

  it('is not misled by a name, by a thread, or by what is no pid', async () => {
    const directory = temporaryDirectory();
    const strange = join(directory, ') R 1 (');
    copyFileSync('/bin/sleep', strange);
    const child = started(strange, ['60']);
    await until(() => readFileSync(`/proc/${child.pid}/stat`, 'latin1').includes(') R 1 ('));
    expect(observe(child.pid!)).toMatchObject({ _tag: 'present', zombie: false, thread: false });
    expect(parseStat('1 (a) b) S 7 8 9 0 10')).toBeNull();
    const thread = aThread();
    expect(observe(thread)).toMatchObject({ _tag: 'present', thread: true });
    expect(identify(thread)).toBeNull();
    for (const wrong of [0, -1, 1.5, Number.NaN, 4_194_305]) {
      expect(isPid(wrong)).toBe(false);
      expect(observe(wrong)._tag).toBe('unknown');
    }
  });

  it('reads the fields of /proc whatever a process calls itself', () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        const rest = `S 7 8 9 10 11 ${'0 '.repeat(13)}4242 0 0`;
        expect(parseStat(`1 (${name}) ${rest}`)).toEqual({
          state: 'S',
          parent: 7,
          group: 8,
          foreground: 11,
          startTime: '4242',
        });
      }),
    );
  });

  it('from inside another pid namespace finds the recorded one foreign', ({ skip }) => {
    let inside: string;
    try {
      inside = execFileSync('unshare', ['-p', '-f', '--mount-proc', 'readlink', '/proc/self/ns/pid'], {
        encoding: 'utf8',
      }).trim();
    } catch {
      console.warn('SKIPPED: this machine does not let us make a pid namespace');
      return skip();
    }
    expect(inside).not.toBe(hostFacts().pidNamespace);
    expect(judge({ ...selfIdentity('local'), pidNamespace: inside }, hostFacts(), observe).verdict).toBe(
      'foreign',
    );
  });
});

describe('a signal to a recorded process', () => {
  it('reaches it', async () => {
    const child = started('sleep', ['60']);
    const ended = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
    expect(signalProcess(identify(child.pid!)!, 'SIGTERM')).toEqual({ _tag: 'sent' });
    expect(await ended).toBe('SIGTERM');
  });

  it('never reaches the one that was given its number', async () => {
    const child = started('sleep', ['60']);
    const recycled = { ...identify(child.pid!)!, startTime: '1' };
    expect(signalProcess(recycled, 'SIGKILL')).toMatchObject({ _tag: 'gone' });
    expect(signalProcess({ ...recycled, startTime: null }, 'SIGKILL')).toMatchObject({ _tag: 'refused' });
    expect(lives(child.pid!)).toBe(true);
    expect(signalProcess(await aZombie(), 'SIGKILL')).toMatchObject({
      _tag: 'gone',
      evidence: expect.stringMatching(/zombie/) as string,
    });
  });

  it('is refused to this program, to pid 1, to other machines and boots, and where no process stands for the leg', () => {
    const self = selfIdentity('local');
    const refused = (identity: typeof self) => signalProcess(identity, 'SIGTERM')._tag;
    expect(refused(self)).toBe('refused');
    const first = observe(1);
    if (first._tag === 'present')
      expect(refused({ ...self, pid: 1, startTime: first.startTime })).toBe('refused');
    const child = identify(started('sleep', ['60']).pid!)!;
    expect(refused({ ...child, hostId: 'another' })).toBe('refused');
    expect(refused({ ...child, pidNamespace: 'pid:[1]' })).toBe('refused');
    expect(refused({ ...child, mode: 'none' })).toBe('refused');
    expect(refused({ ...child, pid: null })).toBe('refused');
    expect(refused({ ...child, bootId: 'another' })).toBe('gone');
    expect(lives(child.pid!)).toBe(true);
  });
});
