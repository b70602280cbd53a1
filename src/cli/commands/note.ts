/** `note`: a reason is appended, the status stays. */
import * as E from 'fp-ts/lib/Either.js';
import * as z from 'zod';
import { unregisteredReason } from '../../domain/reasons.js';
import { commandContext, complainOf, withRuntime } from '../context.js';
import { guards, readOptions, usage } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { tellOutcome } from '../print.js';
import { resolveSession } from '../resolve.js';

const Options = z.strictObject({ reason: z.string(), summary: z.string(), ...guards });

export const run: Handler = async ({ globals, args, options }) => {
  const checked = readOptions(Options, options);
  if (E.isLeft(checked)) return usage(checked.left);
  const { reason, summary, expectStatus, expectRevision, commandId } = checked.right;
  return withRuntime(globals, async (runtime) => {
    const problem = unregisteredReason(runtime.settings.registry, reason);
    if (problem !== null) return usage(problem);
    const session = await resolveSession(runtime, args[0] ?? '');
    if (E.isLeft(session)) return session.left;
    const noted = await runtime.useCases.note(
      session.right,
      { reason: { code: reason, summary }, expectedStatuses: expectStatus, expectedRevision: expectRevision },
      commandContext(runtime, commandId),
    )();
    if (E.isLeft(noted)) return complainOf(noted.left);
    const current = noted.right.outcome === 'conflict' ? noted.right.current?.status : undefined;
    return tellOutcome(noted.right, session.right, current ?? 'running', globals.json);
  });
};
