/** `reopen`: an ended session runs again, in a leg that is not run by this program. */
import * as E from 'fp-ts/lib/Either.js';
import * as z from 'zod';
import { RESUME_ACTOR, RESUME_JUSTIFICATION } from '../../ledger/resumeSession.js';
import { commandContext, complainOf, withRuntime } from '../context.js';
import { guards, meta, notBlank, readOptions, usage, wholeNumber } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { checkTemplates, legProcess } from '../leg.js';
import { tellOutcome } from '../print.js';
import { resolveSession } from '../resolve.js';

const Options = z.strictObject({
  pid: wholeNumber(1).optional(),
  process: z.boolean(),
  justification: notBlank.default(RESUME_JUSTIFICATION),
  notify: z.array(z.string()).default([]),
  meta,
  ...guards,
});

export const run: Handler = async ({ globals, args, options }) => {
  const checked = readOptions(Options, options);
  if (E.isLeft(checked)) return usage(checked.left);
  const { pid, justification, notify, commandId, expectStatus, expectRevision, ...given } = checked.right;
  const templates = checkTemplates(notify);
  if (E.isLeft(templates)) return usage(templates.left);
  const process = legProcess(pid, given.process);
  if (E.isLeft(process)) return usage(process.left);

  return withRuntime(globals, async (runtime) => {
    const session = await resolveSession(runtime, args[0] ?? '');
    if (E.isLeft(session)) return session.left;
    const intents = await runtime.notices.intents(templates.right)();
    if (E.isLeft(intents)) return complainOf(intents.left);
    const { actor, actorNamed } = runtime.settings;
    const reopened = await runtime.useCases.reopen(
      session.right,
      {
        process: process.right,
        metadata: given.meta,
        notify: intents.right,
        override: { actor: actorNamed ? actor.id : RESUME_ACTOR, justification },
        summary: justification,
      },
      { expectedStatuses: expectStatus, expectedRevision: expectRevision },
      commandContext(runtime, commandId),
    )();
    if (E.isLeft(reopened)) return complainOf(reopened.left);
    return tellOutcome(reopened.right, session.right, 'running', globals.json);
  });
};
