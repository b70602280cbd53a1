/** The statuses of a session and the one policy over them (design §2): out of a terminal status only by override. */
import * as z from 'zod';

export const TERMINAL_STATUSES = [
  'completed',
  'completed_empty',
  'failed',
  'timed_out',
  'aborted',
  'cancelled',
] as const;

export const STATUSES = ['running', ...TERMINAL_STATUSES] as const;

export const Status = z.enum(STATUSES);
export type Status = z.infer<typeof Status>;

export const TerminalStatus = z.enum(TERMINAL_STATUSES);
export type TerminalStatus = z.infer<typeof TerminalStatus>;

export const isTerminal = (status: Status): status is TerminalStatus => status !== 'running';

/** Whether the work ended well: what `wait` and `run` answer with exit 0. */
export const endedWell = (status: Status): boolean => status === 'completed' || status === 'completed_empty';
