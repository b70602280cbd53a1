/** Runs a command as a leg: recorded before it starts, fenced by its number, closed whatever happens, and announced (design §5, §11). */
import { setTimeout as delay } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import type { CommandContext } from '../domain/commands.js';
import type { Current } from '../domain/decide.js';
import type { Actor, MetadataPatch, NotifyIntent } from '../domain/events.js';
import type { ProcessIdentity } from '../domain/processIdentity.js';
import type { UseCases } from '../ledger/ledger.js';
import type { Done, LedgerError, Outcome } from '../ledger/outcome.js';
import { RESUME_ACTOR, RESUME_JUSTIFICATION } from '../ledger/resumeSession.js';
import type { LegEnd } from '../process/legEnd.js';
import { spoolClose } from './spool.js';

export interface LegRequest {
  readonly target:
    | {
        readonly _tag: 'new';
        readonly sessionId?: string | undefined;
        readonly branchId?: string | undefined;
      }
    | { readonly _tag: 'resume'; readonly name: string; readonly exclusive: boolean };
  readonly metadata: MetadataPatch;
  /** How often a leg that timed out is followed by another. */
  readonly resumeOnTimeout: number;
}

export interface LegPorts {
  readonly useCases: UseCases;
  readonly stateDir: string;
  readonly storeKey: string;
  readonly actor: Actor;
  readonly actorNamed: boolean;
  readonly now: () => string;
  readonly newId: () => string;
  readonly self: ProcessIdentity;
  /** Runs the command once, with these variables; tells the command's identity once it has started. */
  readonly runCommand: (
    env: Readonly<Record<string, string>>,
    onStarted: (child: ProcessIdentity) => void,
  ) => Promise<LegEnd>;
  /** The `--notify` intents of this leg, proven for the session. */
  readonly intents: (sessionId: string) => readonly NotifyIntent[];
  /** Sends what is owed for one session. */
  readonly announce: (sessionId: string) => Promise<void>;
  /** Runs the templates directly, for a leg that has no record of its own. */
  readonly announceObserver: (
    beside: Beside,
    end: LegEnd,
    startedAt: string,
    endedAt: string,
  ) => Promise<void>;
  /** A sentence for the person or log that watches this leg. */
  readonly say: (sentence: string) => void;
}

/** The session's own leg, beside which another one runs without a record of its own. */
export type Beside = Pick<Current, 'sessionId' | 'branchId' | 'leg' | 'revision'>;

export type LegReport =
  /** Nothing was started. */
  | { readonly _tag: 'NotStarted'; readonly error: LedgerError }
  | { readonly _tag: 'Refused'; readonly outcome: Outcome }
  | {
      readonly _tag: 'Ended';
      readonly end: LegEnd;
      readonly sessionId: string;
      readonly close: Outcome | null;
    };

/** A close that the log does not take is tried again for so long, then spooled: whoever waits for the command waits for us. */
const CLOSE_RETRY_MS = 4_000;
const CLOSE_PAUSE_MS = 200;

export const superviseLeg = async (ports: LegPorts, request: LegRequest): Promise<LegReport> => {
  const started = await start(ports, request);
  if (E.isLeft(started)) return { _tag: 'NotStarted', error: started.left };
  const outcome = started.right;
  if (outcome.outcome === 'rejected') return { _tag: 'Refused', outcome };
  if (outcome.outcome === 'conflict') {
    // A new session that cannot be opened is refused; a resume that lost its race still runs its command.
    if (request.target._tag === 'new' || outcome.current === null) return { _tag: 'Refused', outcome };
    ports.say(`${outcome.why}; this leg runs without a record of its own`);
    return observe(ports, outcome.current);
  }
  if (outcome.outcome === 'observing') {
    if (request.target._tag === 'resume' && request.target.exclusive) return { _tag: 'Refused', outcome };
    ports.say(
      `session ${outcome.sessionId} is running leg ${outcome.leg} already: this leg runs beside it and changes nothing`,
    );
    return observe(ports, outcome);
  }
  tellStart(ports, request, outcome);
  return lead(ports, request, outcome);
};

const start = (ports: LegPorts, { target, metadata }: LegRequest) => {
  const context: CommandContext = { actor: ports.actor };
  const notify = ports.intents;
  if (target._tag === 'new')
    return ports.useCases.open(
      {
        sessionId: target.sessionId,
        branchId: target.branchId,
        reason: { code: 'run.started.ok', summary: '' },
        process: ports.self,
        metadata,
        notify,
        correlation: null,
      },
      context,
    )();
  return ports.useCases.resume(
    target.name,
    {
      process: ports.self,
      metadata,
      notify,
      override: { actor: RESUME_ACTOR, justification: RESUME_JUSTIFICATION },
      summary: 'branch resumed by a new leg',
    },
    context,
  )();
};

const tellStart = (
  ports: LegPorts,
  { target }: LegRequest,
  { outcome, sessionId, leg, from }: Done,
): void => {
  if (target._tag !== 'resume') return;
  if (outcome === 'taken_over')
    ports.say(`took over session ${sessionId} as leg ${leg}: the process of leg ${leg - 1} is gone`);
  else if (from === null)
    ports.say(`nothing to resume under ${target.name}: started the new session ${sessionId}`);
};

