/** The fold of one consumer's stream: how far each envelope has got with it. */
import * as E from 'fp-ts/lib/Either.js';
import { parseEvent } from '../src/domain/events.js';
import type { RawEvent } from '../src/domain/events.js';
import type { ProcessIdentity } from '../src/domain/processIdentity.js';

export interface DeliveryState {
  readonly state: 'attempting' | 'failed' | 'delivered' | 'parked';
  readonly attempts: number;
  /** The process of an attempt that has no result yet. */
  readonly owner: ProcessIdentity | null;
  readonly lastError: string | null;
}

export type Deliveries = ReadonlyMap<string, DeliveryState>;

export interface DeliveryChange {
  readonly envelopeId: string;
  readonly delivery: DeliveryState;
}

/**
 * Applies one event to the state of the envelope that it names. `irregular` says why an event is none of a
 * consumer's; what is delivered stays delivered, whatever a late attempt reports.
 */
export const evolveDelivery = (
  consumer: string,
  stateOf: (envelopeId: string) => DeliveryState | null,
  raw: RawEvent,
): { readonly change: DeliveryChange | null; readonly irregular: string | null } => {
  const parsed = parseEvent(raw);
  if (E.isLeft(parsed)) return { change: null, irregular: parsed.left };
  const event = parsed.right;
  switch (event.type) {
    case 'EnvelopeAttempted':
    case 'EnvelopeDelivered':
    case 'EnvelopeFailed':
    case 'EnvelopeParked':
      break;
    default:
      return { change: null, irregular: `${event.type} does not belong into a consumer's stream` };
  }
  const { envelopeId, attempt } = event.data;
  if (event.data.consumer !== consumer)
    return { change: null, irregular: 'it names another consumer than its stream' };
  const before = stateOf(envelopeId);
  if (before?.state === 'delivered') return { change: null, irregular: null };
  // A late failure says nothing of the attempt that has been made since; a late delivery is one.
  if (before !== null && attempt < before.attempts && event.type !== 'EnvelopeDelivered')
    return { change: null, irregular: null };
  const attempts = Math.max(before?.attempts ?? 0, attempt);
  const delivery = ((): DeliveryState => {
    switch (event.type) {
      case 'EnvelopeAttempted':
        return {
          state: 'attempting',
          attempts,
          owner: event.data.process,
          lastError: before?.lastError ?? null,
        };
      case 'EnvelopeDelivered':
        return { state: 'delivered', attempts, owner: null, lastError: null };
      case 'EnvelopeFailed':
        return { state: 'failed', attempts, owner: null, lastError: event.data.error };
      case 'EnvelopeParked':
        return { state: 'parked', attempts, owner: null, lastError: event.data.error };
    }
  })();
  return { change: { envelopeId, delivery }, irregular: null };
};

export const foldDeliveries = (consumer: string, events: Iterable<RawEvent>): Deliveries => {
  const deliveries = new Map<string, DeliveryState>();
  for (const raw of events) {
    const { change } = evolveDelivery(consumer, (envelopeId) => deliveries.get(envelopeId) ?? null, raw);
    if (change !== null) deliveries.set(change.envelopeId, change.delivery);
  }
  return deliveries;
};
