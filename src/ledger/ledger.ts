/** The use cases that write: every command is validated before anything is read, then decided on the session's stream. */
import * as E from 'fp-ts/lib/Either.js';
import type * as TE from 'fp-ts/lib/TaskEither.js';
import { validate } from '../domain/commands.js';
import type { Command, CommandContext, CommandOf } from '../domain/commands.js';
import { derivedId, Id, sessionStream, Uuid } from '../domain/ids.js';
import { replay } from '../domain/session.js';
import type { SessionState } from '../domain/session.js';
import type { LedgerDeps } from './deps.js';
import { asLedgerError, execute } from './execute.js';
import { openSession } from './openSession.js';
import type { LedgerError, Outcome } from './outcome.js';
import { reopenOrTakeOver, resumeSession } from './resumeSession.js';
import type { NewLeg, ReopenGuards } from './resumeSession.js';

export type LedgerTask<A> = TE.TaskEither<LedgerError, A>;

/** A session to open; without an id one is drawn, or derived from the command id; the branch defaults to the session's id. */
export interface OpenInput extends Omit<
  CommandOf<'OpenSession'>,
  '_tag' | 'sessionId' | 'branchId' | 'notify'
> {
  readonly sessionId?: string | undefined;
  readonly branchId?: string | undefined;
  readonly notify: NewLeg['notify'];
}

export interface UseCases {
  readonly open: (input: OpenInput, context: CommandContext) => LedgerTask<Outcome>;
  readonly changeStatus: (
    sessionId: string,
    change: Omit<CommandOf<'ChangeStatus'>, '_tag'>,
    context: CommandContext,
  ) => LedgerTask<Outcome>;
  /** Reopens a terminal session, takes over from a process that is gone, observes any other running leg. */
  readonly reopen: (
    sessionId: string,
    newLeg: NewLeg,
    guards: ReopenGuards,
    context: CommandContext,
  ) => LedgerTask<Outcome>;
  /** Like `reopen`, by branch or session; starts a new session on the branch when there is nothing to resume into. */
  readonly resume: (target: string, newLeg: NewLeg, context: CommandContext) => LedgerTask<Outcome>;
  readonly takeOver: (
    sessionId: string,
    takeOver: Omit<CommandOf<'TakeOverLeg'>, '_tag'>,
    context: CommandContext,
  ) => LedgerTask<Outcome>;
  readonly note: (
    sessionId: string,
    note: Omit<CommandOf<'AppendReason'>, '_tag'>,
    context: CommandContext,
  ) => LedgerTask<Outcome>;
  readonly recordActivity: (
    sessionId: string,
    activity: Omit<CommandOf<'RecordActivity'>, '_tag'>,
    context: CommandContext,
  ) => LedgerTask<Outcome>;
  /** The state of a session as its stream tells it now. */
  readonly state: (sessionId: string) => LedgerTask<SessionState>;
}

export const makeUseCases = (deps: LedgerDeps): UseCases => {
  const check = (
    sessionId: string,
    command: Command,
    context: CommandContext,
  ): E.Either<LedgerError, Command> => {
    const id = Id.safeParse(sessionId);
    if (!id.success)
      return invalid([`session ${JSON.stringify(sessionId)}: ${id.error.issues[0]?.message ?? ''}`]);
    const checked = validate(deps.registry, command, context);
    return E.isLeft(checked) ? invalid(checked.left) : E.right(checked.right.command);
  };
  const carryOut =
    (sessionId: string, command: Command, context: CommandContext): LedgerTask<Outcome> =>
    async () => {
      const checked = check(sessionId, command, context);
      return E.isLeft(checked) ? checked : execute(deps, sessionId, context, () => checked.right);
    };
  /** A leg that resumes is checked by the command it would give to a terminal session. */
  const checkNewLeg = (sessionId: string, newLeg: NewLeg, guards: ReopenGuards, context: CommandContext) =>
    check(sessionId, reopenOrTakeOver(deps, sessionId, newLeg, guards, unread), context);

  return {
    open: (input, context) => async () => {
      const { commandId } = context;
      const derived = commandId !== undefined && Uuid.safeParse(commandId).success;
      const sessionId = input.sessionId ?? (derived ? derivedId(commandId, 'session') : deps.newId());
      const { notify, branchId = sessionId, ...rest } = input;
      const command: CommandOf<'OpenSession'> = {
        _tag: 'OpenSession',
        ...rest,
        sessionId,
        branchId,
        notify: [...notify(sessionId)],
      };
      const checked = check(sessionId, command, context);
      return E.isLeft(checked) ? checked : openSession(deps, command, context);
    },
    changeStatus: (sessionId, change, context) =>
      carryOut(sessionId, { _tag: 'ChangeStatus', ...change }, context),
    reopen: (sessionId, newLeg, guards, context) => async () => {
      const checked = checkNewLeg(sessionId, newLeg, guards, context);
      if (E.isLeft(checked)) return checked;
      return execute(deps, sessionId, context, (state) =>
        reopenOrTakeOver(deps, sessionId, newLeg, guards, state),
      );
    },
    resume: (target, newLeg, context) => async () => {
      const checked = checkNewLeg(target, newLeg, {}, context);
      return E.isLeft(checked) ? checked : resumeSession(deps, target, newLeg, context);
    },
    takeOver: (sessionId, takeOver, context) =>
      carryOut(sessionId, { _tag: 'TakeOverLeg', ...takeOver }, context),
    note: (sessionId, note, context) => carryOut(sessionId, { _tag: 'AppendReason', ...note }, context),
    recordActivity: (sessionId, activity, context) =>
      carryOut(sessionId, { _tag: 'RecordActivity', ...activity }, context),
    state: (sessionId) => async () => {
      const read = await deps.log.readStream(sessionStream(sessionId))();
      return E.isLeft(read)
        ? E.left(asLedgerError(sessionId, read.left))
        : E.right(replay(sessionId, read.right));
    },
  };
};

const invalid = (problems: readonly string[]): E.Either<LedgerError, never> =>
  E.left({ _tag: 'Invalid', problems });

/** The state before anything is read: what a command is checked against. */
const unread: SessionState = replay('', []);
