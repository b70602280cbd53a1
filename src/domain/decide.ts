/** `decide`: the only place that says whether a transition is allowed (design §5, steps 2 to 6). Pure and total. */
import * as E from 'fp-ts/lib/Either.js';
import type { Command, CommandOf } from './commands.js';
import type { Draft, Override, Reason } from './events.js';
import type { ReasonRegistry } from './reasons.js';
import type { Session, SessionState } from './session.js';
import { isTerminal } from './status.js';
import type { Status } from './status.js';
import { elapsed } from './time.js';

/** Where a session stands; what a conflict or a rejection shows its caller. */
export interface Current {
  readonly sessionId: string;
  readonly branchId: string;
  readonly status: Status;
  readonly leg: number;
  readonly revision: number;
}

export interface Decision {
  readonly outcome: 'applied' | 'observing' | 'taken_over';
  readonly from: Status | null;
  readonly to: Status;
  /** The leg that the session has after the decision. */
  readonly leg: number;
  /** To be appended at the exact revision that was decided on; empty only for `observing`. */
  readonly drafts: readonly Draft[];
}

export type Refusal =
  | { readonly _tag: 'NotFound' }
  /** The stream has events, and a session cannot be opened over them. */
  | { readonly _tag: 'AlreadyOpened'; readonly current: Current | null }
  | { readonly _tag: 'Conflict'; readonly why: string; readonly current: Current }
  /** `audit` is the record that the refusal leaves on the audit stream. */
  | { readonly _tag: 'Rejected'; readonly current: Current; readonly audit: Draft };

type Decided = E.Either<Refusal, Decision>;

export const currentOf = (session: Session, revision: number): Current => ({
  sessionId: session.sessionId,
  branchId: session.branchId,
  status: session.status,
  leg: session.leg,
  revision,
});

/**
 * Decides a validated command on a session's state. The order of the checks is contract: not found, expected
 * statuses, same status, rejection, pinned revision and leg.
 */
export const decide = (registry: ReasonRegistry, state: SessionState, command: Command): Decided => {
  const { session } = state;
  if (command._tag === 'OpenSession') return decideOpen(state, command);
  if (session === null || state.pruneClaimed) return E.left({ _tag: 'NotFound' });
  const current = currentOf(session, state.revision);
  const { expectedStatuses } = command;
  if (expectedStatuses !== undefined && !expectedStatuses.includes(session.status))
    return conflict(current, `the status is ${session.status}, expected ${expectedStatuses.join(' or ')}`);
  switch (command._tag) {
    case 'ChangeStatus':
      return decideChange(registry, session, current, command);
    case 'ReopenSession':
      return decideReopen(session, current, command);
    case 'TakeOverLeg':
      return decideTakeOver(session, current, command);
    case 'AppendReason':
      return pinned(current, command, undefined) ?? reasonAppend(session, command.reason);
    case 'RecordActivity':
      if (session.status !== 'running') return conflict(current, `the session is ${session.status}`);
      return (
        pinned(current, command, command.leg) ??
        decided(session, session.status, session.leg, [
          {
            type: 'ActivityRecorded',
            data: { sessionId: session.sessionId, leg: command.leg, child: command.child },
          },
        ])
      );
  }
};

const decided = (session: Session, to: Status, leg: number, drafts: readonly Draft[]): Decided =>
  E.right({ outcome: 'applied', from: session.status, to, leg, drafts });

const conflict = (current: Current, why: string): Decided => E.left({ _tag: 'Conflict', current, why });

/** Step 6: the pinned revision and leg; null when they are met. */
const pinned = (
  current: Current,
  command: { readonly expectedRevision?: number | undefined },
  leg: number | undefined,
): Decided | null => {
  if (leg !== undefined && leg !== current.leg)
    return conflict(current, `the session has moved on to leg ${current.leg}, not leg ${leg}`);
  if (command.expectedRevision !== undefined && command.expectedRevision !== current.revision)
    return conflict(
      current,
      `the session is at revision ${current.revision}, not ${command.expectedRevision}`,
    );
  return null;
};

const decideOpen = (state: SessionState, command: CommandOf<'OpenSession'>): Decided => {
  if (state.revision >= 0)
    return E.left({
      _tag: 'AlreadyOpened',
      current: state.session === null ? null : currentOf(state.session, state.revision),
    });
  const { _tag, ...data } = command;
  return E.right({
    outcome: 'applied',
    from: null,
    to: 'running',
    leg: 1,
    drafts: [{ type: 'SessionOpened', data: { ...data, leg: 1 } }],
  });
};

