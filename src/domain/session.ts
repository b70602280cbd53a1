/**
 * The state of one session and `evolve`, the one fold over its stream (design §3, §4).
 *
 * The fold believes its own previous status and never an event's claim: an event that the rules would not have
 * allowed is irregular, changes nothing but the count of irregular events, and says which rule it breaks.
 */
import * as E from 'fp-ts/lib/Either.js';
import { intentKey, parseEvent } from './events.js';
import type {
  Actor,
  ClosingData,
  Correlation,
  EventData,
  Exit,
  LedgerEvent,
  NotifyIntent,
  Override,
  RawEvent,
  Reason,
  ReopeningData,
} from './events.js';
import { envelopeIdOf } from './ids.js';
import { mergeMetadata } from './json.js';
import type { Json } from './json.js';
import type { ProcessIdentity } from './processIdentity.js';
import { isTerminal } from './status.js';
import type { Status } from './status.js';

/** A session as its regular events made it. */
export interface Session {
  readonly sessionId: string;
  readonly branchId: string;
  readonly status: Status;
  readonly leg: number;
  /** When the first leg started; never changes. */
  readonly startedAt: string;
  /** When the current leg started. */
  readonly legStartedAt: string;
  /** Null exactly while the status is `running`. */
  readonly endedAt: string | null;
  readonly updatedAt: string;
  readonly lastActivityAt: string;
  readonly reason: Reason;
  readonly actor: Actor;
  readonly process: ProcessIdentity | null;
  /** The command that the current leg's process started. */
  readonly child: ProcessIdentity | null;
  readonly metadata: Json;
  readonly correlation: Correlation;
  readonly overrideCount: number;
  /** Intents of the legs that the next terminal envelope ends: since the last reopening, one of a kind. */
  readonly notify: readonly NotifyIntent[];
  /** The reason code that ended the session, while it is ended: what decides whether a sweep only inferred it. */
  readonly endedBy: string | null;
  /** The envelope of the current terminal status. */
  readonly envelopeId: string | null;
}

export interface SessionState {
  /** Null until a regular `SessionOpened`. */
  readonly session: Session | null;
  /** Revision of the last event, regular or not; -1 for an empty stream. */
  readonly revision: number;
  readonly irregularCount: number;
  /** After a prune's claim the session accepts nothing but the prune's own end (design §10). */
  readonly pruneClaimed: boolean;
  /** An exit from a terminal status whose override must be the very next event; irregular until it is. */
  readonly unexplainedExit: LedgerEvent | null;
}

export const initialState: SessionState = {
  session: null,
  revision: -1,
  irregularCount: 0,
  pruneClaimed: false,
  unexplainedExit: null,
};

/** A projected change of the status: the only thing that an envelope can come of. */
export interface StatusChange {
  readonly _tag: 'StatusChange';
  readonly from: Status;
  readonly to: Status;
  /** Position and revision of the `StatusChanged` itself, also when its override made it count. */
  readonly revision: number;
  readonly position: bigint;
  readonly eventId: string;
  readonly at: string;
  readonly leg: number;
  readonly reason: Reason;
  readonly actor: Actor;
  readonly override: (Override & { readonly eventId: string; readonly revision: number }) | null;
  readonly exit: Exit | null;
  readonly durationMs: number | null;
  readonly artifacts: readonly string[];
  /** The envelope that this change corrects. */
  readonly corrects: string | null;
}

export interface Evolution {
  readonly state: SessionState;
  /** Set when the event is irregular: the rule it breaks, in words. */
  readonly irregular: string | null;
  /** Set when the event made the irregular exit before it regular: that exit's revision. */
  readonly redeems: number | null;
  readonly change: StatusChange | null;
}

/** Applies one stored event of the session's stream. Total; pure; never throws. */
export const evolve = (sessionId: string, state: SessionState, raw: RawEvent): Evolution => {
  const parsed = parseEvent(raw);
  const at = { ...state, revision: raw.revision, unexplainedExit: null };
  if (E.isLeft(parsed)) return irregular(at, parsed.left);
  const event = parsed.right;
  if (!('sessionId' in event.data) || event.data.sessionId !== sessionId)
    return irregular(at, 'it names another session than its stream');
  if (state.pruneClaimed) return irregular(at, 'the session is being pruned and accepts no further event');
  return state.session === null ? open(at, event) : apply(at, state, state.session, event);
};

/** Replays a whole stream. */
export const replay = (sessionId: string, events: Iterable<RawEvent>): SessionState => {
  let state = initialState;
  for (const event of events) state = evolve(sessionId, state, event).state;
  return state;
};

const irregular = (state: SessionState, rule: string): Evolution => ({
  state: { ...state, irregularCount: state.irregularCount + 1 },
  irregular: rule,
  redeems: null,
  change: null,
});

const regular = (state: SessionState, session: Session, more: Partial<Evolution> = {}): Evolution => ({
  state: { ...state, session },
  irregular: null,
  redeems: null,
  change: null,
  ...more,
});

const open = (state: SessionState, event: LedgerEvent): Evolution => {
  if (event.type !== 'SessionOpened') return irregular(state, 'the session was never opened');
  const { data, metadata } = event;
  const session: Session = {
    sessionId: data.sessionId,
    branchId: data.branchId,
    status: 'running',
    leg: data.leg,
    startedAt: metadata.at,
    legStartedAt: metadata.at,
    endedAt: null,
    updatedAt: metadata.at,
    lastActivityAt: metadata.at,
    reason: data.reason,
    actor: metadata.actor,
    process: data.process,
    child: null,
    metadata: data.metadata,
    correlation: data.correlation,
    overrideCount: 0,
    notify: distinctIntents(data.notify),
    endedBy: null,
    envelopeId: null,
  };
  return regular(state, session);
};

