/** Puts the rooms together for one store: the log, the use cases, the read model, and the delivery of notices. */
import * as E from 'fp-ts/lib/Either.js';
import type * as TE from 'fp-ts/lib/TaskEither.js';
import { v7 } from 'uuid';
import type { Settings } from '../config/settings.js';
import { judgeLeg } from '../domain/processIdentity.js';
import type { ProcessIdentity, Verdict } from '../domain/processIdentity.js';
import { makeUseCases } from '../ledger/ledger.js';
import type { UseCases } from '../ledger/ledger.js';
import { describeOpenError, openLog } from '../log/open.js';
import type { OpenError } from '../log/open.js';
import type { EventLog, LogUnavailable } from '../log/port.js';
import { hostFacts, observe } from '../process/liveness.js';
import type { ReadModel } from '../projector/model.js';
import { makeNotices } from './notices.js';
import type { Notices } from './notices.js';
import type { Logger } from './logger.js';

/** What keeps a ledger from being opened or read, with the way out in its words. */
export type RuntimeError = { readonly _tag: 'Configuration'; readonly message: string } | LogUnavailable;

export interface Runtime {
  readonly settings: Settings;
  readonly logger: Logger;
  readonly log: EventLog;
  readonly useCases: UseCases;
  readonly now: () => string;
  readonly newId: () => string;
  readonly judgeLeg: (process: ProcessIdentity | null, child: ProcessIdentity | null) => Verdict;
  /** Opened when it is first asked for: the commands that only append do not need it. */
  readonly readModel: TE.TaskEither<RuntimeError, ReadModel>;
  readonly notices: Notices;
  readonly close: () => Promise<void>;
}

/** Opens everything for these settings; what is opened is closed by `close`. */
export const openRuntime =
  (settings: Settings, logger: Logger): TE.TaskEither<RuntimeError, Runtime> =>
  async () => {
    const opened = await openLog(settings.store)();
    if (E.isLeft(opened)) return E.left(asRuntimeError(opened.left));
    const log = opened.right;
    let model: Promise<E.Either<RuntimeError, ReadModel>> | null = null;
    const readModel = () => (model ??= loadReadModel(settings.readModel, log));
    const now = () => new Date().toISOString();
    const newId = () => v7();
    const judge: Runtime['judgeLeg'] = (process, child) => judgeLeg(process, child, hostFacts(), observe);
    const useCases = makeUseCases({
      log,
      registry: settings.registry,
      now,
      newId,
      judgeLeg: judge,
      findRejection: (eventId) => async () => {
        const loaded = await readModel();
        if (E.isLeft(loaded))
          return E.left({ outcomeUnknown: false, ...loaded.left, _tag: 'LogUnavailable' });
        const found = await loaded.right.rejectionById(eventId)();
        if (E.isLeft(found) || found.right === null) return found as E.Either<LogUnavailable, null>;
        const row = await loaded.right.row(found.right.sessionId)();
        return E.isLeft(row) || row.right === null ? E.right(null) : E.right(row.right);
      },
    });
    const base = { settings, log, useCases, readModel, now, newId, judgeLeg: judge };
    return E.right({
      ...base,
      logger,
      notices: makeNotices(base),
      close: async () => {
        const loaded = await model;
        if (loaded !== null && E.isRight(loaded)) loaded.right.close();
        await log.close();
      },
    });
  };

/** SQLite is loaded with the read model, so that a command that needs neither starts faster. */
const loadReadModel = async (path: string, log: EventLog): Promise<E.Either<RuntimeError, ReadModel>> => {
  const { openReadModel } = await import('../projector/readModel.js');
  const opened = await openReadModel(path, log)();
  return E.isLeft(opened)
    ? E.left({ _tag: 'LogUnavailable', message: opened.left, outcomeUnknown: false })
    : opened;
};

/** A store that is named wrongly is a matter of configuration; one that is there and cannot be used, of the log. */
const asRuntimeError = (error: OpenError): RuntimeError => {
  const message = describeOpenError(error);
  return error._tag === 'BadStore'
    ? { _tag: 'Configuration', message }
    : { _tag: 'LogUnavailable', message, outcomeUnknown: false };
};
