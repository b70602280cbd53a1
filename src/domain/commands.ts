/** What may be asked of a session, and the check every command passes before anything is read (design §5, step 1). */
import * as E from 'fp-ts/lib/Either.js';
import * as z from 'zod';
import {
  Actor,
  Correlation,
  Evidence,
  Exit,
  LegNumber,
  NotifyIntent,
  Override,
  Reason,
  TAKE_OVER_CAUSES,
} from './events.js';
import { Id } from './ids.js';
import { Json } from './json.js';
import { ProcessIdentity } from './processIdentity.js';
import { unregisteredReason } from './reasons.js';
import type { ReasonRegistry } from './reasons.js';
import { Status } from './status.js';
import { Instant } from './time.js';

/** What a caller pins; anything not met is a conflict that writes nothing. */
const guards = {
  expectedStatuses: z.array(Status).min(1, 'name at least one status').optional(),
  expectedRevision: z.int().min(0).optional(),
};

const metadataPatch = z
  .record(z.string(), Json)
  .refine((value) => JSON.stringify(value).length <= 65_536, 'must be at most 65536 characters of JSON');

export const OpenSession = z.strictObject({
  _tag: z.literal('OpenSession'),
  sessionId: Id,
  branchId: Id,
  reason: Reason,
  process: ProcessIdentity.nullable(),
  metadata: metadataPatch,
  notify: z.array(NotifyIntent),
  correlation: Correlation,
});

export const ChangeStatus = z.strictObject({
  _tag: z.literal('ChangeStatus'),
  to: Status,
  reason: Reason,
  endedAt: Instant,
  exit: Exit.nullable(),
  evidence: Evidence,
  artifacts: z.array(z.string()),
  override: Override.nullable(),
  /** The leg that closes itself. */
  leg: LegNumber.optional(),
  /** True for a leg's own wrapper: a status that somebody else decided is left as it is, without a rejection. */
  yields: z.boolean(),
  /** Who attempts it, for the record of a rejection: `cli.close`, `http.close` … */
  source: z.string(),
  ...guards,
});

export const ReopenSession = z.strictObject({
  _tag: z.literal('ReopenSession'),
  reason: Reason,
  process: ProcessIdentity.nullable(),
  metadata: metadataPatch,
  notify: z.array(NotifyIntent),
  override: Override,
  ...guards,
});

export const TakeOverLeg = z.strictObject({
  _tag: z.literal('TakeOverLeg'),
  /** The leg that ended without a terminal status. */
  leg: LegNumber,
  cause: z.enum(TAKE_OVER_CAUSES),
  reason: Reason,
  process: ProcessIdentity.nullable(),
  evidence: Evidence,
  metadata: metadataPatch,
  notify: z.array(NotifyIntent),
  ...guards,
});

export const AppendReason = z.strictObject({ _tag: z.literal('AppendReason'), reason: Reason, ...guards });

export const RecordActivity = z.strictObject({
  _tag: z.literal('RecordActivity'),
  leg: LegNumber,
  child: ProcessIdentity.nullable(),
  ...guards,
});

export const Command = z.discriminatedUnion('_tag', [
  OpenSession,
  ChangeStatus,
  ReopenSession,
  TakeOverLeg,
  AppendReason,
  RecordActivity,
]);
export type Command = z.infer<typeof Command>;
export type CommandOf<T extends Command['_tag']> = Extract<Command, { readonly _tag: T }>;

/** What comes with a command: who gives it, and the id that makes a retry harmless. */
export const CommandContext = z.strictObject({
  actor: Actor,
  commandId: z.uuid().optional(),
  correlationId: z.string().optional(),
  causationId: z.string().optional(),
});
export type CommandContext = z.infer<typeof CommandContext>;

/** Checks a command and its context; the left side lists every problem as `path: what is wrong`. */
export const validate = (
  registry: ReasonRegistry,
  command: unknown,
  context: unknown,
): E.Either<readonly string[], { readonly command: Command; readonly context: CommandContext }> => {
  const checked = z
    .strictObject({ command: Command, context: CommandContext })
    .safeParse({ command, context });
  if (!checked.success)
    return E.left(
      checked.error.issues.map((issue) => `${issue.path.slice(1).join('.') || 'command'}: ${issue.message}`),
    );
  const given = checked.data.command;
  const problem = 'reason' in given ? unregisteredReason(registry, given.reason.code) : null;
  return problem === null ? E.right(checked.data) : E.left([problem]);
};
