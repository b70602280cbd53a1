/** The fold state of a session as the read model keeps it: JSON, with the one bigint it may hold as text. */
import type { SessionState } from '../domain/session.js';

export const encodeState = (state: SessionState): string => {
  const { unexplainedExit, ...rest } = state;
  const exit =
    unexplainedExit === null ? null : { ...unexplainedExit, position: String(unexplainedExit.position) };
  return JSON.stringify({ ...rest, unexplainedExit: exit });
};

export const decodeState = (text: string): SessionState => {
  const state = JSON.parse(text) as SessionState & {
    readonly unexplainedExit: { readonly position: unknown } | null;
  };
  const { unexplainedExit } = state;
  if (unexplainedExit === null) return state;
  return { ...state, unexplainedExit: { ...unexplainedExit, position: BigInt(unexplainedExit.position) } };
};