const variables = (sessionId: string, branchId: string, leg: number): Readonly<Record<string, string>> => ({
  SESSION_LEDGER_SESSION_ID: sessionId,
  SESSION_LEDGER_BRANCH_ID: branchId,
  SESSION_LEDGER_LEG: String(leg),
});

/** A leg of its own: it runs, perhaps again after a timeout, closes itself and has its end announced. */
const lead = async (ports: LegPorts, request: LegRequest, opened: Done): Promise<LegReport> => {
  const { sessionId, branchId } = opened;
  let { leg } = opened;
  let triesLeft = request.resumeOnTimeout;
  for (;;) {
    const current = leg;
    const end = await ports.runCommand(variables(sessionId, branchId, current), (child) => {
      // Not waited for: a log in trouble must not hold the leg up, and what comes too late is refused.
      void ports.useCases.recordActivity(
        sessionId,
        { leg: current, child },
        legContext(ports, sessionId, current),
      )();
    });
    const endedAt = ports.now();
    if (end.status === 'timed_out' && triesLeft > 0 && !end.stopRequested) {
      const next = await tryAgain(ports, sessionId, current, end);
      if (next !== null) {
        triesLeft -= 1;
        leg = next;
        continue;
      }
    }
    const close = await closeLeg(ports, sessionId, current, end, endedAt);
    await ports.announce(sessionId);
    return { _tag: 'Ended', end, sessionId, close };
  }
};

const legContext = (ports: LegPorts, sessionId: string, leg: number): CommandContext => ({
  actor: ports.actorNamed ? ports.actor : { type: 'leg', id: `${sessionId}/${leg}` },
});

/** The next leg after a timeout; null when the session has moved on or the log is away: then this leg closes. */
const tryAgain = async (
  ports: LegPorts,
  sessionId: string,
  leg: number,
  end: LegEnd,
): Promise<number | null> => {
  const taken = await ports.useCases.takeOver(
    sessionId,
    {
      leg,
      cause: 'timed_out',
      reason: { code: end.reasonCode, summary: end.reasonSummary },
      process: ports.self,
      evidence: null,
      metadata: {},
      notify: [],
    },
    legContext(ports, sessionId, leg),
  )();
  if (E.isLeft(taken) || taken.right.outcome !== 'taken_over') return null;
  ports.say(`leg ${leg} of session ${sessionId} timed out: trying again as leg ${taken.right.leg}`);
  return taken.right.leg;
};

const closeLeg = async (
  ports: LegPorts,
  sessionId: string,
  leg: number,
  end: LegEnd,
  endedAt: string,
): Promise<Outcome | null> => {
  const change = {
    to: end.status,
    reason: { code: end.reasonCode, summary: end.reasonSummary },
    endedAt,
    exit: end.exit,
    evidence: null,
    artifacts: [],
    override: null,
    leg,
    yields: true,
    source: 'cli.run',
  };
  const context = { ...legContext(ports, sessionId, leg), commandId: ports.newId() };
  const deadline = Date.now() + CLOSE_RETRY_MS;
  for (;;) {
    const closed = await ports.useCases.changeStatus(sessionId, change, context)();
    if (E.isRight(closed)) {
      tellClose(ports, sessionId, leg, end, closed.right);
      return closed.right;
    }
    if (closed.left._tag !== 'LogUnavailable') {
      ports.say(
        `session ${sessionId} is gone: the end of leg ${leg} (${end.status}) has no place to be recorded`,
      );
      return null;
    }
    if (Date.now() > deadline) {
      spool(ports, closed.left.message, { storeKey: ports.storeKey, sessionId, change, context });
      return null;
    }
    await delay(CLOSE_PAUSE_MS);
  }
};

const spool = (ports: LegPorts, problem: string, close: Parameters<typeof spoolClose>[1]): void => {
  try {
    const path = spoolClose(ports.stateDir, close);
    ports.say(
      `${problem}; the end of this leg is kept in ${path}: the next command that reaches the log appends it`,
    );
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    ports.say(
      `${problem}; and the end of this leg could not be kept (${why}): record it with \`session-ledger close ${close.sessionId} --leg ${String(close.change.leg)} --status ${close.change.to}\``,
    );
  }
};

const tellClose = (ports: LegPorts, sessionId: string, leg: number, end: LegEnd, outcome: Outcome): void => {
  if (outcome.outcome !== 'conflict' || outcome.current === null) return;
  const { current } = outcome;
  ports.say(
    current.leg === leg
      ? `session ${sessionId} is ${current.status} already, decided while this leg ran: its own end (${end.status}) changes nothing`
      : `session ${sessionId} has moved on to leg ${current.leg} (${current.status}): the end of leg ${leg} (${end.status}) changes nothing`,
  );
};

/** A leg beside the session's own: it records nothing and still announces its end to whoever waits for exactly it. */
const observe = async (ports: LegPorts, beside: Beside): Promise<LegReport> => {
  const startedAt = ports.now();
  const { sessionId, branchId } = beside;
  // No leg number of its own: 0 closes nothing.
  const end = await ports.runCommand(variables(sessionId, branchId, 0), () => undefined);
  await ports.announceObserver(beside, end, startedAt, ports.now());
  return { _tag: 'Ended', end, sessionId, close: null };
};
