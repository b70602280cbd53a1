/** `session-ledger`: the ledger for TypeScript programs, on promises. */
export { openLedger } from './library/promiseLedger.js';
export type { Answer, Invalid, Ledger, NotFound, Unavailable } from './library/promiseLedger.js';

export type {
  CloseOptions,
  EnvelopeSubscription,
  Guards,
  LegOptions,
  NoteOptions,
  OpenLedgerOptions,
  OpenOptions,
  PositionedEnvelope,
  ReopenOptions,
} from './library/fpLedger.js';
export type { Logger } from './library/logger.js';
export type { Conflict, Done, Rejected } from './ledger/outcome.js';
export { STATUSES, TERMINAL_STATUSES } from './domain/status.js';
export type { Status, TerminalStatus } from './domain/status.js';
export type { Envelope, EnvelopeData } from './domain/envelope.js';
export type { ProcessIdentity } from './domain/processIdentity.js';
export type { HistoryEntry } from '../projections/history.js';
export type { OverrideRow } from '../projections/overrides.js';
export type { RejectionRow } from '../projections/rejections.js';
export type { SessionRow } from '../projections/sessionRow.js';
