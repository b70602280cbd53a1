/** Puts the rooms together for one store: the log, the use cases, the read model, and the delivery of notices. */
import * as E from 'fp-ts/lib/Either.js';
import type * as TE from 'fp-ts/lib/TaskEither.js';
import { v7 } from 'uuid';
import type { Settings } from '../config/settings.js';
import type { DeliverySummary } from '../delivery/deliver.js';
import type { NotifyIntent } from '../domain/events.js';
import { judgeLeg } from '../domain/processIdentity.js';
import type { ProcessIdentity, Verdict } from '../domain/processIdentity.js';
import { makeUseCases } from '../ledger/ledger.js';
import type { UseCases } from '../ledger/ledger.js';
import { openLog } from '../log/open.js';
import type { EventLog, LogUnavailable } from '../log/port.js';
import { hostFacts, observe } from '../process/liveness.js';
import type { ReadModel } from '../projector/readModel.js';
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
