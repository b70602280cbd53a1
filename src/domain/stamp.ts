/** Turns what was decided into an event to append: identity, time and author are put on it, and it is checked once more. */
import { DATA_SCHEMAS, EventMetadata, SCHEMA_VERSION } from './events.js';
import type { Actor, Draft, NewEvent } from './events.js';

export interface Stamp {
  readonly eventId: string;
  /** The writer's clock as an ISO-8601 UTC time: informative, never used to order. */
  readonly at: string;
  readonly actor: Actor;
  readonly correlationId?: string | undefined;
  readonly causationId?: string | undefined;
}

/**
 * Writes a draft as an event. Throws a ZodError when the draft does not fit its own schema, which only a defect in
 * this program can cause: whatever a caller gives is checked before anything is decided.
 */
export const stamp = (draft: Draft, { eventId, at, actor, correlationId, causationId }: Stamp): NewEvent => ({
  eventId,
  type: draft.type,
  data: JSON.stringify(DATA_SCHEMAS[draft.type].parse(draft.data)),
  metadata: JSON.stringify(
    EventMetadata.parse({
      schemaVersion: SCHEMA_VERSION,
      at,
      actor,
      ...(correlationId === undefined ? {} : { correlationId }),
      ...(causationId === undefined ? {} : { causationId }),
    }),
  ),
});
