/** `watch`: status changes as they happen, of one session or of all. */
import * as E from 'fp-ts/lib/Either.js';
import { sessionStream, streamKind } from '../../domain/ids.js';
import { evolve, initialState } from '../../domain/session.js';
import type { SessionState, StatusChange } from '../../domain/session.js';
import type { Runtime } from '../../library/runtime.js';
import { complainOf, withRuntime } from '../context.js';
import { untilInterrupted } from '../interrupt.js';
import type { Handler } from '../invocation.js';
import { out, outJsonLine, when } from '../print.js';
import { visible } from '../render/text.js';
import { resolveSession } from '../resolve.js';

export const run: Handler = ({ globals, args }) =>
  withRuntime(globals, async (runtime) => {
    const [name] = args;
    const session = name === undefined ? E.right(null) : await resolveSession(runtime, name);
    if (E.isLeft(session)) return session.left;
    const head = await runtime.log.head()();
    if (E.isLeft(head)) return complainOf(head.left);
    const { right: only } = session;
    return untilInterrupted(async (signal) => {
      for await (const { sessionId, change } of changes(runtime, only, head.right, signal)) {
        if (globals.json) outJsonLine({ sessionId, ...change });
        else out(line(sessionId, change));
      }
      return 0;
    });
  });

/** Folds each session from its beginning once, so that an event is believed only as far as the rules allow it. */
async function* changes(runtime: Runtime, only: string | null, after: bigint, signal: AbortSignal) {
  const states = new Map<string, SessionState>();
  const prefix = sessionStream(only ?? '');
  for await (const item of runtime.log.subscribeToAll({
    after,
    filter: { streamPrefixes: [prefix] },
    signal,
  })) {
    if (item._tag !== 'event') continue;
    const { event } = item;
    const kind = streamKind(event.stream);
    if (kind._tag !== 'session' || (only !== null && kind.id !== only)) continue;
    const known = states.get(kind.id) ?? (await stateBefore(runtime, kind.id, event.revision));
    const evolved = evolve(kind.id, known, event);
    states.set(kind.id, evolved.state);
    if (evolved.change !== null) yield { sessionId: kind.id, change: evolved.change };
    else if (evolved.state.session !== null && known.session === null)
      yield { sessionId: kind.id, change: opened(evolved.state) };
  }
}

type Change = Pick<StatusChange, 'to' | 'leg' | 'at' | 'reason' | 'override'> & {
  readonly from: StatusChange['from'] | null;
};

const opened = ({ session }: SessionState): Change => ({
  from: null,
  to: 'running',
  leg: 1,
  at: session?.startedAt ?? '',
  reason: session?.reason ?? { code: '', summary: '' },
  override: null,
});

const stateBefore = async (runtime: Runtime, sessionId: string, revision: number): Promise<SessionState> => {
  if (revision === 0) return initialState;
  const read = await runtime.log.readStream(sessionStream(sessionId), { limit: revision })();
  let state = initialState;
  if (E.isRight(read))
    for (const event of read.right)
      if (event.revision < revision) state = evolve(sessionId, state, event).state;
  return state;
};

const line = (sessionId: string, { at, leg, from, to, reason, override }: Change): string =>
  [
    when(at),
    sessionId,
    `leg ${leg}`,
    `${from ?? 'new'} → ${to}`,
    [reason.code, visible(reason.summary)].filter((text) => text !== '').join(': '),
    override === null ? '' : `by ${visible(override.actor)}: ${visible(override.justification)}`,
  ]
    .filter((text) => text !== '')
    .join('  ');
