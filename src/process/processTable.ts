/** One look at all processes of this machine: who came of whom, in which group, since when. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { parseStat } from './liveness.js';

export interface Listed {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly zombie: boolean;
  /** As in a process identity: a pid with another start is another process. */
  readonly startTime: string;
}

/** Empty where the system cannot be asked. */
export const everyProcess = (): readonly Listed[] => {
  try {
    return process.platform === 'linux' ? byProc() : byPs();
  } catch {
    return [];
  }
};

const byProc = (): readonly Listed[] =>
  pidsOfProc().flatMap((pid) => {
    try {
      const stat = parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
      if (stat === null) return [];
      const { parent, group, startTime, state } = stat;
      return [{ pid, parent, group, zombie: state === 'Z' || state === 'X', startTime }];
    } catch {
      // It ended between the two looks.
      return [];
    }
  });

const pidsOfProc = (): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

const PS_BYTES = 64 * 1024 * 1024;

const byPs = (): readonly Listed[] =>
  execFileSync('/bin/ps', ['-axo', 'pid=,ppid=,pgid=,stat=,lstart='], {
    encoding: 'utf8',
    env: { LC_ALL: 'C', TZ: 'UTC' },
    maxBuffer: PS_BYTES,
  })
    .split('\n')
    .flatMap((line) => {
      const [, pid, parent, group, state = '', startTime] =
        /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line) ?? [];
      if (startTime === undefined) return [];
      return [
        {
          pid: Number(pid),
          parent: Number(parent),
          group: Number(group),
          zombie: state.startsWith('Z'),
          startTime,
        },
      ];
    });

/** Whether a process has this `NAME=value` in its environment; false where the system does not tell (not Linux). */
export const carries = (pid: number, variable: string): boolean => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(variable);
  } catch {
    return false;
  }
};
