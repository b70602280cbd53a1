/** The ledger on promises: every expected outcome is a member of a union that `outcome` tells apart. */
import * as E from 'fp-ts/lib/Either.js';
import type * as TE from 'fp-ts/lib/TaskEither.js';
import { describeLedgerError } from '../ledger/outcome.js';
import type { LedgerError, Outcome } from '../ledger/outcome.js';
import { openLedger as openFpLedger } from './fpLedger.js';
import type { FpLedger, OpenLedgerOptions } from './fpLedger.js';
import type { RuntimeError } from './runtime.js';

/** The command is wrong; nothing was read. */
export interface Invalid {
  readonly outcome: 'invalid';
  readonly problems: readonly string[];
}
export interface NotFound {
  readonly outcome: 'not_found';
  readonly sessionId: string;
  readonly pruned: boolean;
}
/** The log did not answer; `outcomeUnknown`: retry with the same `commandId`. */
export interface Unavailable {
  readonly outcome: 'unavailable';
  readonly message: string;
  readonly outcomeUnknown: boolean;
}

/** What a writing call resolves to. */
export type Answer = Outcome | Invalid | NotFound | Unavailable;

type Writes = 'open' | 'close' | 'reopen' | 'resume' | 'note' | 'recordActivity';
type Reads = 'get' | 'list' | 'history' | 'overrides' | 'rejections' | 'deliver' | 'rebuildProjections';
type Value<K extends Reads> = ReturnType<FpLedger[K]> extends TE.TaskEither<unknown, infer A> ? A : never;

export type Ledger = {
  readonly [K in Writes]: (...args: Parameters<FpLedger[K]>) => Promise<Answer>;
} & {
  /** Rejects when the log is unavailable or the session does not exist. */
  readonly [K in Reads]: (...args: Parameters<FpLedger[K]>) => Promise<Value<K>>;
} & Pick<FpLedger, 'envelopes' | 'dispose'> &
  AsyncDisposable;

/** Opens a ledger. Rejects, with a message that names the cause and the way out, when that is not possible. */
export const openLedger = async (options: OpenLedgerOptions = {}): Promise<Ledger> => {
  const fp = await value(openFpLedger(options));
  return {
    open: (...args) => answer(fp.open(...args)),
    close: (...args) => answer(fp.close(...args)),
    reopen: (...args) => answer(fp.reopen(...args)),
    resume: (...args) => answer(fp.resume(...args)),
    note: (...args) => answer(fp.note(...args)),
    recordActivity: (...args) => answer(fp.recordActivity(...args)),
    get: (...args) => value(fp.get(...args)),
    list: (...args) => value(fp.list(...args)),
    history: (...args) => value(fp.history(...args)),
    overrides: (...args) => value(fp.overrides(...args)),
    rejections: (...args) => value(fp.rejections(...args)),
    deliver: (...args) => value(fp.deliver(...args)),
    rebuildProjections: () => value(fp.rebuildProjections()),
    envelopes: fp.envelopes,
    dispose: fp.dispose,
    [Symbol.asyncDispose]: fp.dispose,
  };
};

const answer = async (task: TE.TaskEither<LedgerError | RuntimeError, Outcome>): Promise<Answer> => {
  const result = await task();
  if (E.isRight(result)) return result.right;
  const error = result.left;
  switch (error._tag) {
    case 'Invalid':
      return { outcome: 'invalid', problems: error.problems };
    case 'NotFound':
      return { outcome: 'not_found', sessionId: error.sessionId, pruned: error.pruned };
    case 'Configuration':
      return { outcome: 'unavailable', message: error.message, outcomeUnknown: false };
    case 'LogUnavailable':
      return { outcome: 'unavailable', message: error.message, outcomeUnknown: error.outcomeUnknown };
  }
};

const value = async <A>(task: TE.TaskEither<LedgerError | RuntimeError, A>): Promise<A> => {
  const result = await task();
  if (E.isRight(result)) return result.right;
  const error = result.left;
  throw new Error(error._tag === 'Configuration' ? error.message : describeLedgerError(error), {
    cause: error,
  });
};
