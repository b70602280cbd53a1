/** `open`: a session whose leg is not run by this program; prints its id. */
import * as E from 'fp-ts/lib/Either.js';
import * as z from 'zod';
import type { Outcome } from '../../ledger/outcome.js';
import { commandContext, complainOf, withRuntime } from '../context.js';
import { guards, id, meta, readOptions, usage, wholeNumber } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { checkTemplates, legProcess } from '../leg.js';
import { out, tellOutcome } from '../print.js';

const Options = z.strictObject({
  branch: id.optional(),
  session: id.optional(),
  pid: wholeNumber(1).optional(),
  process: z.boolean(),
  notify: z.array(z.string()).default([]),
  meta,
  ...guards,
});

const NOTHING_TO_PIN: Outcome = {
  outcome: 'conflict',
  why: 'a session that is to be opened has neither a status nor a revision to expect',
  current: null,
};

export const run: Handler = async ({ globals, options }) => {
  const checked = readOptions(Options, options);
  if (E.isLeft(checked)) return usage(checked.left);
  const { branch, session, pid, notify, commandId, ...given } = checked.right;
  const templates = checkTemplates(notify);
  if (E.isLeft(templates)) return usage(templates.left);
  const process = legProcess(pid, given.process);
  if (E.isLeft(process)) return usage(process.left);
  // A session that is not there has no status and no revision to be pinned.
  if (given.expectRevision !== undefined || given.expectStatus !== undefined)
    return tellOutcome(NOTHING_TO_PIN, session ?? '', 'running', globals.json);

  return withRuntime(globals, async (runtime) => {
    const intents = await runtime.notices.intents(templates.right)();
    if (E.isLeft(intents)) return complainOf(intents.left);
    const opened = await runtime.useCases.open(
      {
        sessionId: session,
        branchId: branch,
        reason: { code: 'run.started.ok', summary: '' },
        process: process.right,
        metadata: given.meta,
        notify: intents.right,
        correlation: null,
      },
      commandContext(runtime, commandId),
    )();
    if (E.isLeft(opened)) return complainOf(opened.left);
    const outcome = opened.right;
    if (globals.json || outcome.outcome === 'conflict' || outcome.outcome === 'rejected')
      return tellOutcome(outcome, session ?? '', 'running', globals.json);
    // The id alone, so that a script can keep it.
    out(outcome.sessionId);
    return 0;
  });
};
