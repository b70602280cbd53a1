/** Resumes a branch or a session: reopens it, takes over from a dead leg, observes a live one, or starts anew (design §5). */
import * as E from 'fp-ts/lib/Either.js';
import type { Command, CommandContext, CommandOf } from '../domain/commands.js';
import type { MetadataPatch, NotifyIntent, Override } from '../domain/events.js';
import type { ProcessIdentity, Verdict } from '../domain/processIdentity.js';
import type { SessionState } from '../domain/session.js';
import type { LedgerDeps } from './deps.js';
import { execute } from './execute.js';
import type { Result } from './execute.js';
import { openSession, readBranch, standing } from './openSession.js';

export const RESUME_JUSTIFICATION = 'branch resumed by a new leg; the session is executing again';
export const RESUME_ACTOR = 'cli.resume';

const MAX_TRIES = 5;

/** What the new leg brings along. */
export interface NewLeg {
  readonly process: ProcessIdentity | null;
  readonly metadata: MetadataPatch;
  /** Intents prove themselves for one session, so they are made when the session is known. */
  readonly notify: (sessionId: string) => readonly NotifyIntent[];
  readonly override: Override;
  readonly summary: string;
}

export interface ReopenGuards {
  readonly expectedStatuses?: CommandOf<'ReopenSession'>['expectedStatuses'];
  readonly expectedRevision?: number | undefined;
}

/** The command that reopens; for a leg whose process is conclusively gone, the one that takes over. */
export const reopenOrTakeOver = (
  deps: LedgerDeps,
  sessionId: string,
  newLeg: NewLeg,
  guards: ReopenGuards,
  state: SessionState,
): Command => {
  const { session } = state;
  const notify = [...newLeg.notify(sessionId)];
  const { process, metadata, override, summary } = newLeg;
  if (session?.status === 'running') {
    const verdict = deps.judgeLeg(session.process, session.child);
    if (verdict.verdict === 'gone') {
      const { leg } = session;
      return { _tag: 'TakeOverLeg', leg, process, metadata, notify, ...processGone(verdict), ...guards };
    }
  }
  const reason = { code: 'session.reopened.by_resume', summary };
  return { _tag: 'ReopenSession', reason, process, metadata, notify, override, ...guards };
};

const processGone = ({
  verdict,
  evidence,
}: Verdict): Pick<CommandOf<'TakeOverLeg'>, 'cause' | 'reason' | 'evidence'> => ({
  cause: 'process_gone',
  reason: { code: 'session.taken_over.process_gone', summary: evidence },
  evidence: { verdict, observed: evidence },
});

/**
 * Resumes what `target` names. A session that is missing, pruned or being pruned is no error: the leg is recorded
 * under a new session on the same branch.
 */
export const resumeSession = async (
  deps: LedgerDeps,
  target: string,
  newLeg: NewLeg,
  context: CommandContext,
): Promise<Result> => {
  let last: Result | null = null;
  // Between the look-up and the write a session can be pruned, and a branch bound by another: then look again.
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const found = await lookUp(deps, target);
    if (E.isLeft(found)) return found;
    const { sessionId, branchId } = found.right;
    if (sessionId !== null) {
      const resumed = await execute(deps, sessionId, context, (state) =>
        reopenOrTakeOver(deps, sessionId, newLeg, {}, state),
      );
      if (E.isRight(resumed) || resumed.left._tag !== 'NotFound') return resumed;
    }
    last = await startAnew(deps, branchId, newLeg, context);
    if (E.isLeft(last) || last.right.outcome !== 'conflict') return last;
  }
  return last ?? E.left({ _tag: 'NotFound', sessionId: target, pruned: false });
};

/** The session to resume (null: none is left) and the branch that it is, or will be, on. */
const lookUp = async (
  deps: LedgerDeps,
  target: string,
): Promise<
  E.Either<Extract<Result, E.Left<unknown>>['left'], { sessionId: string | null; branchId: string }>
> => {
  const branch = await readBranch(deps, target);
  if (E.isLeft(branch)) return branch;
  if (branch.right.current !== null) return E.right({ sessionId: branch.right.current, branchId: target });
  const session = await standing(deps, target);
  if (E.isLeft(session)) return session;
  return session.right === null || session.right === 'pruned'
    ? E.right({ sessionId: null, branchId: target })
    : E.right({ sessionId: target, branchId: session.right.branchId });
};

const startAnew = (
  deps: LedgerDeps,
  branchId: string,
  newLeg: NewLeg,
  context: CommandContext,
): Promise<Result> => {
  const sessionId = deps.newId();
  return openSession(
    deps,
    {
      _tag: 'OpenSession',
      sessionId,
      branchId,
      reason: { code: 'run.started.ok', summary: '' },
      process: newLeg.process,
      metadata: newLeg.metadata,
      notify: [...newLeg.notify(sessionId)],
      correlation: null,
    },
    context,
  );
};
