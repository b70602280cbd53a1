/** The notices of this machine: intents proven by its key, delivery of what is owed, direct notices of an observing leg. */
import * as E from 'fp-ts/lib/Either.js';
import type * as TE from 'fp-ts/lib/TaskEither.js';
import { deliver } from '../delivery/deliver.js';
import type { DeliverySummary, NoticeReport } from '../delivery/deliver.js';
import { attemptExec } from '../delivery/exec.js';
import { proveIntent, signIntent } from '../delivery/intent.js';
import type { Place } from '../delivery/intent.js';
import { machineKey } from '../delivery/machineKey.js';
import type { MachineKey } from '../delivery/machineKey.js';
import { sealEnvelope } from '../domain/envelope.js';
import type { NotifyIntent } from '../domain/events.js';
import type { ProcessIdentity } from '../domain/processIdentity.js';
import { elapsed } from '../domain/time.js';
import type { LedgerError } from '../ledger/outcome.js';
import type { Beside } from '../legs/superviseLeg.js';
import type { LegEnd } from '../process/legEnd.js';
import { hostFacts, selfIdentity } from '../process/liveness.js';
import { runBounded } from '../process/runBounded.js';
import type { Runtime, RuntimeError } from './runtime.js';

/** The end of a leg that ran beside the session's own. */
export interface ObservedEnd {
  readonly beside: Beside;
  readonly end: LegEnd;
  readonly startedAt: string;
  readonly endedAt: string;
}

export interface Notices {
  /** Makes the intents of checked templates, for a session that is told later. */
  readonly intents: (
    templates: readonly string[],
  ) => TE.TaskEither<RuntimeError, (sessionId: string) => readonly NotifyIntent[]>;
  readonly deliver: (sessionId?: string) => TE.TaskEither<RuntimeError, DeliverySummary>;
  /** Sends what is owed for a session that has just ended; looks for it only when a leg asked to be announced. */
  readonly announce: (
    sessionId: string,
  ) => TE.TaskEither<RuntimeError | LedgerError, readonly NoticeReport[]>;
  /** How many of the owed notices are meant for here and not proven by this machine's key. */
  readonly refused: () => TE.TaskEither<RuntimeError, number>;
  /** Runs the templates directly, best effort; gives the errors of those that failed. */
  readonly announceObserver: (
    templates: readonly string[],
    observed: ObservedEnd,
  ) => Promise<readonly string[]>;
}

type Base = Pick<Runtime, 'settings' | 'log' | 'useCases' | 'readModel' | 'now' | 'newId' | 'judgeLeg'>;

export const makeNotices = (base: Base): Notices => {
  const { settings, log, now, newId } = base;
  const key = (): E.Either<RuntimeError, MachineKey> => {
    const made = machineKey(settings.stateDir);
    return E.isLeft(made) ? E.left({ _tag: 'Configuration', message: made.left }) : made;
  };
  const exec = { runBounded, stateDir: settings.stateDir, env: process.env };

  const send: Notices['deliver'] = (sessionId) => async () => {
    const model = await base.readModel();
    if (E.isLeft(model)) return model;
    const made = key();
    if (E.isLeft(made)) return made;
    const ports = {
      ...exec,
      log,
      queue: model.right,
      key: made.right,
      place: place(),
      self: selfIdentity('local'),
      judge: (owner: ProcessIdentity | null) => base.judgeLeg(owner, null),
      now,
      newId,
      actor: settings.actor,
    };
    return deliver(ports, sessionId)();
  };

  return {
    intents: (templates) => () => {
      // Without a command to prove, no key is made.
      if (templates.length === 0) return Promise.resolve(E.right(() => []));
      const made = key();
      return Promise.resolve(
        E.isLeft(made)
          ? made
          : E.right((sessionId: string) =>
              templates.map((template) => signIntent(made.right, place(), sessionId, template)),
            ),
      );
    },
    deliver: send,
    announce: (sessionId) => async () => {
      const state = await base.useCases.state(sessionId)();
      if (E.isLeft(state)) return state;
      if ((state.right.session?.notify.length ?? 0) === 0) return E.right([]);
      const sent = await send(sessionId)();
      return E.isLeft(sent) ? sent : E.right(sent.right.notices);
    },
    refused: () => async () => {
      const model = await base.readModel();
      if (E.isLeft(model)) return model;
      const owed = await model.right.owed()();
      if (E.isLeft(owed)) return owed;
      if (owed.right.length === 0) return E.right(0);
      const made = key();
      if (E.isLeft(made)) return made;
      const proofs = owed.right.map(({ intent, envelope }) =>
        proveIntent(made.right, place(), envelope.data.sessionId, intent),
      );
      return E.right(proofs.filter(({ _tag }) => _tag === 'refused').length);
    },
    announceObserver: async (templates, observed) => {
      const envelope = observerEnvelope(newId(), observed);
      const attempts = await Promise.all(templates.map((template) => attemptExec(exec, template, envelope)));
      return attempts.flatMap((attempt) => (attempt._tag === 'failed' ? [attempt.error] : []));
    },
  };
};

const place = (): Place => ({ hostId: hostFacts().hostId, user: String(process.getuid?.() ?? '') });

const observerEnvelope = (id: string, { beside, end, startedAt, endedAt }: ObservedEnd) =>
  sealEnvelope(id, {
    sessionId: beside.sessionId,
    branchId: beside.branchId,
    leg: beside.leg,
    previousStatus: 'running',
    status: end.status,
    reasonCode: end.reasonCode,
    reasonSummary: end.reasonSummary,
    exit: end.exit,
    startedAt,
    legStartedAt: startedAt,
    endedAt,
    durationMs: elapsed(startedAt, endedAt).ms,
    revision: beside.revision,
    correlation: null,
    artifacts: [],
    observing: true,
  });
