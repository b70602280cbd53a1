/** The legs of a session: when each ran, how it came to be, and how it ended. */
import * as E from 'fp-ts/lib/Either.js';
import { parseEvent } from '../src/domain/events.js';
import type { Exit, RawEvent } from '../src/domain/events.js';
import type { ProcessIdentity } from '../src/domain/processIdentity.js';
import { evolve, initialState } from '../src/domain/session.js';
import type { Session } from '../src/domain/session.js';
import type { TerminalStatus } from '../src/domain/status.js';
import { isTerminal } from '../src/domain/status.js';
import { elapsed } from '../src/domain/time.js';

export interface Leg {
  readonly leg: number;
  readonly how: 'opened' | 'reopened' | 'took over';
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** Null while the leg runs, and for one that was taken over. */
  readonly status: TerminalStatus | null;
  /** How it ended; for one that was taken over, why. */
  readonly reasonCode: string | null;
  readonly exit: Exit | null;
  /** Milliseconds; null while the leg runs. */
  readonly durationMs: number | null;
  readonly process: ProcessIdentity | null;
}

export const legsOf = (sessionId: string, events: Iterable<RawEvent>): readonly Leg[] => {
  const legs: Leg[] = [];
  let state = initialState;
  for (const raw of events) {
    const evolved = evolve(sessionId, state, raw);
    const before = state.session;
    const after = evolved.state.session;
    state = evolved.state;
    if (after === null || evolved.irregular !== null) continue;
    const { change } = evolved;
    if (change !== null && isTerminal(change.to) && after.endedAt !== null)
      legs[legs.length - 1] = {
        ...(legs.at(-1) ?? started(after, 'opened')),
        endedAt: after.endedAt,
        status: change.to,
        reasonCode: change.reason.code,
        exit: change.exit,
        durationMs: change.durationMs,
      };
    else if (before === null) legs.push(started(after, 'opened'));
    else if (after.leg > before.leg) {
      if (change === null) endTakenOver(legs, raw, after.legStartedAt);
      legs.push(started(after, change === null ? 'took over' : 'reopened'));
    }
  }
  return legs;
};

const started = ({ leg, legStartedAt, process }: Session, how: Leg['how']): Leg => ({
  leg,
  how,
  startedAt: legStartedAt,
  endedAt: null,
  status: null,
  reasonCode: null,
  exit: null,
  durationMs: null,
  process,
});

/** A leg that was taken over ends when the next one begins, without a status of its own. */
const endTakenOver = (legs: Leg[], raw: RawEvent, endedAt: string): void => {
  const last = legs.at(-1);
  const parsed = parseEvent(raw);
  if (last === undefined || E.isLeft(parsed) || parsed.right.type !== 'LegTakenOver') return;
  const reasonCode = parsed.right.data.reason.code;
  legs[legs.length - 1] = { ...last, endedAt, reasonCode, durationMs: elapsed(last.startedAt, endedAt).ms };
};
