/** A ledger on a real engine, with a clock, ids and a judge that the test drives. */
import { onTestFinished } from 'vitest';
import { v7 } from 'uuid';
import * as E from 'fp-ts/lib/Either.js';
import type { CommandContext } from '../../src/domain/commands.js';
import type { RawEvent } from '../../src/domain/events.js';
import { AUDIT_STREAM, sessionStream } from '../../src/domain/ids.js';
import type { ProcessIdentity, Verdict } from '../../src/domain/processIdentity.js';
import { buildReasonRegistry } from '../../src/domain/reasons.js';
import { replay } from '../../src/domain/session.js';
import type { Session } from '../../src/domain/session.js';
import type { Status } from '../../src/domain/status.js';
import { makeUseCases } from '../../src/ledger/ledger.js';
import type { UseCases } from '../../src/ledger/ledger.js';
import type { LedgerError, Outcome } from '../../src/ledger/outcome.js';
import type { NewLeg } from '../../src/ledger/resumeSession.js';
import type { EventLog } from '../../src/log/port.js';
import { openReadModel } from '../../src/projector/readModel.js';
import { rowOf } from '../../projections/sessionRow.js';
import type { Engine } from './engines.js';
import { right } from './engines.js';

export const USER: CommandContext = { actor: { type: 'user', id: 'tester' } };

export const processOf = (pid: number): ProcessIdentity => ({
  mode: 'local',
  pid,
  startTime: String(pid * 10),
  bootId: 'boot',
  hostId: 'host',
  pidNamespace: 'pid:[1]',
});

export interface World {
  readonly log: EventLog;
  readonly useCases: UseCases;
  /** Pids that are gone. */
  readonly gone: Set<number>;
  readonly advance: (ms: number) => void;
  readonly now: () => string;
  readonly open: (
    sessionId: string,
    more?: Partial<Parameters<UseCases['open']>[0]>,
    context?: CommandContext,
  ) => Promise<Outcome>;
  readonly close: (
    sessionId: string,
    to: Status,
    more?: Partial<Parameters<UseCases['changeStatus']>[1]>,
    context?: CommandContext,
  ) => Promise<Outcome>;
  readonly reopen: (
    sessionId: string,
    pid?: number,
    more?: Parameters<UseCases['reopen']>[2],
    context?: CommandContext,
  ) => Promise<Outcome>;
  readonly resume: (target: string, pid?: number) => Promise<Outcome>;
  readonly session: (sessionId: string) => Promise<Session>;
  readonly events: (sessionId: string) => Promise<readonly RawEvent[]>;
  readonly types: (sessionId: string) => Promise<readonly string[]>;
  readonly audit: () => Promise<readonly RawEvent[]>;
  /** Appends whatever a foreign writer may append. */
  readonly forge: (stream: string, type: string, data: unknown, metadata?: unknown) => Promise<void>;
}

export const newLeg = (pid: number, more: Partial<NewLeg> = {}): NewLeg => ({
  process: processOf(pid),
  metadata: {},
  notify: () => [],
  override: { actor: 'cli.resume', justification: 'resumed' },
  summary: 'resumed',
  ...more,
});

export const expectDone = (result: E.Either<LedgerError, Outcome>): Outcome => right(result);

/** `wrap` may stand between the use cases and the engine, to do something at a moment of its choice. */
export const world = async (
  engine: Engine,
  wrap: (log: EventLog) => EventLog = (log) => log,
): Promise<World> => {
  const opened = await engine.open();
  onTestFinished(opened.dispose);
  return worldOn(opened.log, wrap);
};

export const worldOn = (log: EventLog, wrap: (log: EventLog) => EventLog = (given) => given): World => {
  let ms = Date.parse('2026-01-01T00:00:00.000Z');
  const gone = new Set<number>();
  const now = () => new Date(ms).toISOString();
  const newId = () => v7();
  const judge = (process: ProcessIdentity | null): Verdict => {
    if (process?.pid == null) return { verdict: 'no_pid', evidence: 'none' };
    return gone.has(process.pid)
      ? { verdict: 'gone', evidence: `pid ${process.pid} is gone` }
      : { verdict: 'alive', evidence: `pid ${process.pid} lives` };
  };
  const useCases = makeUseCases({
    log: wrap(log),
    registry: right(buildReasonRegistry()),
    now,
    newId,
    judgeLeg: (process) => judge(process),
    findRejection: (eventId) => async () => {
      const model = right(await openReadModel(':memory:', log)());
      const found = right(await model.rejectionById(eventId)());
      const row = found === null ? null : right(await model.row(found.sessionId)());
      model.close();
      return E.right(row);
    },
  });
  const events = async (sessionId: string) => right(await log.readStream(sessionStream(sessionId))());
  return {
    log,
    useCases,
    gone,
    now,
    advance: (by) => {
      ms += by;
    },
    open: async (sessionId, more = {}, context = USER) =>
      right(
        await useCases.open(
          {
            sessionId,
            reason: { code: 'run.started.ok', summary: '' },
            process: processOf(100),
            metadata: {},
            notify: () => [],
            correlation: null,
            ...more,
          },
          context,
        )(),
      ),
    close: async (sessionId, to, more = {}, context = USER) =>
      right(await useCases.changeStatus(sessionId, closing(to, now(), more), context)()),
    reopen: async (sessionId, pid = 200, more = {}, context = USER) =>
      right(await useCases.reopen(sessionId, newLeg(pid), more, context)()),
    resume: async (target, pid = 200) => right(await useCases.resume(target, newLeg(pid), USER)()),
    session: async (sessionId) => {
      const { session } = replay(sessionId, await events(sessionId));
      if (session === null) throw new Error(`no session ${sessionId}`);
      return session;
    },
    events,
    types: async (sessionId) => (await events(sessionId)).map(({ type }) => type),
    audit: async () => right(await log.readStream(AUDIT_STREAM)()),
    forge: async (stream, type, data, metadata = META) => {
      const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
      right(
        await log.append(
          stream,
          [{ eventId: newId(), type, data: text(data), metadata: text(metadata) }],
          'any',
        )(),
      );
    },
  };
};

export const META = {
  schemaVersion: 1,
  at: '2026-01-01T00:00:00.000Z',
  actor: { type: 'foreign', id: 'writer' },
};

export const closing = (
  to: Status,
  endedAt: string,
  more: Partial<Parameters<UseCases['changeStatus']>[1]> = {},
): Parameters<UseCases['changeStatus']>[1] => ({
  to,
  reason: { code: to === 'running' ? 'run.started.ok' : 'run.completed.ok', summary: '' },
  endedAt,
  exit: null,
  evidence: null,
  artifacts: [],
  override: null,
  yields: false,
  source: 'test',
  ...more,
});

export const rowIn = async (w: World, sessionId: string) =>
  rowOf(replay(sessionId, await w.events(sessionId)));
