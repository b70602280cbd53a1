/** The ledger for TypeScript programs, on fp-ts: every method is a TaskEither, nothing is thrown. */
import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { historyOf } from '../../projections/history.js';
import type { HistoryEntry } from '../../projections/history.js';
import type { OverrideRow } from '../../projections/overrides.js';
import type { RejectionRow } from '../../projections/rejections.js';
import type { SessionRow } from '../../projections/sessionRow.js';
import { resolveSettings } from '../config/settings.js';
import type { SettingsInput } from '../config/settings.js';
import { describeTemplateProblem, parseTemplate } from '../delivery/template.js';
import type { DeliverySummary } from '../delivery/deliver.js';
import type { CommandContext } from '../domain/commands.js';
import type { Envelope } from '../domain/envelope.js';
import type { Correlation, Evidence, Exit, MetadataPatch, Override } from '../domain/events.js';
import { sessionStream } from '../domain/ids.js';
import type { ProcessIdentity } from '../domain/processIdentity.js';
import { defaultReasonFor } from '../domain/reasons.js';
import { isTerminal } from '../domain/status.js';
import type { Status } from '../domain/status.js';
import { asLedgerError } from '../ledger/execute.js';
import type { LedgerError, Outcome } from '../ledger/outcome.js';
import { RESUME_ACTOR, RESUME_JUSTIFICATION } from '../ledger/resumeSession.js';
import type { NewLeg } from '../ledger/resumeSession.js';
import type { LogUnavailable } from '../log/port.js';
import { selfIdentity } from '../process/liveness.js';
import type { ReadModel } from '../projector/model.js';
import { silentLogger } from './logger.js';
import type { Logger } from './logger.js';
import { openRuntime } from './runtime.js';
import type { Runtime, RuntimeError } from './runtime.js';

export interface OpenLedgerOptions extends SettingsInput {
  /** Where warnings go; by default nowhere. */
  readonly logger?: Logger;
}

/** What every writing call may pin, and the id that makes its retry harmless. */
export interface Guards {
  readonly expectedStatuses?: readonly Status[];
  readonly expectedRevision?: number;
  readonly commandId?: string;
}

export interface LegOptions {
  /** The leg's process; by default this one, in which the leg lives. */
  readonly process?: ProcessIdentity | null;
  readonly metadata?: MetadataPatch;
  /** Templates of commands to run when the session ends. */
  readonly notify?: readonly string[];
}

export interface OpenOptions extends LegOptions, Pick<Guards, 'commandId'> {
  readonly sessionId?: string;
  /** By default the session's id. */
  readonly branchId?: string;
  readonly correlation?: Correlation;
}

export interface CloseOptions extends Guards {
  readonly status: Status;
  /** The leg that closes itself. */
  readonly leg?: number;
  /** A registered reason code; by default that of the status. */
  readonly reason?: string;
  readonly summary?: string;
  readonly exit?: Exit | null;
  readonly evidence?: Evidence;
  readonly artifacts?: readonly string[];
  /** The only way from one terminal status to another. */
  readonly override?: Override;
}

export interface ReopenOptions extends LegOptions, Guards {
  readonly justification?: string;
}

export interface NoteOptions extends Guards {
  readonly reason: string;
  readonly summary?: string;
}

export interface EnvelopeSubscription {
  /** Envelopes after this position of the log; by default all of them. */
  readonly after?: bigint;
  /** Ends the iteration without an error. */
  readonly signal?: AbortSignal;
}

export interface PositionedEnvelope {
  /** Keep it, and go on from it with `after`. */
  readonly position: bigint;
  readonly envelope: Envelope;
}

type Answer<A> = TE.TaskEither<LedgerError | RuntimeError, A>;

