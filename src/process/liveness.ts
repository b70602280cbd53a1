/** What this machine tells of itself and of one pid: the eyes of the classifier in src/domain/processIdentity.ts. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { HostFacts, Observation, ProcessIdentity } from '../domain/processIdentity.js';

/** Above Linux's largest pid; a larger number, 0 or a negative one means a group or everybody to kill(2). */
const MAX_PID = 4_194_304;

export const isPid = (pid: number): boolean => Number.isInteger(pid) && pid >= 1 && pid <= MAX_PID;

let facts: HostFacts | null = null;

/** Cached: none of it changes while a process lives. */
export const hostFacts = (): HostFacts => {
  facts ??= process.platform === 'darwin' ? darwinFacts() : linuxFacts();
  return facts;
};

/** Machine ids are cloned along with disk images, so the host's name is part of it: a doubt is told as foreign. */
const hostIdFrom = (machineId: string): string =>
  createHash('sha256').update(`${machineId}\0${hostname()}`).digest('hex').slice(0, 32);

const linuxFacts = (): HostFacts => ({
  // An image for many machines holds an empty one, or the word "uninitialized" (machine-id(5)).
  hostId: hostIdFrom(
    ['/etc/machine-id', '/var/lib/dbus/machine-id']
      .map(readText)
      .find((id) => id !== null && /^[0-9a-f]{32}$/.test(id)) ?? '',
  ),
  bootId: readText('/proc/sys/kernel/random/boot_id'),
  pidNamespace: attempt(() => readlinkSync('/proc/self/ns/pid')),
});

const darwinFacts = (): HostFacts => {
  const registry = attempt(() => tool('/usr/sbin/ioreg', ['-rd1', '-c', 'IOPlatformExpertDevice'])) ?? '';
  return {
    hostId: hostIdFrom(/"IOPlatformUUID" = "([^"]+)"/.exec(registry)?.[1] ?? ''),
    // Not kern.boottime, which moves whenever the clock is set: a living leg would seem to be of another boot.
    bootId: attempt(() => tool('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid']).trim() || null),
    pidNamespace: null,
  };
};

const attempt = <A>(read: () => A): A | null => {
  try {
    return read();
  } catch {
    return null;
  }
};

const readText = (path: string): string | null => attempt(() => readFileSync(path, 'utf8').trim());

const tool = (path: string, args: readonly string[]): string =>
  execFileSync(path, args, {
    encoding: 'utf8',
    env: { LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });

/** Looks at one pid. Never throws; what cannot be told is `unknown`, which counts as alive. */
export const observe = (pid: number): Observation => {
  if (!isPid(pid)) return { _tag: 'unknown', error: `${pid} is not a pid` };
  const seen = look(pid);
  // It may have begun between the two looks at it; what stays is hidden from us.
  return seen._tag === 'denied' ? look(pid) : seen;
};

const look = (pid: number): Observation =>
  process.platform === 'linux' ? observeByProc(pid) : observeByPs(pid);

const observeByProc = (pid: number): Observation => {
  try {
    const stat = parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
    if (stat === null) return { _tag: 'unknown', error: `/proc/${pid}/stat does not read as expected` };
    const group = /^Tgid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return {
      _tag: 'present',
      startTime: stat.startTime,
      zombie: stat.state === 'Z' || stat.state === 'X',
      thread: group !== undefined && Number(group) !== pid,
    };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return bySignal(pid);
    if (code === 'EACCES' || code === 'EPERM') return { _tag: 'denied' };
    return { _tag: 'unknown', error: message };
  }
};

/** Fields of proc(5): 3 state, 5 process group, 8 foreground group, 22 start. The name before them may hold anything. */
export const parseStat = (
  stat: string,
): {
  readonly state: string;
  readonly group: number;
  readonly foreground: number;
  readonly parent: number;
  readonly startTime: string;
} | null => {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group] = fields;
  const foreground = fields[5];
  const startTime = fields[19];
  if (state === undefined || startTime === undefined || !/^\d+$/.test(startTime)) return null;
  return { state, parent: Number(parent), group: Number(group), foreground: Number(foreground), startTime };
};

/** Without an entry in /proc: gone, or hidden from us. */
const bySignal = (pid: number): Observation => {
  try {
    process.kill(pid, 0);
    return { _tag: 'denied' };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH') return { _tag: 'absent' };
    return code === 'EPERM' ? { _tag: 'denied' } : { _tag: 'unknown', error: message };
  }
};

const observeByPs = (pid: number): Observation => {
  const line = attempt(() => tool('/bin/ps', ['-o', 'stat=,lstart=', '-p', String(pid)]).trim()) ?? '';
  const [, state = '', startTime] = /^(\S+)\s+(.+)$/.exec(line) ?? [];
  if (startTime === undefined) return bySignal(pid);
  return { _tag: 'present', startTime, zombie: state.startsWith('Z'), thread: false };
};

/** The identity of a living process of this machine; null when there is none that may be inspected. */
export const identify = (pid: number, mode: 'local' | 'in_process' = 'local'): ProcessIdentity | null => {
  const seen = observe(pid);
  if (seen._tag !== 'present' || seen.zombie || seen.thread) return null;
  return { mode, pid, startTime: seen.startTime, ...hostFacts() };
};

/** This process. Where the system tells no start time, it is recorded without one and never judged gone by it. */
export const selfIdentity = (mode: 'local' | 'in_process'): ProcessIdentity =>
  identify(process.pid, mode) ?? { mode, pid: process.pid, startTime: null, ...hostFacts() };

/** For a leg that no process stands for. */
export const noProcess = (): ProcessIdentity => ({
  mode: 'none',
  pid: null,
  startTime: null,
  ...hostFacts(),
});
