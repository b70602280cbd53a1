/** Carries out one command on one session: read, decide, append at the exact revision, again on a lost race (design §5). */
import * as E from 'fp-ts/lib/Either.js';
import type { Command, CommandContext } from '../domain/commands.js';
import { decide } from '../domain/decide.js';
import type { Current, Decision, Refusal } from '../domain/decide.js';
import type { Draft, NewEvent, RawEvent } from '../domain/events.js';
import { AUDIT_STREAM, derivedId, sessionStream } from '../domain/ids.js';
import { evolve, initialState, replay } from '../domain/session.js';
import type { Session, SessionState } from '../domain/session.js';
import { stamp } from '../domain/stamp.js';
import type { LogError } from '../log/port.js';
import type { LedgerDeps } from './deps.js';
import type { Done, LedgerError, Outcome } from './outcome.js';

/** A lost race is decided again this often before it is told as a conflict. */
const MAX_TRIES = 20;
/** No decision appends more events than this: a transition and its override. */
const MAX_EVENTS = 2;

export type Result = E.Either<LedgerError, Outcome>;

/** `choose` gives the validated command for the state that was read; a resume chooses by the leg it finds. */
export const execute = async (
  deps: LedgerDeps,
  sessionId: string,
  context: CommandContext,
  choose: (state: SessionState) => Command,
): Promise<Result> => {
  const ids = eventIds(deps, context);
  let before: SessionState | null = null;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const read = await deps.log.readStream(sessionStream(sessionId))();
    if (E.isLeft(read)) return E.left(asLedgerError(sessionId, read.left));
    const earlier = await firstOutcome(deps, sessionId, context, read.right, ids);
    if (earlier !== null) return earlier;
    const state = replay(sessionId, read.right);
    const command = choose(state);
    if (before !== null) {
      const moved = movedOn(before, state, command);
      if (moved !== null) return E.right(moved);
    }
    before = state;
    const decided = decide(deps.registry, state, command);
    if (E.isLeft(decided)) return refuse(deps, state, sessionId, context, decided.left);
    const decision = decided.right;
    const events = stampAll(deps, decision.drafts, ids, context);
    if (events.length === 0) return E.right(done(sessionId, state, decision, state.revision, []));
    const expected = state.revision < 0 ? ('no_stream' as const) : state.revision;
    const appended = await deps.log.append(sessionStream(sessionId), events, expected)();
    if (E.isRight(appended))
      return E.right(done(sessionId, state, decision, appended.right.revision, events));
    if (!worthAnotherTry(appended.left)) return E.left(asLedgerError(sessionId, appended.left));
  }
  return E.left({
    _tag: 'LogUnavailable',
    message: `session ${sessionId} was written by others ${MAX_TRIES} times while this command decided: try again`,
    outcomeUnknown: false,
  });
};

/** Lost a race, or may have been written after all: the next read tells which. */
const worthAnotherTry = (error: LogError): boolean =>
  error._tag === 'WrongExpectedRevision' || (error._tag === 'LogUnavailable' && error.outcomeUnknown);

/** Identities are fixed before the first try, so that an append whose reply was lost is recognised. */
const eventIds = (deps: LedgerDeps, { commandId }: CommandContext): readonly string[] =>
  Array.from({ length: MAX_EVENTS }, (_, index) =>
    commandId === undefined ? deps.newId() : derivedId(commandId, String(index)),
  );

const stampAll = (
  deps: LedgerDeps,
  drafts: readonly Draft[],
  ids: readonly string[],
  { actor, correlationId, causationId }: CommandContext,
): readonly NewEvent[] =>
  drafts.map((draft, index) => {
    const [first] = ids;
    return stamp(draft, {
      eventId: ids[index] ?? deps.newId(),
      at: deps.now(),
      actor,
      correlationId,
      // An override is caused by the transition that it explains.
      causationId: draft.type === 'TransitionOverridden' ? first : causationId,
    });
  });

/** After a lost race: what the caller pinned, or the leg that closes itself, may not be there any more. */
const movedOn = (before: SessionState, after: SessionState, command: Command): Outcome | null => {
  if (after.session === null || after.pruneClaimed) return null;
  const pinnedRevision = 'expectedRevision' in command && command.expectedRevision !== undefined;
  const pinnedLeg = 'leg' in command && command.leg !== undefined;
  const moved = before.session?.leg !== after.session.leg || before.session.status !== after.session.status;
  if (!pinnedRevision && !(pinnedLeg && moved)) return null;
  const { status, leg } = after.session;
  return {
    outcome: 'conflict',
    why: `another writer was faster: the session is ${status} in leg ${leg}, at revision ${after.revision}`,
    current: current(after.session, after.revision),
  };
};

