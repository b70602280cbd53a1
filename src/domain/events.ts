/** The events of design §4: one zod schema a type, used when an event is written and again when it is read. */
import * as E from 'fp-ts/lib/Either.js';
import * as z from 'zod';
import { Id } from './ids.js';
import { Json } from './json.js';
import { ProcessIdentity } from './processIdentity.js';
import { REASON_CODE_PATTERN } from './reasons.js';
import { Status, TerminalStatus } from './status.js';
import { Instant } from './time.js';

export const SCHEMA_VERSION = 1;

const MAX_TEXT = 10_000;
const text = z
  .string()
  .max(MAX_TEXT, `must have at most ${MAX_TEXT} characters`)
  .refine((value) => value.isWellFormed(), 'contains text that is not valid Unicode (a lone surrogate)');
const notBlank = text.refine((value) => value.trim() !== '', 'must not be blank');

export const LegNumber = z.int().min(1);

/** A reason as an event carries it. Any well-formed code can be read: another machine may have registered more. */
export const Reason = z.object({ code: z.string().regex(REASON_CODE_PATTERN), summary: text });
export type Reason = z.infer<typeof Reason>;

export const Actor = z.object({ type: notBlank, id: notBlank });
export type Actor = z.infer<typeof Actor>;

export const Override = z.object({ actor: notBlank, justification: notBlank });
export type Override = z.infer<typeof Override>;

/** How the leg's command ended: its raw exit code or the signal that ended it. */
export const Exit = z.object({ code: z.int().nullable(), signal: z.string().nullable() });
export type Exit = z.infer<typeof Exit>;

/** A command to run when the session ends, bound to the host, the user and the key that recorded it (design §8). */
export const ExecIntent = z.object({
  kind: z.literal('exec'),
  template: notBlank,
  hostId: z.string(),
  user: z.string(),
  keyId: z.string(),
  mac: z.string(),
});
export type ExecIntent = z.infer<typeof ExecIntent>;

/** An intent of a kind this program does not know (a newer one wrote it) is kept and never acted on. */
const UnknownIntent = z.looseObject({ kind: z.string() });
export const NotifyIntent = z.union([ExecIntent, UnknownIntent]);
export type NotifyIntent = z.infer<typeof NotifyIntent>;

/** What makes two intents the same: the same command of the same user on the same host is told once. */
export const intentKey = (intent: NotifyIntent): string =>
  isExecIntent(intent)
    ? JSON.stringify([intent.hostId, intent.user, intent.template])
    : JSON.stringify(intent);

export const isExecIntent = (intent: NotifyIntent): intent is ExecIntent =>
  ExecIntent.safeParse(intent).success;

export const Correlation = z.record(z.string(), text).nullable();
export type Correlation = z.infer<typeof Correlation>;

/** What a judgement rests on: what was observed, against what. */
export const Evidence = z.record(z.string(), Json).nullable();
export type Evidence = z.infer<typeof Evidence>;

const metadataPatch = z.record(z.string(), Json);
export type MetadataPatch = z.infer<typeof metadataPatch>;

const SessionOpened = z.object({
  sessionId: Id,
  branchId: Id,
  leg: z.literal(1),
  reason: Reason,
  process: ProcessIdentity.nullable(),
  metadata: Json,
  notify: z.array(NotifyIntent),
  correlation: Correlation,
});

const transition = { sessionId: Id, from: Status, leg: LegNumber, reason: Reason };

const Closing = z.object({
  ...transition,
  to: TerminalStatus,
  endedAt: Instant,
  exit: Exit.nullable(),
  durationMs: z.int().min(0),
  evidence: Evidence,
  artifacts: z.array(text),
});

const Reopening = z.object({
  ...transition,
  to: z.literal('running'),
  process: ProcessIdentity.nullable(),
  metadata: metadataPatch,
  notify: z.array(NotifyIntent),
});

const TransitionOverridden = z.object({
  sessionId: Id,
  from: Status,
  to: Status,
  reasonCode: Reason.shape.code,
  override: Override,
});

const ReasonAppended = z.object({ sessionId: Id, status: Status, reason: Reason });

export const TAKE_OVER_CAUSES = ['process_gone', 'timed_out'] as const;

const LegTakenOver = z.object({
  sessionId: Id,
  leg: LegNumber,
  process: ProcessIdentity.nullable(),
  cause: z.enum(TAKE_OVER_CAUSES),
  reason: Reason,
  previous: ProcessIdentity.nullable(),
  evidence: Evidence,
  metadata: metadataPatch,
  notify: z.array(NotifyIntent),
});

const ActivityRecorded = z.object({
  sessionId: Id,
  leg: LegNumber,
  /** The command that the leg's process has started. */
  child: ProcessIdentity.nullable(),
});

