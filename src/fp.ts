/** `session-ledger/fp`: the ledger on fp-ts, every method a TaskEither. */
export { openLedger } from './library/fpLedger.js';
export type {
  CloseOptions,
  EnvelopeSubscription,
  FpLedger,
  Guards,
  LegOptions,
  NoteOptions,
  OpenLedgerOptions,
  OpenOptions,
  PositionedEnvelope,
  ReopenOptions,
} from './library/fpLedger.js';
export type { RuntimeError } from './library/runtime.js';
export type { Logger } from './library/logger.js';
export { describeLedgerError } from './ledger/outcome.js';
export type { Conflict, Done, LedgerError, Outcome, Rejected } from './ledger/outcome.js';
export { STATUSES, TERMINAL_STATUSES } from './domain/status.js';
export type { Status, TerminalStatus } from './domain/status.js';
export type { Envelope, EnvelopeData } from './domain/envelope.js';
export type { ProcessIdentity, Verdict } from './domain/processIdentity.js';
export type { HistoryEntry } from '../projections/history.js';
export type { OverrideRow } from '../projections/overrides.js';
export type { RejectionRow } from '../projections/rejections.js';
export type { SessionRow } from '../projections/sessionRow.js';
