/** One attempt of an exec consumer: the command is run with the envelope, and what came of it is told without secrets. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import type { Envelope } from '../domain/envelope.js';
import type { BoundedEnd, RunBounded } from '../process/runBounded.js';
import { describeTemplateProblem, expand, parseTemplate } from './template.js';
import type { Placeholder } from './template.js';

export interface ExecPorts {
  readonly runBounded: RunBounded;
  /** What the commands of failed attempts said on stderr is kept here, in files of this user alone. */
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type Attempt =
  | { readonly _tag: 'delivered'; readonly result: string }
  /** `permanent`: trying again cannot help. */
  | { readonly _tag: 'failed'; readonly error: string; readonly permanent: boolean };

export const TIME_LIMIT_MS = 10_000;
const KEPT_FILES = 100;

export const attemptExec = async (
  ports: ExecPorts,
  template: string,
  envelope: Envelope,
): Promise<Attempt> => {
  const parsed = parseTemplate(template);
  if (E.isLeft(parsed))
    return {
      _tag: 'failed',
      error: `the template has ${describeTemplateProblem(parsed.left)}`,
      permanent: true,
    };
  const payload = JSON.stringify(envelope);
  const [command = '', ...args] = expand(parsed.right, placeholders(envelope, payload));
  // The event's id does not tell two commands apart that are told of one event.
  const attemptId = randomUUID();
  const ended = await ports.runBounded(command, args, {
    // A line of its own, so that a command that appends it to a file makes JSON lines.
    stdin: `${payload}\n`,
    env: { ...ports.env, ...variablesOf(envelope), SESSION_LEDGER_ATTEMPT_ID: attemptId },
    timeLimitMs: TIME_LIMIT_MS,
    mark: `SESSION_LEDGER_ATTEMPT_ID=${attemptId}`,
  });
  // The command's own word is told, its arguments may be secrets.
  const attempt = judge(ended, parsed.right.words[0] ?? '');
  const said = ended._tag === 'not_started' ? Buffer.alloc(0) : ended.stderr;
  if (attempt._tag === 'delivered' || said.length === 0) return attempt;
  return {
    ...attempt,
    error: `${attempt.error}; its stderr is in ${keep(ports.stateDir, attemptId, said)}`,
  };
};

const judge = (ended: BoundedEnd, command: string): Attempt => {
  switch (ended._tag) {
    case 'exited':
      if (ended.code === 0) return { _tag: 'delivered', result: 'exit code 0' };
      return {
        _tag: 'failed',
        error: ended.signal === null ? `exit code ${ended.code ?? 'unknown'}` : `killed by ${ended.signal}`,
        permanent: false,
      };
    case 'timed_out':
      return { _tag: 'failed', error: `no end within ${TIME_LIMIT_MS / 1000} s`, permanent: false };
    case 'not_started':
      return {
        _tag: 'failed',
        error: whyNotStarted(ended.problem, command, ended.message),
        // What else keeps a command from starting passes: no process left, no file left, a program being replaced.
        permanent: ended.problem !== 'invalid',
      };
  }
};

const whyNotStarted = (
  problem: Extract<BoundedEnd, { _tag: 'not_started' }>['problem'],
  command: string,
  message: string,
): string => {
  switch (problem) {
    case 'not_found':
      return `command not found: ${command}`;
    case 'not_executable':
      return `not executable: ${command}`;
    case 'too_large':
      return `${message}: read the envelope from standard input instead of {payload}`;
    case 'invalid':
      return `could not be started: ${message}`;
  }
};

const placeholders = ({ id, data }: Envelope, payload: string): Readonly<Record<Placeholder, string>> => ({
  status: data.status,
  session_id: data.sessionId,
  branch_id: data.branchId,
  leg: String(data.leg),
  previous_status: data.previousStatus,
  reason_code: data.reasonCode,
  event_id: id,
  payload,
});

const variablesOf = ({ id, data }: Envelope): Readonly<Record<string, string>> => ({
  SESSION_LEDGER_EVENT_ID: id,
  SESSION_LEDGER_SESSION_ID: data.sessionId,
  SESSION_LEDGER_BRANCH_ID: data.branchId,
  SESSION_LEDGER_LEG: String(data.leg),
  SESSION_LEDGER_STATUS: data.status,
  SESSION_LEDGER_PREVIOUS_STATUS: data.previousStatus,
  SESSION_LEDGER_REASON_CODE: data.reasonCode,
});

/** Best effort: that the words of a failed command are lost must not fail the record of the attempt. */
const keep = (stateDir: string, attemptId: string, said: Uint8Array): string => {
  const directory = join(stateDir, 'notify');
  const path = join(directory, `${Date.now()}-${attemptId}.stderr`);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(path, said, { mode: 0o600 });
    const older = readdirSync(directory).sort().slice(0, -KEPT_FILES);
    for (const name of older) rmSync(join(directory, name), { force: true });
    return path;
  } catch (error) {
    return `no file (${error instanceof Error ? error.message : String(error)})`;
  }
};