const decideChange = (
  registry: ReasonRegistry,
  session: Session,
  current: Current,
  command: CommandOf<'ChangeStatus'>,
): Decided => {
  const correction = lateOutcome(registry, session, command);
  if (command.yields && isTerminal(session.status) && correction === null)
    return conflict(current, `the session is ${session.status} already`);
  if (command.to === session.status)
    return pinned(current, command, command.leg) ?? reasonAppend(session, command.reason);
  const override = command.override ?? correction?.override ?? null;
  if (isTerminal(session.status) && override === null) return rejected(session, current, command);
  const stale = pinned(current, command, command.leg);
  if (stale !== null) return stale;
  const { to } = command;
  if (to === 'running')
    return conflict(current, 'a session returns to running by a reopening, which names its process');
  const reason = correction === null ? command.reason : correction.reason;
  const duration = elapsed(session.legStartedAt, command.endedAt);
  const skew = duration.clockSkewMs === 0 ? {} : { clockSkewMs: duration.clockSkewMs };
  const evidence =
    command.evidence === null && duration.clockSkewMs === 0 ? null : { ...command.evidence, ...skew };
  const { sessionId, status: from, leg } = session;
  const { endedAt, exit } = command;
  const closed: Draft = {
    type: 'StatusChanged',
    data: {
      sessionId,
      from,
      to,
      leg,
      reason,
      endedAt,
      exit,
      durationMs: duration.ms,
      evidence,
      artifacts: command.artifacts,
    },
  };
  return decided(session, to, leg, explained(session, closed, to, reason, override));
};

/** An exit from a terminal status takes its override along, in the same append (design §12, invariant 4). */
const explained = (
  session: Session,
  changed: Draft,
  to: Status,
  reason: Reason,
  override: Override | null,
): readonly Draft[] => {
  if (!isTerminal(session.status) || override === null) return [changed];
  const { sessionId, status: from } = session;
  return [
    changed,
    { type: 'TransitionOverridden', data: { sessionId, from, to, reasonCode: reason.code, override } },
  ];
};

/**
 * A sweep's verdict is only an inference: a leg that is still the current one corrects it by its own close
 * (design §5, closing). Null when there is nothing to correct.
 */
const lateOutcome = (
  registry: ReasonRegistry,
  session: Session,
  command: CommandOf<'ChangeStatus'>,
): { readonly override: Override; readonly reason: Reason } | null => {
  const inferred = session.endedBy !== null && registry.isInferred(session.endedBy);
  const ownClose = command.override === null && command.leg === session.leg && command.to !== 'running';
  if (!inferred || !ownClose || command.to === session.status) return null;
  const outcome = [command.reason.code, command.reason.summary].filter((part) => part !== '').join(': ');
  return {
    override: {
      actor: 'leg',
      justification: `leg ${session.leg} was alive when ${session.endedBy} ended it; its own outcome is ${command.to}`,
    },
    reason: { code: 'session.corrected.late_outcome', summary: outcome },
  };
};

const rejected = (session: Session, current: Current, command: CommandOf<'ChangeStatus'>): Decided =>
  E.left({
    _tag: 'Rejected',
    current,
    audit: {
      type: 'TransitionRejected',
      data: {
        sessionId: session.sessionId,
        from: session.status,
        attempted: command.to,
        reasonCode: command.reason.code,
        source: command.source,
      },
    },
  });

const reasonAppend = (session: Session, reason: Reason): Decided =>
  decided(session, session.status, session.leg, [
    { type: 'ReasonAppended', data: { sessionId: session.sessionId, status: session.status, reason } },
  ]);

const decideReopen = (session: Session, current: Current, command: CommandOf<'ReopenSession'>): Decided => {
  const stale = pinned(current, command, undefined);
  if (stale !== null) return stale;
  const { sessionId, status: from } = session;
  if (from === 'running')
    return E.right({ outcome: 'observing', from, to: from, leg: session.leg, drafts: [] });
  const { reason, process, metadata, notify, override } = command;
  const leg = session.leg + 1;
  const reopened: Draft = {
    type: 'StatusChanged',
    data: { sessionId, from, to: 'running', leg, reason, process, metadata, notify },
  };
  return decided(session, 'running', leg, explained(session, reopened, 'running', reason, override));
};

const decideTakeOver = (session: Session, current: Current, command: CommandOf<'TakeOverLeg'>): Decided => {
  if (session.status !== 'running') return conflict(current, `the session is ${session.status}`);
  const stale = pinned(current, command, command.leg);
  if (stale !== null) return stale;
  const { sessionId, process: previous } = session;
  const { cause, reason, process, evidence, metadata, notify } = command;
  const leg = session.leg + 1;
  const draft: Draft = {
    type: 'LegTakenOver',
    data: { sessionId, leg, process, cause, reason, previous, evidence, metadata, notify },
  };
  return E.right({ outcome: 'taken_over', from: 'running', to: 'running', leg, drafts: [draft] });
};
