/** What a use case answers: outcomes are values, and so are the errors (design §5). */
import type { Current } from '../domain/decide.js';
import type { Status } from '../domain/status.js';
import type { LogUnavailable } from '../log/port.js';

/** The command was carried out, or (observing) there was nothing to write beside a leg that lives. */
export interface Done {
  readonly outcome: 'applied' | 'observing' | 'taken_over';
  readonly sessionId: string;
  readonly branchId: string;
  /** The current leg of the session afterwards. */
  readonly leg: number;
  readonly from: Status | null;
  readonly to: Status;
  readonly changed: boolean;
  readonly revision: number;
  readonly eventIds: readonly string[];
}

/** Something that the caller pinned is not so any more; nothing was written. */
export interface Conflict {
  readonly outcome: 'conflict';
  readonly why: string;
  /** Null when the stream holds events but no session. */
  readonly current: Current | null;
}

/** An exit from a terminal status without an override; recorded on the audit stream. */
export interface Rejected {
  readonly outcome: 'rejected';
  readonly current: Current;
}

export type Outcome = Done | Conflict | Rejected;

export type LedgerError =
  | { readonly _tag: 'Invalid'; readonly problems: readonly string[] }
  | { readonly _tag: 'NotFound'; readonly sessionId: string; readonly pruned: boolean }
  | LogUnavailable;

/** Says in words what happened, to what, and what to do. */
export const describeLedgerError = (error: LedgerError): string => {
  switch (error._tag) {
    case 'Invalid':
      return error.problems.join('; ');
    case 'NotFound':
      return error.pruned
        ? `session ${error.sessionId} was pruned: resume its branch to start a new session on it`
        : `there is no session ${error.sessionId}: see \`session-ledger list\``;
    case 'LogUnavailable':
      return error.message;
  }
};
