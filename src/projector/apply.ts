/** Applies a page of the log to the tables by the folds of projections/. Runs inside one transaction. */
import * as E from 'fp-ts/lib/Either.js';
import { evolveDelivery } from '../../projections/deliveries.js';
import { announcementOf } from '../../projections/envelopes.js';
import { overrideOf } from '../../projections/overrides.js';
import { rejectionOf } from '../../projections/rejections.js';
import { evolveBranch } from '../domain/branch.js';
import type { BranchState } from '../domain/branch.js';
import { parseEvent } from '../domain/events.js';
import type { RawEvent } from '../domain/events.js';
import { Id, streamKind } from '../domain/ids.js';
import { evolve } from '../domain/session.js';
import type { SessionState } from '../domain/session.js';
import type { Tables } from './tables.js';

/** Each session and branch is read and stored once a page, however many of its events are in it. */
export const applyPage = (tables: Tables, events: readonly RawEvent[]): void => {
  const sessions = new Map<string, SessionState>();
  const branches = new Map<string, BranchState>();
  for (const event of events) {
    const kind = streamKind(event.stream);
    switch (kind._tag) {
      case 'session':
        if (Id.safeParse(kind.id).success)
          sessions.set(
            kind.id,
            applyToSession(tables, kind.id, sessions.get(kind.id) ?? tables.session(kind.id), event),
          );
        else tables.addIrregular(event, 'its stream has no session id');
        break;
      case 'branch': {
        const evolved = evolveBranch(kind.id, branches.get(kind.id) ?? tables.branch(kind.id), event);
        branches.set(kind.id, evolved.state);
        if (evolved.irregular !== null) tables.addIrregular(event, evolved.irregular);
        break;
      }
      case 'consumer':
        applyToConsumer(tables, kind.id, event);
        break;
      case 'audit':
        applyToAudit(tables, event);
        break;
      case 'other':
        break;
    }
  }
  for (const [sessionId, state] of sessions) tables.saveSession(sessionId, state);
  for (const [branchId, state] of branches) tables.saveBranch(branchId, state);
};

const applyToSession = (
  tables: Tables,
  sessionId: string,
  before: SessionState,
  event: RawEvent,
): SessionState => {
  const { state, irregular, redeems, change } = evolve(sessionId, before, event);
  if (irregular !== null) tables.addIrregular(event, irregular);
  if (redeems !== null && before.unexplainedExit !== null)
    tables.removeIrregular(before.unexplainedExit.position);
  const { session } = state;
  if (change === null || session === null) return state;
  const override = overrideOf(session, change, event.position);
  if (override !== null) tables.addOverride(override);
  const announcement = announcementOf(session, change);
  if (announcement !== null) tables.announce(sessionId, announcement);
  return state;
};

const applyToConsumer = (tables: Tables, consumer: string, event: RawEvent): void => {
  const { change, irregular } = evolveDelivery(
    consumer,
    (envelopeId) => tables.delivery(consumer, envelopeId),
    event,
  );
  if (irregular !== null) tables.addIrregular(event, irregular);
  if (change !== null) tables.saveDelivery(consumer, change.envelopeId, change.delivery);
};

const applyToAudit = (tables: Tables, event: RawEvent): void => {
  const parsed = parseEvent(event);
  const rejection = E.isRight(parsed) ? rejectionOf(parsed.right) : null;
  if (rejection !== null) tables.addRejection(rejection);
  else
    tables.addIrregular(
      event,
      E.isLeft(parsed) ? parsed.left : `${event.type} does not belong into the audit stream`,
    );
};
