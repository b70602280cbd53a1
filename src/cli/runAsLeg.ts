/** What `run` and `resume` share: options, the ports of a supervised leg, and how its end is told. */
import { randomUUID } from 'node:crypto';
import * as E from 'fp-ts/lib/Either.js';
import * as z from 'zod';
import { superviseLeg } from '../legs/superviseLeg.js';
import type { LegReport, LegRequest } from '../legs/superviseLeg.js';
import type { LegEnd } from '../process/legEnd.js';
import { runLeg } from '../process/runLeg.js';
import { selfIdentity } from '../process/liveness.js';
import { catchStops } from '../process/stops.js';
import type { Stops } from '../process/stops.js';
import { announce, complainOf, withRuntime } from './context.js';
import { EXIT } from './exit.js';
import { complain, duration, meta, readOptions, usage, wholeNumber } from './invocation.js';
import type { GlobalOptions } from './invocation.js';
import { checkTemplates } from './leg.js';
import { resolveToResume } from './resolve.js';
import { outJson, outcomeJson, tellOutcome } from './print.js';

export const legOptions = {
  notify: z.array(z.string()).default([]),
  timeout: duration.refine((ms) => ms > 0, 'must be longer than nothing').optional(),
  resumeOnTimeout: wholeNumber(0).optional(),
  requireOutput: z.literal(true).optional(),
  meta,
};
type LegOptions = z.output<z.ZodObject<typeof legOptions>>;

/** `options` are checked already; `target` is what the leg belongs to. */
export const runAsLeg = async (
  globals: GlobalOptions,
  target: LegRequest['target'],
  options: LegOptions,
  [command, ...args]: readonly string[],
): Promise<number> => {
  if (command === undefined || command === '') return usage('name the command to run, after --');
  const templates = checkTemplates(options.notify);
  if (E.isLeft(templates)) return usage(templates.left);
  if (options.resumeOnTimeout !== undefined && options.timeout === undefined)
    return usage('--resume-on-timeout needs --timeout');
  // Whoever reads our output may leave; the leg goes on, and its end is recorded.
  process.stdout.removeAllListeners('error').on('error', () => undefined);
  const stops = catchStops();
  return withRuntime(globals, async (runtime) => {
    const resolved = target._tag === 'resume' ? await resolveToResume(runtime, target.name) : E.right('');
    if (E.isLeft(resolved)) return resolved.left;
    const intents = await runtime.notices.intents(templates.right)();
    if (E.isLeft(intents)) return complainOf(intents.left);
    const report = await superviseLeg(
      {
        ...runtime,
        ...runtime.settings,
        self: selfIdentity('local'),
        runCommand: (env, onStarted) => runOnce(command, args, options, stops, env, onStarted),
        intents: intents.right,
        announce: (sessionId) => announce(runtime, sessionId),
        announceObserver: async (beside, end, startedAt, endedAt) => {
          const errors = await runtime.notices.announceObserver(templates.right, {
            beside,
            end,
            startedAt,
            endedAt,
          });
          for (const error of errors) complain(0, `the notice of this leg was not delivered: ${error}`);
        },
        say: (sentence) => {
          complain(0, sentence);
        },
      },
      {
        target: target._tag === 'resume' ? { ...target, name: resolved.right } : target,
        metadata: options.meta,
        resumeOnTimeout: options.resumeOnTimeout ?? 0,
      },
    );
    return tellReport(report, globals.json);
  });
};

const runOnce = async (
  command: string,
  args: readonly string[],
  options: LegOptions,
  stops: Stops,
  env: Readonly<Record<string, string>>,
  onStarted: Parameters<typeof runLeg>[0]['onStarted'],
): Promise<LegEnd> => {
  // Session and leg do not tell two legs apart that run beside a third.
  const runId = randomUUID();
  return runLeg({
    command,
    args,
    env: { ...process.env, ...env, SESSION_LEDGER_RUN_ID: runId },
    mark: `SESSION_LEDGER_RUN_ID=${runId}`,
    watchOutput: options.requireOutput === true,
    stops,
    onStarted,
    ...(options.timeout === undefined ? {} : { timeoutMs: options.timeout }),
  });
};

const tellReport = (report: LegReport, json: boolean): number => {
  switch (report._tag) {
    case 'NotStarted':
      return complainOf(report.error);
    case 'Refused': {
      const { outcome } = report;
      if (outcome.outcome !== 'observing') return tellOutcome(outcome, '', 'running', json);
      if (json) outJson(outcome);
      return complain(
        EXIT.conflict,
        `session ${outcome.sessionId} is running leg ${outcome.leg} and --exclusive was given: the command was not started`,
      );
    }
    case 'Ended':
      if (json && report.close !== null)
        outJson(outcomeJson(report.close, report.sessionId, report.end.status));
      return report.end.exitCode;
  }
};

/** Checks a command's options and goes on; a problem is told as a usage error. */
export const withOptions = <S extends z.ZodType>(
  schema: S,
  options: unknown,
  use: (options: z.output<S>) => Promise<number>,
): Promise<number> => {
  const checked = readOptions(schema, options);
  return E.isLeft(checked) ? Promise.resolve(usage(checked.left)) : use(checked.right);
};