const apply = (at: SessionState, before: SessionState, session: Session, event: LedgerEvent): Evolution => {
  const { metadata } = event;
  const touched: Session = { ...session, updatedAt: metadata.at, actor: metadata.actor };
  switch (event.type) {
    case 'SessionOpened':
      return irregular(at, 'the session was already opened');
    case 'StatusChanged':
      return changeStatus(at, session, event, event.data);
    case 'TransitionOverridden':
      return explainExit(at, before.unexplainedExit, session, event, event.data);
    case 'ReasonAppended':
      if (event.data.status !== session.status)
        return irregular(at, `it claims the status ${event.data.status}, which is ${session.status}`);
      return regular(at, { ...touched, reason: event.data.reason });
    case 'LegTakenOver':
      return takeOver(at, session, touched, event.data, metadata.at);
    case 'ActivityRecorded':
      if (session.status !== 'running')
        return irregular(at, `activity of a session that is ${session.status}`);
      if (event.data.leg !== session.leg) return irregular(at, wrongLeg(event.data.leg, session.leg));
      return regular(at, {
        ...session,
        updatedAt: metadata.at,
        lastActivityAt: metadata.at,
        child: event.data.child ?? session.child,
      });
    case 'SessionPruneClaimed':
      if (!isTerminal(session.status)) return irregular(at, 'a prune claimed a running session');
      return regular({ ...at, pruneClaimed: true }, touched);
    default:
      return irregular(at, `${event.type} does not belong into a session's stream`);
  }
};

const wrongLeg = (named: number, current: number): string =>
  `it names leg ${named}, the current leg is ${current}`;

const changeStatus = (
  at: SessionState,
  session: Session,
  event: LedgerEvent,
  data: ClosingData | ReopeningData,
): Evolution => {
  if (data.from !== session.status)
    return irregular(at, `it claims the status was ${data.from}, which was ${session.status}`);
  if (data.to === session.status) return irregular(at, `the status was ${session.status} already`);
  const leg = data.to === 'running' ? session.leg + 1 : session.leg;
  if (data.leg !== leg) return irregular(at, wrongLeg(data.leg, session.leg));
  if (!isTerminal(session.status)) return transitioned(at, session, event, data, null);
  const exit = irregular(at, `an exit from the terminal status ${session.status} without its override`);
  return { ...exit, state: { ...exit.state, unexplainedExit: event } };
};

const explainExit = (
  at: SessionState,
  exit: LedgerEvent | null,
  session: Session,
  event: LedgerEvent,
  data: EventData<'TransitionOverridden'>,
): Evolution => {
  if (exit === null || exit.type !== 'StatusChanged')
    return irregular(at, 'an override without the transition it explains before it');
  if (data.from !== exit.data.from || data.to !== exit.data.to)
    return irregular(
      at,
      `an override from ${data.from} to ${data.to} after a transition from ${exit.data.from} to ${exit.data.to}`,
    );
  const override = { ...data.override, eventId: event.eventId, revision: event.revision };
  const redeemed = { ...at, irregularCount: at.irregularCount - 1 };
  return { ...transitioned(redeemed, session, exit, exit.data, override), redeems: exit.revision };
};

const transitioned = (
  state: SessionState,
  session: Session,
  event: LedgerEvent,
  data: ClosingData | ReopeningData,
  override: StatusChange['override'],
): Evolution => {
  const { at, actor } = event.metadata;
  const common = {
    status: data.to,
    reason: data.reason,
    actor,
    updatedAt: at,
    overrideCount: session.overrideCount + (override === null ? 0 : 1),
  };
  const next: Session =
    data.to === 'running'
      ? {
          ...session,
          ...common,
          leg: data.leg,
          legStartedAt: at,
          lastActivityAt: at,
          endedAt: null,
          process: data.process,
          child: null,
          metadata: mergeMetadata(session.metadata, data.metadata),
          notify: distinctIntents(data.notify),
          endedBy: null,
          envelopeId: null,
        }
      : {
          ...session,
          ...common,
          endedAt: data.endedAt,
          endedBy: data.reason.code,
          envelopeId: envelopeIdOf(session.sessionId, event.revision),
        };
  const closing = data.to === 'running' ? null : data;
  const change: StatusChange = {
    _tag: 'StatusChange',
    from: session.status,
    to: data.to,
    revision: event.revision,
    position: event.position,
    eventId: event.eventId,
    at,
    leg: data.leg,
    reason: data.reason,
    actor,
    override,
    exit: closing?.exit ?? null,
    durationMs: closing?.durationMs ?? null,
    artifacts: closing?.artifacts ?? [],
    corrects: closing === null ? null : session.envelopeId,
  };
  return regular(state, next, { change });
};

const takeOver = (
  at: SessionState,
  session: Session,
  touched: Session,
  data: EventData<'LegTakenOver'>,
  startedAt: string,
): Evolution => {
  if (session.status !== 'running')
    return irregular(at, `a take-over of a session that is ${session.status}`);
  if (data.leg !== session.leg + 1) return irregular(at, wrongLeg(data.leg, session.leg));
  return regular(at, {
    ...touched,
    leg: data.leg,
    legStartedAt: startedAt,
    lastActivityAt: startedAt,
    reason: data.reason,
    process: data.process,
    child: null,
    metadata: mergeMetadata(session.metadata, data.metadata),
    notify: distinctIntents([...session.notify, ...data.notify]),
  });
};

const distinctIntents = (intents: readonly NotifyIntent[]): readonly NotifyIntent[] => [
  ...new Map(intents.map((intent) => [intentKey(intent), intent])).values(),
];
