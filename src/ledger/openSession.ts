/** Opens a session: its branch is bound first, and that append decides who opens a branch (ADR 0008). */
import { setTimeout as delay } from 'node:timers/promises';
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
const OPENER_LOOKS = 10;
const OPENER_PAUSE_MS = 20;

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
  const opened = await execute(deps, command.sessionId, context, () => command);
  if (E.isRight(opened) || opened.left._tag !== 'NotFound') return opened;
  return E.right({
    outcome: 'conflict',
    why: `session ${command.sessionId} was given up before it was opened: another one took branch ${command.branchId} meanwhile`,
    current: null,
  });
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
      const other = await settled(deps, branch.current);
      if (E.isLeft(other)) return other;
      if (other.right !== 'pruned')
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

/**
 * A branch that is bound to a session nobody has opened: its opener is between its two appends, or died there. It is
 * given a moment; then the session's stream is closed for good, so that a late opener finds that it has lost the branch.
 */
const settled = async (
  deps: LedgerDeps,
  sessionId: string,
): Promise<E.Either<LogUnavailable, Current | 'pruned'>> => {
  for (let looks = 0; looks < OPENER_LOOKS; looks += 1) {
    const found = await standing(deps, sessionId);
    if (E.isLeft(found)) return found;
    if (found.right !== null) return E.right(found.right);
    await delay(OPENER_PAUSE_MS);
  }
  const closed = await deps.log.tombstone(sessionStream(sessionId), 'no_stream')();
  if (E.isRight(closed) || closed.left._tag === 'StreamDeleted') return E.right('pruned');
  if (closed.left._tag === 'LogUnavailable') return E.left(closed.left);
  // Events without a session, which a foreign writer left there: nothing to resume into either.
  const found = await standing(deps, sessionId);
  return E.isLeft(found) ? found : E.right(found.right ?? 'pruned');
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
