/** The closed registry of reason codes: built once, checked when built, immutable, extensible by configuration (design §4). */
import * as E from 'fp-ts/lib/Either.js';
import type { TerminalStatus } from './status.js';

export interface ReasonDefinition {
  /** Three lower-case segments `domain.outcome.cause`; the domain is `run` or `session`. */
  readonly code: string;
  /** One sentence: what the code says of a session. */
  readonly meaning: string;
  /** True when nobody saw the leg end and a sweep only inferred it; the leg's own close may correct it (design §5). */
  readonly inferred?: boolean;
}

export interface ReasonRegistry {
  readonly all: readonly ReasonDefinition[];
  readonly has: (code: string) => boolean;
  readonly isInferred: (code: string) => boolean;
}

export const REASON_CODE_PATTERN = /^(run|session)(\.[a-z][a-z0-9_]*){2}$/;

const BUILT_IN: readonly ReasonDefinition[] = [
  { code: 'run.started.ok', meaning: 'the leg started' },
  { code: 'run.completed.ok', meaning: 'the leg did its work and ended by itself' },
  { code: 'run.completed_empty.no_evidence', meaning: 'the leg ended by itself and left no output' },
  { code: 'run.failed.exit_nonzero', meaning: 'the command exited with a code other than 0' },
  { code: 'run.failed.exception', meaning: 'the leg ended by an error or by a signal that nobody asked for' },
  { code: 'run.failed.spawn', meaning: 'the command could not be started' },
  { code: 'run.failed.missing_artifact', meaning: 'the leg ended without an artifact it owed' },
  { code: 'run.failed.orphaned', meaning: 'the process that owned the leg is gone', inferred: true },
  { code: 'run.timed_out.deadline', meaning: 'the leg ran longer than its time limit' },
  { code: 'run.aborted.user', meaning: 'the person at the terminal stopped the leg' },
  { code: 'run.cancelled.sigint', meaning: 'the leg was stopped by SIGINT' },
  { code: 'run.cancelled.sigterm', meaning: 'the leg was stopped by SIGTERM' },
  { code: 'run.cancelled.system', meaning: 'the system stopped the leg' },
  { code: 'run.cancelled.orchestrator', meaning: 'whoever submitted the work stopped the leg' },
  { code: 'run.cancelled.manual_kill', meaning: 'an operator ended the leg' },
  { code: 'run.cancelled.force_kill', meaning: 'an operator ended the leg with SIGKILL' },
  { code: 'run.cancelled.stale_auto', meaning: 'a sweep took the leg for stale', inferred: true },
  { code: 'session.reopened.by_resume', meaning: 'a new leg resumed the session' },
  { code: 'session.taken_over.process_gone', meaning: 'a new leg took over from a process that is gone' },
  { code: 'session.corrected.late_outcome', meaning: 'a leg that a sweep had ended told its true outcome' },
  { code: 'session.stale.no_heartbeat', meaning: 'a sweep took the session for dead', inferred: true },
  {
    code: 'session.orphaned.no_process',
    meaning: 'no process belongs to the session any more',
    inferred: true,
  },
  { code: 'session.phantom.process_dead', meaning: 'the recorded process is dead', inferred: true },
];

const DEFAULT_BY_STATUS: Readonly<Record<TerminalStatus, string>> = {
  completed: 'run.completed.ok',
  completed_empty: 'run.completed_empty.no_evidence',
  failed: 'run.failed.exception',
  timed_out: 'run.timed_out.deadline',
  aborted: 'run.aborted.user',
  cancelled: 'run.cancelled.system',
};

/** The code a close takes when it names none; a failure that left an exit code is told apart from one that did not. */
export const defaultReasonFor = (status: TerminalStatus, exitCode: number | null): string =>
  status === 'failed' && exitCode !== null && exitCode !== 0
    ? 'run.failed.exit_nonzero'
    : DEFAULT_BY_STATUS[status];

/**
 * Builds the registry from the built-in codes and a configuration's.
 * Returns every problem found (malformed code, unknown domain, empty meaning, a code defined twice) as one sentence each.
 */
export const buildReasonRegistry = (
  extra: readonly ReasonDefinition[] = [],
): E.Either<readonly string[], ReasonRegistry> => {
  const byCode = new Map<string, ReasonDefinition>();
  const problems: string[] = [];
  for (const definition of [...BUILT_IN, ...extra]) {
    const { code, meaning } = definition;
    const problem = malformedCode(code);
    if (problem !== null) problems.push(problem);
    else if (byCode.has(code)) problems.push(`reason code "${code}" is defined twice`);
    else if (meaning.trim() === '') problems.push(`reason code "${code}" has an empty meaning`);
    else byCode.set(code, Object.freeze({ ...definition }));
  }
  if (problems.length > 0) return E.left(problems);
  return E.right(
    Object.freeze({
      all: Object.freeze([...byCode.values()]),
      has: (code: string) => byCode.has(code),
      isInferred: (code: string) => byCode.get(code)?.inferred === true,
    }),
  );
};

/** Says what is wrong with the form of a code, or null. */
export const malformedCode = (code: string): string | null => {
  if (REASON_CODE_PATTERN.test(code)) return null;
  const domain = code.split('.')[0] ?? '';
  if (/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*){2}$/.test(code))
    return `reason code "${code}" has the unknown domain "${domain}": use run or session`;
  return `reason code "${code}" is not three lower-case segments domain.outcome.cause`;
};

/** Says why a code may not be written, or null. */
export const unregisteredReason = (registry: ReasonRegistry, code: string): string | null =>
  malformedCode(code) ??
  (registry.has(code)
    ? null
    : `reason code "${code}" is not registered: see \`session-ledger note --help\` for the codes, or add it to the configuration's "reasons"`);
