/** What the read model answers: the types alone, free of the engine that holds it. */
import type * as TE from 'fp-ts/lib/TaskEither.js';
import type { OverrideRow } from '../../projections/overrides.js';
import type { RejectionRow } from '../../projections/rejections.js';
import type { SessionRow } from '../../projections/sessionRow.js';
import type { NoticeQueue } from '../delivery/queue.js';
import type { Envelope } from '../domain/envelope.js';
import type { NotifyIntent } from '../domain/events.js';
import type { Status } from '../domain/status.js';
import type { LogUnavailable } from '../log/port.js';

export interface SessionFilter {
  readonly status?: Status | undefined;
  readonly branch?: string | undefined;
  /** Legs that started at this time or later, ISO-8601 UTC. */
  readonly since?: string | undefined;
  readonly limit?: number | undefined;
}

export interface RejectionFilter {
  /** A session id, or its beginning. */
  readonly session?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export interface OverrideFilter extends RejectionFilter {
  /** Whom the override names, or who gave the command. */
  readonly actor?: string | undefined;
}

export interface EnvelopeRow {
  readonly position: bigint;
  readonly envelope: Envelope;
}

export interface NoticeState {
  readonly consumer: string;
  readonly intent: NotifyIntent;
  readonly state: 'owed' | 'attempting' | 'failed' | 'delivered' | 'parked';
  readonly attempts: number;
  readonly lastError: string | null;
}

export interface Irregular {
  readonly position: bigint;
  readonly stream: string;
  readonly revision: number;
  readonly rule: string;
}

export interface StatusReport {
  /** Position of the last event of the log, and the one that the read model has got to. */
  readonly head: bigint;
  readonly position: bigint;
  readonly sessions: Readonly<Record<string, number>>;
  readonly notices: Readonly<Record<string, number>>;
  readonly irregularCount: number;
  /** The latest of them. */
  readonly irregulars: readonly Irregular[];
}

export interface Progress {
  /** How many events were applied just now. */
  readonly applied: number;
  /** The position that the read model has got to. */
  readonly position: bigint;
}

export type Query<A> = TE.TaskEither<LogUnavailable, A>;

export type Resolved =
  | { readonly _tag: 'one'; readonly id: string }
  | { readonly _tag: 'none' }
  | { readonly _tag: 'many'; readonly candidates: readonly string[] };

export interface ReadModel extends NoticeQueue {
  readonly catchUp: () => Query<Progress>;
  readonly rebuild: (onProgress?: (applied: number) => void) => Query<Progress>;
  readonly row: (sessionId: string) => Query<SessionRow | null>;
  /** Latest leg first. */
  readonly list: (filter: SessionFilter) => Query<readonly SessionRow[]>;
  /** The session that alone has this prefix, or this id. */
  readonly resolve: (prefix: string) => Query<Resolved>;
  readonly overrides: (filter: OverrideFilter) => Query<readonly OverrideRow[]>;
  readonly rejections: (filter: RejectionFilter) => Query<readonly RejectionRow[]>;
  readonly rejectionById: (eventId: string) => Query<RejectionRow | null>;
  readonly envelopesAfter: (position: bigint, limit: number) => Query<readonly EnvelopeRow[]>;
  readonly envelopesOf: (
    sessionId: string,
  ) => Query<readonly (EnvelopeRow & { readonly notices: readonly NoticeState[] })[]>;
  readonly status: () => Query<StatusReport>;
  readonly close: () => void;
}
