/** From how a command ended, and who asked it to stop, to the status of its leg (pure). */
import { constants } from 'node:os';
import type { Exit } from '../domain/events.js';
import type { TerminalStatus } from '../domain/status.js';

export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

export interface LegEnd {
  readonly status: TerminalStatus;
  readonly reasonCode: string;
  readonly reasonSummary: string;
  readonly exit: Exit | null;
  /** What session-ledger itself exits with. */
  readonly exitCode: number;
  /** session-ledger was asked to stop: then nothing is tried again. */
  readonly stopRequested: boolean;
}

export interface StopRequest {
  readonly signal: StopSignal;
  /** Ctrl-C, or its kin, typed at the terminal that the command is in the foreground of. */
  readonly atTerminal: boolean;
}

const numberOf = (signal: string): number =>
  (constants.signals as Readonly<Record<string, number>>)[signal] ?? 0;

/**
 * `stops` are those that session-ledger was asked for, oldest first; without one, a signal that ended the command was
 * not ours and is a failure. A command that handled the signal is judged by its own exit code.
 */
export const judgeEnd = (exit: Exit, stops: readonly StopRequest[], silent: boolean): LegEnd => {
  const { code, signal } = exit;
  const common = { exit, stopRequested: stops.length > 0 };
  const obeyed = stopThatEnded(exit, stops);
  if (obeyed !== undefined) return { ...common, ...stopped(obeyed) };
  if (signal !== null)
    return {
      ...common,
      status: 'failed',
      reasonCode: 'run.failed.exception',
      reasonSummary: `killed by ${signal}`,
      exitCode: 128 + numberOf(signal),
    };
  if (code === 0)
    return silent
      ? {
          ...common,
          status: 'completed_empty',
          reasonCode: 'run.completed_empty.no_evidence',
          reasonSummary: 'exit code 0, no output',
          exitCode: 0,
        }
      : {
          ...common,
          status: 'completed',
          reasonCode: 'run.completed.ok',
          reasonSummary: 'exit code 0',
          exitCode: 0,
        };
  return {
    ...common,
    status: 'failed',
    reasonCode: 'run.failed.exit_nonzero',
    reasonSummary: `exit code ${code ?? 'unknown'}`,
    exitCode: code ?? 1,
  };
};

/** Signals by which a command ends that is stopped, the hard way too; any other one is a crash, whatever was asked. */
const ENDING: ReadonlySet<string> = new Set(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGKILL']);

/** The stop that the command died of, or says so by the code that a shell gives; the first one when it died of another signal. */
const stopThatEnded = ({ code, signal }: Exit, stops: readonly StopRequest[]): StopRequest | undefined =>
  stops.find((stop) => (signal === null ? code === 128 + numberOf(stop.signal) : signal === stop.signal)) ??
  (signal !== null && ENDING.has(signal) ? stops[0] : undefined);

/** Whether it ended as by a stop. */
export const looksStopped = (exit: Exit): boolean =>
  STOP_SIGNALS.some((signal) => exit.signal === signal || exit.code === 128 + numberOf(signal));

const stopped = ({
  signal,
  atTerminal,
}: StopRequest): Pick<LegEnd, 'status' | 'reasonCode' | 'reasonSummary' | 'exitCode'> => {
  const exitCode = 128 + numberOf(signal);
  const reasonSummary = `stopped by ${signal}${atTerminal ? ' at the terminal' : ''}`;
  if (signal === 'SIGINT' && atTerminal)
    return { status: 'aborted', reasonCode: 'run.aborted.user', reasonSummary, exitCode };
  const cause = signal === 'SIGINT' ? 'sigint' : signal === 'SIGTERM' ? 'sigterm' : 'system';
  return { status: 'cancelled', reasonCode: `run.cancelled.${cause}`, reasonSummary, exitCode };
};

/** The stop came before the command was started, and it is not started any more. */
export const stoppedBeforeStart = (stop: StopRequest): LegEnd => ({
  ...stopped(stop),
  exit: null,
  stopRequested: true,
});

/** `left` are processes that the system did not let us end. */
export const timedOut = (
  exit: Exit | null,
  timeoutMs: number,
  left: readonly number[],
  stopRequested: boolean,
): LegEnd => ({
  status: 'timed_out',
  reasonCode: 'run.timed_out.deadline',
  reasonSummary: `no end within ${timeoutMs / 1000} s${left.length === 0 ? '' : `; still there: pid ${left.join(', ')}`}`,
  exit,
  exitCode: 124,
  stopRequested,
});

/** A command that could not be started; the shell's exit codes for "not found" and "not executable". */
export const notStarted = (command: string, error: NodeJS.ErrnoException): LegEnd => {
  const words: Readonly<Record<string, string>> = {
    // A script that names an interpreter that is not there is told the same way by the system.
    ENOENT: `command not found: ${command}${command.includes('/') ? ' (or the interpreter that it names)' : ''}`,
    EACCES: `not executable: ${command}`,
    E2BIG:
      'an argument or variable is longer than 131071 bytes, or all of them are more than the system takes',
    ERR_INVALID_ARG_VALUE: 'an argument or variable contains a NUL character',
  };
  return {
    status: 'failed',
    reasonCode: 'run.failed.spawn',
    reasonSummary: words[error.code ?? ''] ?? `could not be started: ${error.message}`,
    exit: null,
    exitCode: error.code === 'ENOENT' ? 127 : 126,
    stopRequested: false,
  };
};
