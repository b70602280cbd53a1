/** Terminal envelopes, and the notices that each of them owes (design §8). */
import { envelopeOf } from '../src/domain/envelope.js';
import type { Envelope } from '../src/domain/envelope.js';
import { intentKey } from '../src/domain/events.js';
import type { NotifyIntent } from '../src/domain/events.js';
import { notifyConsumerOf } from '../src/domain/ids.js';
import type { Session, StatusChange } from '../src/domain/session.js';

export interface Announcement {
  readonly envelope: Envelope;
  readonly position: bigint;
  readonly notices: readonly { readonly consumer: string; readonly intent: NotifyIntent }[];
}

/** `session` is the state after the change; null when the change is not to a terminal status. */
export const announcementOf = (session: Session, change: StatusChange): Announcement | null => {
  const envelope = envelopeOf(session, change);
  if (envelope === null) return null;
  const notices = session.notify.map((intent) => ({
    consumer: notifyConsumerOf(session.sessionId, intentKey(intent)),
    intent,
  }));
  return { envelope, position: change.position, notices };
};
