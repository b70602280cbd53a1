/** What the projector reads and writes, as prepared statements over one set of tables (the live one, or one being rebuilt). */
import type Database from 'better-sqlite3';
import type { DeliveryState } from '../../projections/deliveries.js';
import type { Announcement } from '../../projections/envelopes.js';
import type { OverrideRow } from '../../projections/overrides.js';
import type { RejectionRow } from '../../projections/rejections.js';
import { unboundBranch } from '../domain/branch.js';
import type { BranchState } from '../domain/branch.js';
import type { RawEvent } from '../domain/events.js';
import { initialState } from '../domain/session.js';
import type { SessionState } from '../domain/session.js';
import { decodeState, encodeState } from './codec.js';

export interface Checkpoint {
  readonly position: bigint;
  readonly eventId: string | null;
}

export interface Tables {
  readonly checkpoint: () => Checkpoint;
  readonly moveCheckpoint: (checkpoint: Checkpoint) => void;
  readonly session: (sessionId: string) => SessionState;
  readonly saveSession: (sessionId: string, state: SessionState) => void;
  readonly branch: (branchId: string) => BranchState;
  readonly saveBranch: (branchId: string, state: BranchState) => void;
  readonly addOverride: (override: OverrideRow) => void;
  readonly addRejection: (rejection: RejectionRow) => void;
  readonly announce: (sessionId: string, announcement: Announcement) => void;
  /** Null for an envelope that this consumer is not owed, or has not been tried with. */
  readonly delivery: (consumer: string, envelopeId: string) => DeliveryState | null;
  readonly saveDelivery: (consumer: string, envelopeId: string, delivery: DeliveryState) => void;
  readonly addIrregular: (event: RawEvent, rule: string) => void;
  readonly removeIrregular: (position: bigint) => void;
}

interface NoticeRow {
  readonly state: DeliveryState['state'] | 'owed';
  readonly attempts: number;
  readonly owner: string | null;
  readonly last_error: string | null;
}

export const makeTables = (db: Database.Database, prefix: string): Tables => {
  const sql = {
    checkpoint: db.prepare<[], { position: number; event_id: string | null }>(
      `SELECT position, event_id FROM ${prefix}checkpoint`,
    ),
    moveCheckpoint: db.prepare<[number, string | null]>(
      `UPDATE ${prefix}checkpoint SET position = ?, event_id = ?`,
    ),
    session: db.prepare<[string], string>(`SELECT state FROM ${prefix}sessions WHERE session_id = ?`).pluck(),
    saveSession: db.prepare<[string, string | null, string | null, string | null, string]>(
      `INSERT INTO ${prefix}sessions VALUES (?, ?, ?, ?, ?) ON CONFLICT (session_id) DO UPDATE SET
         branch_id = excluded.branch_id, status = excluded.status, leg_started_at = excluded.leg_started_at, state = excluded.state`,
    ),
    branch: db.prepare<[string], string>(`SELECT state FROM ${prefix}branches WHERE branch_id = ?`).pluck(),
    saveBranch: db.prepare<[string, string]>(`INSERT OR REPLACE INTO ${prefix}branches VALUES (?, ?)`),
    addOverride: db.prepare<[number, string, string, string]>(
      `INSERT OR IGNORE INTO ${prefix}overrides VALUES (?, ?, ?, ?)`,
    ),
    addRejection: db.prepare<[number, string, string, string, string]>(
      `INSERT OR IGNORE INTO ${prefix}rejections VALUES (?, ?, ?, ?, ?)`,
    ),
    addEnvelope: db.prepare<[number, string, string, string]>(
      `INSERT OR IGNORE INTO ${prefix}envelopes VALUES (?, ?, ?, ?)`,
    ),
    addNotice: db.prepare<[string, string, number, string, string]>(
      `INSERT OR IGNORE INTO ${prefix}notices VALUES (?, ?, ?, ?, ?, 'owed', 0, NULL, NULL)`,
    ),
    notice: db.prepare<[string, string], NoticeRow>(
      `SELECT state, attempts, owner, last_error FROM ${prefix}notices WHERE envelope_id = ? AND consumer = ?`,
    ),
    saveNotice: db.prepare<[string, number, string | null, string | null, string, string]>(
      `UPDATE ${prefix}notices SET state = ?, attempts = ?, owner = ?, last_error = ? WHERE envelope_id = ? AND consumer = ?`,
    ),
    addIrregular: db.prepare<[number, string, number, string]>(
      `INSERT OR REPLACE INTO ${prefix}irregulars VALUES (?, ?, ?, ?)`,
    ),
    removeIrregular: db.prepare<[number]>(`DELETE FROM ${prefix}irregulars WHERE position = ?`),
  };
  return {
    checkpoint: () => {
      const row = sql.checkpoint.get();
      return { position: BigInt(row?.position ?? 0), eventId: row?.event_id ?? null };
    },
    moveCheckpoint: ({ position, eventId }) => sql.moveCheckpoint.run(Number(position), eventId),
    session: (sessionId) => {
      const state = sql.session.get(sessionId);
      return state === undefined ? initialState : decodeState(state);
    },
    saveSession: (sessionId, state) => {
      const { session } = state;
      sql.saveSession.run(
        sessionId,
        session?.branchId ?? null,
        session?.status ?? null,
        session?.legStartedAt ?? null,
        encodeState(state),
      );
    },
    branch: (branchId) => {
      const state = sql.branch.get(branchId);
      return state === undefined ? unboundBranch : (JSON.parse(state) as BranchState);
    },
    saveBranch: (branchId, state) => sql.saveBranch.run(branchId, JSON.stringify(state)),
    addOverride: ({ position, ...override }) =>
      sql.addOverride.run(Number(position), override.sessionId, override.at, JSON.stringify(override)),
    addRejection: ({ position, ...rejection }) =>
      sql.addRejection.run(
        Number(position),
        rejection.eventId,
        rejection.sessionId,
        rejection.at,
        JSON.stringify(rejection),
      ),
    announce: (sessionId, { envelope, position, notices }) => {
      sql.addEnvelope.run(Number(position), envelope.id, sessionId, JSON.stringify(envelope));
      for (const { consumer, intent } of notices)
        sql.addNotice.run(envelope.id, consumer, Number(position), sessionId, JSON.stringify(intent));
    },
    delivery: (consumer, envelopeId) => {
      const row = sql.notice.get(envelopeId, consumer);
      if (row === undefined || row.state === 'owed') return null;
      const owner = row.owner === null ? null : (JSON.parse(row.owner) as DeliveryState['owner']);
      return { state: row.state, attempts: row.attempts, owner, lastError: row.last_error };
    },
    saveDelivery: (consumer, envelopeId, { state, attempts, owner, lastError }) =>
      sql.saveNotice.run(
        state,
        attempts,
        owner === null ? null : JSON.stringify(owner),
        lastError,
        envelopeId,
        consumer,
      ),
    addIrregular: ({ position, stream, revision }, rule) =>
      sql.addIrregular.run(Number(position), stream, revision, rule),
    removeIrregular: (position) => sql.removeIrregular.run(Number(position)),
  };
};
