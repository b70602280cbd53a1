/** `session-ledger/fp`: the ledger on fp-ts, every method a TaskEither. */
export { openLedger } from './library/fpLedger.js';
export type { FpLedger } from './library/fpLedger.js';
export type { RuntimeError } from './library/runtime.js';
export { describeLedgerError } from './ledger/outcome.js';
export type { LedgerError, Outcome } from './ledger/outcome.js';
export * from './library/public.js';
