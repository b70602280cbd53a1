/** From how a command ended, and who asked it to stop, to the status of its leg (pure). */
import { constants } from 'node:os';
import type { Exit } from '../domain/events.js';
import type { TerminalStatus } from '../domain/status.js';

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGQUIT';

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
 * `stop` is the first stop that session-ledger was asked for; without one, a signal that ended the command was not
 * ours and is a failure. A command that handled the signal is judged by its own exit code.
 */
export const judgeEnd = (exit: Exit, stop: StopRequest | null, silent: boolean): LegEnd => {
  const { code, signal } = exit;
  const common = { exit, stopRequested: stop !== null };
  if (stop !== null && endedBy(exit, stop.signal)) return { ...common, ...stopped(stop) };
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

/** Died of a signal after we were asked to stop, or said so by the code that a shell gives. */
const endedBy = ({ code, signal }: Exit, asked: StopSignal): boolean =>
  signal !== null
    ? signal === asked || signal === 'SIGTERM' || signal === 'SIGKILL'
    : code === 128 + numberOf(asked);

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

export const timedOut = (exit: Exit | null, timeoutMs: number, stopRequested: boolean): LegEnd => ({
  status: 'timed_out',
  reasonCode: 'run.timed_out.deadline',
  reasonSummary: `no end within ${timeoutMs / 1000} s`,
  exit,
  exitCode: 124,
  stopRequested,
});

/** A command that could not be started; the shell's exit codes for "not found" and "not executable". */
export const notStarted = (command: string, error: NodeJS.ErrnoException): LegEnd => {
  const words: Readonly<Record<string, string>> = {
    ENOENT: `command not found: ${command}`,
    EACCES: `not executable: ${command}`,
    E2BIG: 'an argument or variable is longer than the system takes (131071 bytes)',
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
