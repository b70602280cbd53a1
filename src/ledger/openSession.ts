/** Opens a session: its branch is bound first, and that append decides who opens a branch (ADR 0008). */
import * as E from 'fp-ts/lib/Either.js';
import { replayBranch } from '../domain/branch.js';
import type { BranchState } from '../domain/branch.js';
import type { CommandContext, CommandOf } from '../domain/commands.js';
import { currentOf } from '../domain/decide.js';
import type { Current } from '../domain/decide.js';
import { branchStream, derivedId, sessionStream } from '../domain/ids.js';
import { replay } from '../domain/session.js';
import { stamp } from '../domain/stamp.js';
import type { LogUnavailable } from '../log/port.js';
import type { LedgerDeps } from './deps.js';
import { asLedgerError, execute } from './execute.js';
import type { Result } from './execute.js';
import type { LedgerError } from './outcome.js';

const MAX_TRIES = 20;

/** `command` is validated. A branch that has a session, and a session that exists, are conflicts. */
export const openSession = async (
  deps: LedgerDeps,
  command: CommandOf<'OpenSession'>,
  context: CommandContext,
): Promise<Result> => {
  const existing = await standing(deps, command.sessionId);
  if (E.isLeft(existing)) return existing;
  if (existing.right === null) {
    const bound = await bind(deps, command, context);
    if (bound !== null) return bound;
  }
  return execute(deps, command.sessionId, context, () => command);
};

/** Binds the branch to the session about to be opened; null when that is done, an outcome when it cannot be. */
const bind = async (
  deps: LedgerDeps,
  { sessionId, branchId }: CommandOf<'OpenSession'>,
  context: CommandContext,
): Promise<Result | null> => {
  const eventId = context.commandId === undefined ? deps.newId() : derivedId(context.commandId, 'branch');
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const read = await readBranch(deps, branchId);
    if (E.isLeft(read)) return read;
    const branch = read.right;
    if (branch.current === sessionId) return null;
    if (branch.current !== null) {
      const other = await standing(deps, branch.current);
      if (E.isLeft(other)) return other;
      if (other.right !== null && other.right !== 'pruned')
        return E.right({
          outcome: 'conflict',
          why: `branch ${branchId} has the session ${other.right.sessionId} (${other.right.status}): resume it with \`session-ledger resume ${branchId}\``,
          current: other.right,
        });
    }
    const binding = stamp(
      { type: 'BranchBound', data: { branchId, sessionId, supersedes: branch.current } },
      { ...context, eventId, at: deps.now() },
    );
    const expected = branch.revision < 0 ? ('no_stream' as const) : branch.revision;
    const appended = await deps.log.append(branchStream(branchId), [binding], expected)();
    if (E.isRight(appended)) return null;
    if (appended.left._tag !== 'WrongExpectedRevision')
      return E.left(asLedgerError(sessionId, appended.left));
  }
  return E.right({
    outcome: 'conflict',
    why: `branch ${branchId} is being bound by others: try again`,
    current: null,
  });
};

export const readBranch = async (
  deps: LedgerDeps,
  branchId: string,
): Promise<E.Either<LedgerError, BranchState>> => {
  const read = await deps.log.readStream(branchStream(branchId))();
  return E.isLeft(read)
    ? E.left(asLedgerError(branchId, read.left))
    : E.right(replayBranch(branchId, read.right));
};

/** Where a session stands; `pruned` when it is gone or going, null when nobody has opened it. */
export const standing = async (
  deps: LedgerDeps,
  sessionId: string,
): Promise<E.Either<LogUnavailable, Current | 'pruned' | null>> => {
  const read = await deps.log.readStream(sessionStream(sessionId))();
  if (E.isLeft(read)) {
    if (read.left._tag === 'StreamDeleted') return E.right('pruned');
    if (read.left._tag === 'LogUnavailable') return E.left(read.left);
    return E.right(null);
  }
  const state = replay(sessionId, read.right);
  if (state.pruneClaimed) return E.right('pruned');
  return E.right(state.session === null ? null : currentOf(state.session, state.revision));
};
