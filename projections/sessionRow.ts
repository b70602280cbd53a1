/** The row: the projected current state of a session (design §7). */
import type { Actor } from '../src/domain/events.js';
import type { Json } from '../src/domain/json.js';
import type { ProcessIdentity } from '../src/domain/processIdentity.js';
import type { SessionState } from '../src/domain/session.js';
import type { Status } from '../src/domain/status.js';

export interface SessionRow {
  readonly sessionId: string;
  readonly branchId: string;
  readonly status: Status;
  readonly leg: number;
  readonly legCount: number;
  /** Of the first leg; never changes. How long the session has been running is asked of `legStartedAt`. */
  readonly startedAt: string;
  readonly legStartedAt: string;
  /** Null while running. */
  readonly endedAt: string | null;
  readonly updatedAt: string;
  readonly lastActivityAt: string;
  readonly reasonCode: string;
  readonly reasonSummary: string;
  readonly actor: Actor;
  readonly process: ProcessIdentity | null;
  readonly metadata: Json;
  readonly overrideCount: number;
  readonly irregularCount: number;
  readonly revision: number;
}

/** Null for a stream in which no session was opened. */
export const rowOf = ({ session, irregularCount, revision }: SessionState): SessionRow | null =>
  session === null
    ? null
    : {
        sessionId: session.sessionId,
        branchId: session.branchId,
        status: session.status,
        leg: session.leg,
        // Legs are numbered 1, 2, 3 … and every one of them is counted.
        legCount: session.leg,
        startedAt: session.startedAt,
        legStartedAt: session.legStartedAt,
        endedAt: session.endedAt,
        updatedAt: session.updatedAt,
        lastActivityAt: session.lastActivityAt,
        reasonCode: session.reason.code,
        reasonSummary: session.reason.summary,
        actor: session.actor,
        process: session.process,
        metadata: session.metadata,
        overrideCount: session.overrideCount,
        irregularCount,
        revision,
      };