const SessionPruneClaimed = z.object({ sessionId: Id, cutoff: Instant, actor: Actor });

const BranchBound = z.object({ branchId: Id, sessionId: Id, supersedes: Id.nullable() });

const TransitionRejected = z.object({
  sessionId: Id,
  from: Status,
  attempted: Status,
  reasonCode: Reason.shape.code,
  source: text,
});

const attempt = { consumer: z.string(), envelopeId: z.string(), sessionId: Id, attempt: z.int().min(1) };

const EnvelopeAttempted = z.object({ ...attempt, process: ProcessIdentity });
const EnvelopeDelivered = z.object({ ...attempt, result: text });
const EnvelopeFailed = z.object({ ...attempt, error: text });
const EnvelopeParked = z.object({ ...attempt, error: text });

/** Every type the ledger writes, with the schema of its data. */
export const DATA_SCHEMAS = {
  SessionOpened,
  StatusChanged: z.discriminatedUnion('to', [Reopening, Closing]),
  TransitionOverridden,
  ReasonAppended,
  LegTakenOver,
  ActivityRecorded,
  SessionPruneClaimed,
  BranchBound,
  TransitionRejected,
  EnvelopeAttempted,
  EnvelopeDelivered,
  EnvelopeFailed,
  EnvelopeParked,
} as const;

export type EventType = keyof typeof DATA_SCHEMAS;
export type EventData<T extends EventType> = z.infer<(typeof DATA_SCHEMAS)[T]>;
export type ClosingData = z.infer<typeof Closing>;
export type ReopeningData = z.infer<typeof Reopening>;

export const EventMetadata = z.object({
  schemaVersion: z.int().min(1),
  at: Instant,
  actor: Actor,
  correlationId: z.string().optional(),
  causationId: z.string().optional(),
});
export type EventMetadata = z.infer<typeof EventMetadata>;

/** What `decide` produces: an event without identity, time or author, which the ledger stamps on it. */
export type Draft = { [T in EventType]: { readonly type: T; readonly data: EventData<T> } }[EventType];

/** An event to append. `data` and `metadata` are JSON text, or bytes that are stored as they are. */
export interface NewEvent {
  readonly eventId: string;
  readonly type: string;
  readonly data: string | Uint8Array;
  readonly metadata: string | Uint8Array;
}

/** An event that parsed, with its place in its stream and in the log. */
export type LedgerEvent = Draft & {
  readonly eventId: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: bigint;
  readonly metadata: EventMetadata;
};

/** An event as an engine hands it out: content untouched, text as stored, bytes where it is not JSON. */
export interface RawEvent {
  readonly stream: string;
  readonly revision: number;
  readonly position: bigint;
  readonly eventId: string;
  readonly type: string;
  readonly data: string | Uint8Array;
  readonly metadata: string | Uint8Array;
  /** When the engine recorded it, milliseconds since the epoch: the only time an unreadable event has. */
  readonly recordedAt: number;
}

/** Reads one stored event; the left side says in words why it is none of ours. Never throws. */
export const parseEvent = (raw: RawEvent): E.Either<string, LedgerEvent> => {
  if (!isEventType(raw.type)) return E.left(`unknown event type ${JSON.stringify(raw.type)}`);
  const data = readJson(raw.data);
  const metadata = readJson(raw.metadata);
  if (E.isLeft(data)) return E.left(`its data is not JSON: ${data.left}`);
  if (E.isLeft(metadata)) return E.left(`its metadata is not JSON: ${metadata.left}`);
  const checkedData = DATA_SCHEMAS[raw.type].safeParse(data.right);
  if (!checkedData.success)
    return E.left(`its data does not fit ${raw.type}: ${firstProblem(checkedData.error)}`);
  const checkedMetadata = EventMetadata.safeParse(metadata.right);
  if (!checkedMetadata.success)
    return E.left(`its metadata does not fit: ${firstProblem(checkedMetadata.error)}`);
  const { stream, revision, position, eventId } = raw;
  const draft = { type: raw.type, data: checkedData.data } as Draft;
  return E.right({ ...draft, stream, revision, position, eventId, metadata: checkedMetadata.data });
};

const isEventType = (type: string): type is EventType => Object.hasOwn(DATA_SCHEMAS, type);

const readJson = (content: string | Uint8Array): E.Either<string, unknown> => {
  if (typeof content !== 'string') return E.left('it is binary');
  try {
    return E.right(JSON.parse(content));
  } catch (error) {
    return E.left(error instanceof Error ? error.message : String(error));
  }
};

/** The first of zod's complaints as `path: message`. */
export const firstProblem = (error: z.ZodError): string => {
  const issue = error.issues[0];
  if (issue === undefined) return 'it does not fit';
  const path = issue.path.join('.');
  return path === '' ? issue.message : `${path}: ${issue.message}`;
};
