/** What is recorded of a leg's process, and the one classifier that says whether that process still exists (design §9). */
import * as z from 'zod';

/** Where a process runs: only identities of the same host, boot and pid namespace can be compared. */
export const ProcessIdentity = z.object({
  /** `local`: the leg is this process; `in_process`: one of several legs inside it; `none`: no process stands for it. */
  mode: z.enum(['local', 'in_process', 'none']),
  pid: z.int().positive().nullable(),
  /** Linux: start ticks of /proc/<pid>/stat (field 22); macOS: start time as `ps -o lstart=` prints it in UTC. */
  startTime: z.string().nullable(),
  /** Linux: /proc/sys/kernel/random/boot_id; macOS: boot time; null where the system tells neither. */
  bootId: z.string().nullable(),
  hostId: z.string().min(1),
  pidNamespace: z.string().nullable(),
});
export type ProcessIdentity = z.infer<typeof ProcessIdentity>;

/** The facts of the place that judges. */
export type HostFacts = Pick<ProcessIdentity, 'hostId' | 'bootId' | 'pidNamespace'>;

/** What looking at one pid gave. */
export type Observation =
  | { readonly _tag: 'absent' }
  | { readonly _tag: 'denied' }
  | { readonly _tag: 'unknown'; readonly error: string }
  | {
      readonly _tag: 'present';
      readonly startTime: string | null;
      readonly zombie: boolean;
      /** The pid is a thread of another process: the number was reused. */
      readonly thread: boolean;
    };

export const VERDICTS = ['alive', 'gone', 'unverifiable', 'foreign', 'no_pid'] as const;

/** `no_pid`: recorded on this host without a pid, so nothing but its age can tell (design §9). */
export interface Verdict {
  readonly verdict: (typeof VERDICTS)[number];
  /** What was observed, against what. */
  readonly evidence: string;
}

/**
 * Judges a recorded process. `look` is asked only where the answer can mean something: same host, namespace and boot.
 * Total: every identity, also one written by somebody else, gets a verdict.
 */
export const judge = (
  recorded: ProcessIdentity | null,
  here: HostFacts,
  look: (pid: number) => Observation,
): Verdict => {
  if (recorded === null) return { verdict: 'no_pid', evidence: 'no process was recorded' };
  if (recorded.mode === 'none') return { verdict: 'foreign', evidence: 'recorded with mode none' };
  if (recorded.hostId !== here.hostId)
    return { verdict: 'foreign', evidence: `recorded on host ${recorded.hostId}, this is ${here.hostId}` };
  const { pid } = recorded;
  if (pid === null) return { verdict: 'no_pid', evidence: 'recorded on this host without a pid' };
  if (recorded.bootId !== null && here.bootId !== null && recorded.bootId !== here.bootId)
    return {
      verdict: 'gone',
      evidence: `the machine was rebooted since (boot ${recorded.bootId}, now ${here.bootId})`,
    };
  if (recorded.pidNamespace !== here.pidNamespace)
    return {
      verdict: 'foreign',
      evidence: `recorded in pid namespace ${recorded.pidNamespace ?? 'unknown'}, this is ${here.pidNamespace ?? 'unknown'}`,
    };
  return judgeObservation(pid, recorded.startTime, look(pid));
};

const judgeObservation = (pid: number, startTime: string | null, seen: Observation): Verdict => {
  switch (seen._tag) {
    case 'absent':
      return { verdict: 'gone', evidence: `no process has pid ${pid}` };
    case 'denied':
      return { verdict: 'unverifiable', evidence: `pid ${pid} exists and may not be inspected` };
    case 'unknown':
      return { verdict: 'unverifiable', evidence: `pid ${pid} could not be inspected: ${seen.error}` };
    case 'present':
      if (seen.zombie) return { verdict: 'gone', evidence: `pid ${pid} is a zombie` };
      if (seen.thread) return { verdict: 'gone', evidence: `pid ${pid} is now a thread of another process` };
      if (startTime === null || seen.startTime === null)
        return { verdict: 'unverifiable', evidence: `pid ${pid} exists, its start time is not known` };
      if (startTime !== seen.startTime)
        return {
          verdict: 'gone',
          evidence: `pid ${pid} was given to another process (started ${seen.startTime}, recorded ${startTime})`,
        };
      return { verdict: 'alive', evidence: `pid ${pid} exists and started at ${startTime}` };
  }
};

/**
 * Judges a leg by its process and, where that one is gone, by the command it had started: a child that still works
 * keeps its leg alive.
 */
export const judgeLeg = (
  process: ProcessIdentity | null,
  child: ProcessIdentity | null,
  here: HostFacts,
  look: (pid: number) => Observation,
): Verdict => {
  const own = judge(process, here, look);
  if (own.verdict !== 'gone' || child === null) return own;
  const ofChild = judge(child, here, look);
  if (ofChild.verdict === 'alive' || ofChild.verdict === 'unverifiable')
    return { verdict: 'alive', evidence: `orphaned child: ${ofChild.evidence}; ${own.evidence}` };
  return own;
};
