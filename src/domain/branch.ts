/** A branch: the name a person resumes by, and the sessions it was bound to, one after the other (design §2). */
import * as E from 'fp-ts/lib/Either.js';
import { parseEvent } from './events.js';
import type { RawEvent } from './events.js';

export interface BranchState {
  /** Revision of the last event of the branch's stream; -1 for a branch that nobody has seen. */
  readonly revision: number;
  /** The current session, last of the lineage; null while there is none. */
  readonly current: string | null;
  /** Every session the branch was bound to, oldest first. */
  readonly lineage: readonly string[];
}

export const unboundBranch: BranchState = { revision: -1, current: null, lineage: [] };

/** Applies one stored event; one that does not continue the lineage is irregular (its rule is returned) and binds nothing. */
export const evolveBranch = (
  branchId: string,
  state: BranchState,
  raw: RawEvent,
): { readonly state: BranchState; readonly irregular: string | null } => {
  const at = { ...state, revision: raw.revision };
  const parsed = parseEvent(raw);
  if (E.isLeft(parsed)) return { state: at, irregular: parsed.left };
  const event = parsed.right;
  if (event.type !== 'BranchBound')
    return { state: at, irregular: `${event.type} does not belong into a branch's stream` };
  const { sessionId, supersedes } = event.data;
  if (event.data.branchId !== branchId)
    return { state: at, irregular: 'it names another branch than its stream' };
  if (supersedes !== state.current)
    return {
      state: at,
      irregular: `it supersedes ${supersedes ?? 'nothing'}, the current session is ${state.current ?? 'none'}`,
    };
  return { state: { ...at, current: sessionId, lineage: [...state.lineage, sessionId] }, irregular: null };
};

export const replayBranch = (branchId: string, events: Iterable<RawEvent>): BranchState => {
  let state = unboundBranch;
  for (const event of events) state = evolveBranch(branchId, state, event).state;
  return state;
};