export interface FpLedger {
  readonly open: (options?: OpenOptions) => Answer<Outcome>;
  readonly close: (sessionId: string, options: CloseOptions) => Answer<Outcome>;
  readonly reopen: (sessionId: string, options?: ReopenOptions) => Answer<Outcome>;
  /** By branch or session; starts a new session when there is nothing to resume into. */
  readonly resume: (target: string, options?: LegOptions) => Answer<Outcome>;
  readonly note: (sessionId: string, options: NoteOptions) => Answer<Outcome>;
  /** A sign of life of a leg. */
  readonly recordActivity: (sessionId: string, leg: number) => Answer<Outcome>;
  readonly get: (sessionId: string) => Answer<SessionRow | null>;
  readonly list: (filter?: Parameters<ReadModel['list']>[0]) => Answer<readonly SessionRow[]>;
  readonly history: (sessionId: string) => Answer<readonly HistoryEntry[]>;
  readonly overrides: (filter?: Parameters<ReadModel['overrides']>[0]) => Answer<readonly OverrideRow[]>;
  readonly rejections: (filter?: Parameters<ReadModel['rejections']>[0]) => Answer<readonly RejectionRow[]>;
  /** Sends what is owed, of one session or of all. */
  readonly deliver: (sessionId?: string) => Answer<DeliverySummary>;
  /** Throws only when the log or the read model cannot be used any more. */
  readonly envelopes: (subscription?: EnvelopeSubscription) => AsyncIterable<PositionedEnvelope>;
  readonly rebuildProjections: () => Answer<void>;
  readonly dispose: () => Promise<void>;
}

export const openLedger = (options: OpenLedgerOptions = {}): TE.TaskEither<RuntimeError, FpLedger> => {
  const { logger = silentLogger, ...input } = options;
  return pipe(
    TE.fromEither(resolveSettings(input, process.env)),
    TE.chainW((settings) => openRuntime(settings, logger)),
    TE.map(makeFpLedger),
  );
};

const makeFpLedger = (runtime: Runtime): FpLedger => {
  const { useCases, settings } = runtime;
  const context = ({ commandId }: Pick<Guards, 'commandId'> = {}): CommandContext => ({
    actor: settings.actor,
    ...(commandId === undefined ? {} : { commandId }),
  });
  const legProcess = (given: LegOptions['process']) =>
    given === undefined ? selfIdentity('in_process') : given;
  const intents = (templates: readonly string[] = []) =>
    pipe(TE.fromEither(checkTemplates(templates)), TE.chainW(runtime.notices.intents));
  const query = <A>(ask: (model: ReadModel) => TE.TaskEither<LogUnavailable, A>): Answer<A> =>
    pipe(runtime.readModel, TE.chainW(ask));

  return {
    open: ({ sessionId, branchId, process, metadata = {}, notify, correlation = null, ...guards } = {}) =>
      pipe(
        intents(notify),
        TE.chainW((proven) =>
          useCases.open(
            {
              sessionId,
              branchId,
              metadata,
              correlation,
              notify: proven,
              process: legProcess(process),
              reason: STARTED,
            },
            context(guards),
          ),
        ),
      ),
    close: (
      sessionId,
      {
        status,
        leg,
        reason,
        summary = '',
        exit = null,
        evidence = null,
        artifacts = [],
        override,
        ...guards
      },
    ) =>
      announced(
        runtime,
        sessionId,
        useCases.changeStatus(
          sessionId,
          {
            to: status,
            leg,
            reason: {
              code:
                reason ?? (isTerminal(status) ? defaultReasonFor(status, exit?.code ?? null) : STARTED.code),
              summary,
            },
            endedAt: runtime.now(),
            exit,
            evidence,
            artifacts: [...artifacts],
            override: override ?? null,
            yields: false,
            source: 'library.close',
            ...pins(guards),
          },
          context(guards),
        ),
      ),
    reopen: (
      sessionId,
      { process, metadata = {}, notify, justification = RESUME_JUSTIFICATION, ...guards } = {},
    ) =>
      pipe(
        intents(notify),
        TE.chainW((proven) =>
          useCases.reopen(
            sessionId,
            newLeg(settings, { metadata, justification, process: legProcess(process) }, proven),
            pins(guards),
            context(guards),
          ),
        ),
      ),
    resume: (target, { process, metadata = {}, notify } = {}) =>
      pipe(
        intents(notify),
        TE.chainW((proven) =>
          useCases.resume(
            target,
            newLeg(
              settings,
              { metadata, justification: RESUME_JUSTIFICATION, process: legProcess(process) },
              proven,
            ),
            context(),
          ),
        ),
      ),
    note: (sessionId, { reason, summary = '', ...guards }) =>
      useCases.note(sessionId, { reason: { code: reason, summary }, ...pins(guards) }, context(guards)),
    recordActivity: (sessionId, leg) => useCases.recordActivity(sessionId, { leg, child: null }, context()),
    get: (sessionId) => query((model) => model.row(sessionId)),
    list: (filter = {}) => query((model) => model.list(filter)),
    history: (sessionId) =>
      pipe(
        runtime.log.readStream(sessionStream(sessionId)),
        TE.mapLeft((error) => asLedgerError(sessionId, error)),
        TE.map((events) => historyOf(sessionId, events)),
      ),
    overrides: (filter = {}) => query((model) => model.overrides(filter)),
    rejections: (filter = {}) => query((model) => model.rejections(filter)),
    deliver: (sessionId) => runtime.notices.deliver(sessionId),
    envelopes: (subscription = {}) => envelopes(runtime, subscription),
    rebuildProjections: () =>
      pipe(
        query((model) => model.rebuild()),
        TE.map(() => undefined),
      ),
    dispose: runtime.close,
  };
};

