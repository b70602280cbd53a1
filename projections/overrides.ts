/** Overrides: every exit from a terminal status, with who and why. */
import type { Actor } from '../src/domain/events.js';
import type { Session, StatusChange } from '../src/domain/session.js';
import type { Status } from '../src/domain/status.js';

export interface OverrideRow {
  /** Id, revision and position are those of the `TransitionOverridden`. */
  readonly eventId: string;
  readonly sessionId: string;
  readonly branchId: string;
  readonly revision: number;
  readonly position: bigint;
  readonly at: string;
  readonly leg: number;
  readonly from: Status;
  readonly to: Status;
  readonly reasonCode: string;
  /** Whom the override names. */
  readonly actor: string;
  readonly justification: string;
  readonly pruned: boolean;
  /** Who gave the command. */
  readonly recordedBy: Actor;
}

/** Null for a change that needed no override. `position` is that of the event that explained the change. */
export const overrideOf = (session: Session, change: StatusChange, position: bigint): OverrideRow | null =>
  change.override === null
    ? null
    : {
        eventId: change.override.eventId,
        sessionId: session.sessionId,
        branchId: session.branchId,
        revision: change.override.revision,
        position,
        at: change.at,
        leg: change.leg,
        from: change.from,
        to: change.to,
        reasonCode: change.reason.code,
        actor: change.override.actor,
        justification: change.override.justification,
        pruned: false,
        recordedBy: change.actor,
      };