const current = ({ sessionId, branchId, status, leg }: Session, revision: number): Current => ({
  sessionId,
  branchId,
  status,
  leg,
  revision,
});

const done = (
  sessionId: string,
  state: SessionState,
  decision: Decision,
  revision: number,
  events: readonly NewEvent[],
): Done => ({
  outcome: decision.outcome,
  sessionId,
  branchId: state.session?.branchId ?? branchIn(decision.drafts),
  leg: decision.leg,
  from: decision.from,
  to: decision.to,
  changed: decision.from !== decision.to,
  revision,
  eventIds: events.map((event) => event.eventId),
});

const branchIn = (drafts: readonly Draft[]): string => {
  const [draft] = drafts;
  return draft?.type === 'SessionOpened' ? draft.data.branchId : '';
};

/** The outcome of an earlier try with the same event ids, told from the log (design §5, idempotency). */
const firstOutcome = async (
  deps: LedgerDeps,
  sessionId: string,
  { commandId }: CommandContext,
  events: readonly RawEvent[],
  ids: readonly string[],
): Promise<Result | null> => {
  const found = outcomeOf(sessionId, events, ids);
  if (found !== null) return E.right(found);
  if (commandId === undefined) return null;
  const rejection = await deps.findRejection(rejectionId(commandId))();
  if (E.isLeft(rejection)) return rejection;
  return rejection.right === null ? null : E.right({ outcome: 'rejected', current: rejection.right });
};

const rejectionId = (commandId: string): string => derivedId(commandId, 'rejected');

const outcomeOf = (sessionId: string, events: readonly RawEvent[], ids: readonly string[]): Done | null => {
  const written = events.filter((event) => ids.includes(event.eventId));
  const [first] = written;
  const last = written.at(-1);
  if (first === undefined || last === undefined) return null;
  let before = initialState;
  let after = initialState;
  for (const event of events) {
    if (event.revision < first.revision) before = evolve(sessionId, before, event).state;
    if (event.revision <= last.revision) after = evolve(sessionId, after, event).state;
  }
  if (after.session === null) return null;
  const from = before.session?.status ?? null;
  return {
    outcome: first.type === 'LegTakenOver' ? 'taken_over' : 'applied',
    sessionId,
    branchId: after.session.branchId,
    leg: after.session.leg,
    from,
    to: after.session.status,
    changed: from !== after.session.status,
    revision: last.revision,
    eventIds: written.map((event) => event.eventId),
  };
};

const refuse = async (
  deps: LedgerDeps,
  state: SessionState,
  sessionId: string,
  context: CommandContext,
  refusal: Refusal,
): Promise<Result> => {
  switch (refusal._tag) {
    case 'NotFound':
      return E.left({ _tag: 'NotFound', sessionId, pruned: state.pruneClaimed });
    case 'AlreadyOpened':
      return E.right({
        outcome: 'conflict',
        why: `session ${sessionId} exists already: resume it, or choose another id`,
        current: refusal.current,
      });
    case 'Conflict':
      return E.right({ outcome: 'conflict', why: refusal.why, current: refusal.current });
    case 'Rejected': {
      const { commandId } = context;
      const eventId = commandId === undefined ? deps.newId() : rejectionId(commandId);
      const recorded = await deps.log.append(
        AUDIT_STREAM,
        [stamp(refusal.audit, { ...context, eventId, at: deps.now() })],
        'any',
      )();
      if (E.isLeft(recorded)) return E.left(asLedgerError(sessionId, recorded.left));
      return E.right({ outcome: 'rejected', current: refusal.current });
    }
  }
};

export const asLedgerError = (sessionId: string, error: LogError): LedgerError => {
  switch (error._tag) {
    case 'LogUnavailable':
      return error;
    case 'StreamDeleted':
      return { _tag: 'NotFound', sessionId, pruned: true };
    case 'WrongExpectedRevision':
      return {
        _tag: 'LogUnavailable',
        message: `stream ${error.stream} moved on to revision ${error.actual} while it was written: try again`,
        outcomeUnknown: false,
      };
  }
};
