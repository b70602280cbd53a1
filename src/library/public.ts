/** The names that both entry points publish. */
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
} from './fpLedger.js';
export type { Logger } from './logger.js';
export type { Conflict, Done, Rejected } from '../ledger/outcome.js';
export { STATUSES, TERMINAL_STATUSES } from '../domain/status.js';
export type { Status, TerminalStatus } from '../domain/status.js';
export type { Envelope, EnvelopeData } from '../domain/envelope.js';
export type { ProcessIdentity } from '../domain/processIdentity.js';
export type { DeliverySummary } from '../delivery/deliver.js';
export type { HistoryEntry } from '../../projections/history.js';
export type { OverrideRow } from '../../projections/overrides.js';
export type { RejectionRow } from '../../projections/rejections.js';
export type { SessionRow } from '../../projections/sessionRow.js';
