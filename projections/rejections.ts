/** Rejections: exits from a terminal status that were refused, as the audit stream keeps them. */
import type { Actor, LedgerEvent } from '../src/domain/events.js';
import type { Status } from '../src/domain/status.js';

export interface RejectionRow {
  readonly eventId: string;
  readonly sessionId: string;
  readonly position: bigint;
  readonly at: string;
  readonly from: Status;
  readonly attempted: Status;
  readonly reasonCode: string;
  readonly source: string;
  readonly actor: Actor;
}

/** Null for any other event of the audit stream. */
export const rejectionOf = (event: LedgerEvent): RejectionRow | null => {
  if (event.type !== 'TransitionRejected') return null;
  const { sessionId, from, attempted, reasonCode, source } = event.data;
  const { eventId, position, metadata } = event;
  return {
    eventId,
    sessionId,
    position,
    at: metadata.at,
    from,
    attempted,
    reasonCode,
    source,
    actor: metadata.actor,
  };
};
