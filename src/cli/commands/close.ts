/** `close`: a leg ends itself, or an operator overrides one terminal status with another. */
import * as E from 'fp-ts/lib/Either.js';
import * as z from 'zod';
import { defaultReasonFor, unregisteredReason } from '../../domain/reasons.js';
import { isTerminal } from '../../domain/status.js';
import { announce, commandContext, complainOf, withRuntime } from '../context.js';
import { guards, notBlank, readOptions, status, usage, wholeNumber } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { tellOutcome } from '../print.js';
import { resolveSession } from '../resolve.js';

const Options = z.strictObject({
  leg: wholeNumber(1).optional(),
  status,
  reason: z.string().optional(),
  summary: z.string(),
  exitCode: wholeNumber(0).optional(),
  override: z.literal(true).optional(),
  justification: notBlank.optional(),
  ...guards,
});

export const run: Handler = async ({ globals, args, options }) => {
  const checked = readOptions(Options, options);
  if (E.isLeft(checked)) return usage(checked.left);
  const { status: to, leg, override, justification, exitCode, ...given } = checked.right;
  if (override === undefined && justification !== undefined)
    return usage('--justification goes with --override');
  if (override === true && justification === undefined)
    return usage('--override needs --justification TEXT: say why the status is overridden');
  if (override === undefined && leg === undefined)
    return usage(
      '--leg N is missing: a leg closes only itself (`session-ledger show` tells the current one)',
    );
  if (override === true && !isTerminal(to))
    return usage('--override gives a terminal status: use `reopen` to return to running');

  return withRuntime(globals, async (runtime) => {
    const exit = exitCode === undefined ? null : { code: exitCode, signal: null };
    const code = given.reason ?? (isTerminal(to) ? defaultReasonFor(to, exitCode ?? null) : 'run.started.ok');
    const problem = unregisteredReason(runtime.settings.registry, code);
    if (problem !== null) return usage(problem);
    const session = await resolveSession(runtime, args[0] ?? '');
    if (E.isLeft(session)) return session.left;
    const closed = await runtime.useCases.changeStatus(
      session.right,
      {
        to,
        reason: { code, summary: given.summary },
        endedAt: runtime.now(),
        exit,
        evidence: null,
        artifacts: [],
        override: justification === undefined ? null : { actor: runtime.settings.actor.id, justification },
        leg,
        yields: false,
        source: 'cli.close',
        expectedStatuses: given.expectStatus,
        expectedRevision: given.expectRevision,
      },
      commandContext(runtime, given.commandId),
    )();
    if (E.isLeft(closed)) return complainOf(closed.left);
    const told = tellOutcome(closed.right, session.right, to, globals.json);
    if (closed.right.outcome === 'applied' && closed.right.changed) await announce(runtime, session.right);
    return told;
  });
};