/** A session that a close has ended is announced right away; what fails stays owed, and does not fail the close. */
const announced =
  (runtime: Runtime, sessionId: string, close: Answer<Outcome>): Answer<Outcome> =>
  async () => {
    const closed = await close();
    if (E.isLeft(closed) || closed.right.outcome !== 'applied' || !closed.right.changed) return closed;
    const sent = await runtime.notices.announce(sessionId)();
    if (E.isLeft(sent)) runtime.logger.warn({ sessionId, problem: sent.left }, 'a notice is not sent yet');
    return closed;
  };

const STARTED = { code: 'run.started.ok', summary: '' };

const pins = ({ expectedStatuses, expectedRevision }: Guards) => ({
  expectedStatuses: expectedStatuses === undefined ? undefined : [...expectedStatuses],
  expectedRevision,
});

const newLeg = (
  settings: Runtime['settings'],
  leg: { process: ProcessIdentity | null; metadata: MetadataPatch; justification: string },
  notify: NewLeg['notify'],
): NewLeg => ({
  process: leg.process,
  metadata: leg.metadata,
  notify,
  override: {
    actor: settings.actorNamed ? settings.actor.id : RESUME_ACTOR,
    justification: leg.justification,
  },
  summary: leg.justification,
});

const checkTemplates = (templates: readonly string[]): E.Either<LedgerError, readonly string[]> => {
  for (const template of templates) {
    const parsed = parseTemplate(template);
    if (E.isLeft(parsed))
      return E.left({
        _tag: 'Invalid',
        problems: [`notify ${JSON.stringify(template)}: ${describeTemplateProblem(parsed.left)}`],
      });
  }
  return E.right(templates);
};

const PAGE = 200;

/** Hands out what the read model holds, then waits for the log to say that there may be more. */
async function* envelopes(
  runtime: Runtime,
  { after = 0n, signal }: EnvelopeSubscription,
): AsyncGenerator<PositionedEnvelope> {
  const model = await runtime.readModel();
  if (E.isLeft(model)) throw new Error(model.left.message);
  const head = await runtime.log.head()();
  if (E.isLeft(head)) throw new Error(head.left.message);
  let position = after;
  const subscription = { after: head.right, filter: { streamPrefixes: [sessionStream('')] } };
  const commits = runtime.log.subscribeToAll(
    signal === undefined ? subscription : { ...subscription, signal },
  );
  for await (const item of commits) {
    if (item._tag !== 'caught_up') continue;
    for (;;) {
      const page = await model.right.envelopesAfter(position, PAGE)();
      if (E.isLeft(page)) throw new Error(page.left.message);
      for (const positioned of page.right) {
        if (signal?.aborted === true) return;
        yield positioned;
        position = positioned.position;
      }
      if (page.right.length < PAGE) break;
    }
  }
}
