/** Waits for sessions to end: each is told once, by the first terminal status that comes after the wait began. */
import * as E from 'fp-ts/lib/Either.js';
import type { Exit } from '../domain/events.js';
import { sessionStream, streamKind } from '../domain/ids.js';
import { evolve, initialState } from '../domain/session.js';
import type { SessionState, StatusChange } from '../domain/session.js';
import { isTerminal } from '../domain/status.js';
import type { TerminalStatus } from '../domain/status.js';
import type { LedgerError } from '../ledger/outcome.js';
import type { EventLog } from '../log/port.js';

export interface Ended {
  readonly sessionId: string;
  readonly status: TerminalStatus;
  readonly reasonCode: string;
  readonly leg: number;
  readonly exit: Exit | null;
}

/**
 * Tells each session as it ends; one that has ended already is told at once. Right: true when all (or, with `any`,
 * one) have ended, false when the signal came first. A wait that begins during leg 2 waits for the end of leg 2: an
 * ending is told also when the session was reopened before anybody looked.
 */
export const waitFor = async (
  log: EventLog,
  sessionIds: readonly string[],
  any: boolean,
  signal: AbortSignal,
  tell: (ended: Ended) => void,
): Promise<E.Either<LedgerError, boolean>> => {
  const head = await log.head()();
  if (E.isLeft(head)) return head;
  const waiting = new Map<string, SessionState>();
  let told = 0;
  for (const sessionId of new Set(sessionIds)) {
    const begun = await begin(log, sessionId);
    if (E.isLeft(begun)) return begun;
    if (begun.right.ended !== null) {
      tell(begun.right.ended);
      told += 1;
    } else waiting.set(sessionId, begun.right.state);
  }
  const finished = () => waiting.size === 0 || (any && told > 0);
  if (finished()) return E.right(true);
  try {
    for await (const item of log.subscribeToAll({
      after: head.right,
      filter: { streamPrefixes: [...waiting.keys()].map(sessionStream) },
      signal,
    })) {
      if (item._tag !== 'event') continue;
      const kind = streamKind(item.event.stream);
      const state = kind._tag === 'session' ? waiting.get(kind.id) : undefined;
      if (kind._tag !== 'session' || state === undefined || item.event.revision <= state.revision) continue;
      const evolved = evolve(kind.id, state, item.event);
      waiting.set(kind.id, evolved.state);
      const ended = evolved.change === null ? null : endedBy(kind.id, evolved.change);
      if (ended === null) continue;
      waiting.delete(kind.id);
      tell(ended);
      told += 1;
      if (finished()) return E.right(true);
    }
    return E.right(false);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return E.left({ _tag: 'LogUnavailable', message, outcomeUnknown: false });
  }
};

/** Where a session stands when the wait begins: ended, with how it ended, or the state to go on from. */
const begin = async (
  log: EventLog,
  sessionId: string,
): Promise<E.Either<LedgerError, { readonly state: SessionState; readonly ended: Ended | null }>> => {
  const read = await log.readStream(sessionStream(sessionId))();
  if (E.isLeft(read))
    return E.left(
      read.left._tag === 'LogUnavailable' ? read.left : { _tag: 'NotFound', sessionId, pruned: true },
    );
  let state = initialState;
  let last: StatusChange | null = null;
  for (const event of read.right) {
    const evolved = evolve(sessionId, state, event);
    state = evolved.state;
    last = evolved.change ?? last;
  }
  if (state.session === null) return E.left({ _tag: 'NotFound', sessionId, pruned: false });
  return E.right({ state, ended: last === null ? null : endedBy(sessionId, last) });
};

const endedBy = (sessionId: string, { to, reason, leg, exit }: StatusChange): Ended | null =>
  isTerminal(to) ? { sessionId, status: to, reasonCode: reason.code, leg, exit } : null;
