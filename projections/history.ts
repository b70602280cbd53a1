/** The history of a session: every event of its stream in order, with which leg, who and why; irregular ones as such. */
import * as E from 'fp-ts/lib/Either.js';
import { parseEvent } from '../src/domain/events.js';
import type { Actor, LedgerEvent, Override, RawEvent } from '../src/domain/events.js';
import { evolve, initialState } from '../src/domain/session.js';
import type { Evolution, SessionState } from '../src/domain/session.js';
import type { Status } from '../src/domain/status.js';

export interface HistoryEntry {
  readonly revision: number;
  readonly position: bigint;
  readonly eventId: string;
  readonly type: string;
  readonly at: string;
  readonly leg: number | null;
  readonly from: Status | null;
  readonly to: Status | null;
  readonly reasonCode: string | null;
  readonly reasonSummary: string | null;
  readonly actor: Actor | null;
  readonly override: Override | null;
  /** The rule that the event breaks; it changed nothing. Null for a regular event. */
  readonly irregular: string | null;
  /** What an irregular event says, where it can be read. */
  readonly claimed?: { readonly from: Status; readonly to: Status; readonly leg: number | null };
}

export const historyOf = (sessionId: string, events: Iterable<RawEvent>): readonly HistoryEntry[] => {
  const entries: HistoryEntry[] = [];
  let state = initialState;
  for (const raw of events) {
    const evolved = evolve(sessionId, state, raw);
    const parsed = parseEvent(raw);
    const exit = evolved.redeems === null ? undefined : entries.at(-1);
    if (exit !== undefined && state.unexplainedExit !== null && E.isRight(parsed))
      entries[entries.length - 1] = explained(state.unexplainedExit, evolved, raw.recordedAt);
    entries.push(entryOf(raw, E.isRight(parsed) ? parsed.right : null, state, evolved));
    state = evolved.state;
  }
  return entries;
};

const placeOf = ({
  revision,
  position,
  eventId,
  type,
  recordedAt,
}: Omit<RawEvent, 'data' | 'metadata' | 'stream'>) => ({
  revision,
  position,
  eventId,
  type,
  at: new Date(recordedAt).toISOString(),
  leg: null,
  from: null,
  to: null,
  reasonCode: null,
  reasonSummary: null,
  actor: null,
  override: null,
  irregular: null,
});

const entryOf = (
  raw: RawEvent,
  event: LedgerEvent | null,
  before: SessionState,
  { state, irregular, change }: Evolution,
): HistoryEntry => {
  const place: HistoryEntry = placeOf(raw);
  if (event === null) return { ...place, irregular };
  const known: HistoryEntry = { ...place, at: event.metadata.at, actor: event.metadata.actor };
  if (irregular !== null) return { ...known, irregular, ...claimOf(event) };
  const leg = state.session?.leg ?? null;
  const status = state.session?.status ?? null;
  switch (event.type) {
    case 'SessionOpened':
      return { ...known, leg, to: status, ...reasonOf(event.data.reason) };
    case 'LegTakenOver':
    case 'ReasonAppended':
      return { ...known, leg, from: status, to: status, ...reasonOf(event.data.reason) };
    case 'StatusChanged':
      return {
        ...known,
        leg,
        from: before.session?.status ?? null,
        to: status,
        ...reasonOf(event.data.reason),
      };
    case 'TransitionOverridden':
      return {
        ...known,
        leg,
        from: change?.from ?? null,
        to: change?.to ?? null,
        reasonCode: event.data.reasonCode,
        override: event.data.override,
      };
    case 'ActivityRecorded':
      return { ...known, leg: event.data.leg };
    default:
      return { ...known, leg };
  }
};

/** An exit from a terminal status, once the override after it has made it regular. */
const explained = (exit: LedgerEvent, { change }: Evolution, recordedAt: number): HistoryEntry => ({
  ...placeOf({ ...exit, recordedAt }),
  at: exit.metadata.at,
  actor: exit.metadata.actor,
  leg: change?.leg ?? null,
  from: change?.from ?? null,
  to: change?.to ?? null,
  ...(change === null ? {} : reasonOf(change.reason)),
  override:
    change?.override === null || change === null
      ? null
      : { actor: change.override.actor, justification: change.override.justification },
});

const reasonOf = ({ code, summary }: { readonly code: string; readonly summary: string }) => ({
  reasonCode: code,
  reasonSummary: summary,
});

const claimOf = (event: LedgerEvent): Pick<HistoryEntry, 'claimed'> => {
  const { data } = event;
  if (!('from' in data && 'to' in data)) return {};
  return { claimed: { from: data.from, to: data.to, leg: 'leg' in data ? data.leg : null } };
};
