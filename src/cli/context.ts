/** Opens what a command needs, drains the spool, runs it, closes; errors become one line and an exit code. */
import * as E from 'fp-ts/lib/Either.js';
import type * as TE from 'fp-ts/lib/TaskEither.js';
import { resolveSettings } from '../config/settings.js';
import type { Settings } from '../config/settings.js';
import type { CommandContext } from '../domain/commands.js';
import { drainSpool } from '../legs/spool.js';
import { describeLedgerError } from '../ledger/outcome.js';
import type { LedgerError } from '../ledger/outcome.js';
import { makeLogger } from '../library/logger.js';
import type { LogLevel } from '../library/logger.js';
import { openRuntime } from '../library/runtime.js';
import type { Runtime, RuntimeError } from '../library/runtime.js';
import type { LogUnavailable } from '../log/port.js';
import type { ReadModel } from '../projector/model.js';
import { EXIT } from './exit.js';
import { complain } from './invocation.js';
import type { GlobalOptions } from './invocation.js';

export const settingsOf = (globals: GlobalOptions): E.Either<string, Settings> => {
  const settings = resolveSettings(globals, process.env);
  return E.isLeft(settings) ? E.left(settings.left.message) : settings;
};

export const withRuntime = async (
  globals: GlobalOptions,
  use: (runtime: Runtime) => Promise<number>,
): Promise<number> => {
  const settings = settingsOf(globals);
  if (E.isLeft(settings)) return complain(EXIT.configuration, settings.left);
  const opened = await openRuntime(settings.right, makeLogger(globals.logLevel as LogLevel))();
  if (E.isLeft(opened)) return complainOf(opened.left);
  const runtime = opened.right;
  try {
    await drain(runtime);
    return await use(runtime);
  } finally {
    await runtime.close();
  }
};

/** Asks the read model, and tells what it answers; both answer the exit code. */
export const withAnswer = <A>(
  globals: GlobalOptions,
  ask: (model: ReadModel) => TE.TaskEither<LogUnavailable, A>,
  tell: (answer: A, runtime: Runtime) => number | Promise<number>,
): Promise<number> =>
  withRuntime(globals, async (runtime) => {
    const model = await runtime.readModel();
    if (E.isLeft(model)) return complainOf(model.left);
    const answer = await ask(model.right)();
    return E.isLeft(answer) ? complainOf(answer.left) : tell(answer.right, runtime);
  });

/** Closes that an earlier command had to leave on disk go first. */
const drain = async ({ settings, useCases, logger }: Runtime): Promise<void> => {
  const { stateDir, storeKey } = settings;
  const drained = await drainSpool(stateDir, storeKey, useCases, (path, problem) => {
    logger.warn({ path, problem }, 'a spooled close cannot be read and was put aside');
  });
  for (const { path, close, result } of drained) {
    if (E.isLeft(result))
      logger.warn({ path, problem: describeLedgerError(result.left) }, 'a spooled close is not appended');
    else
      logger.info(
        { sessionId: close.sessionId, outcome: result.right.outcome },
        'a spooled close was appended',
      );
  }
};

/** The exit code of an error, told on stderr. */
export const complainOf = (error: RuntimeError | LedgerError): number => {
  switch (error._tag) {
    case 'Configuration':
      return complain(EXIT.configuration, error.message);
    case 'Invalid':
      return complain(EXIT.usage, describeLedgerError(error));
    case 'NotFound':
      return complain(EXIT.notFound, describeLedgerError(error));
    case 'LogUnavailable':
      return complain(EXIT.unavailable, error.message);
  }
};

/** Sends what is owed for a session that has just ended; what fails is said, and stays owed. */
export const announce = async (runtime: Runtime, sessionId: string): Promise<void> => {
  const sent = await runtime.notices.announce(sessionId)();
  if (E.isLeft(sent)) {
    const problem = sent.left._tag === 'Configuration' ? sent.left.message : describeLedgerError(sent.left);
    complain(
      0,
      `a notice of session ${sessionId} is not sent yet: ${problem}; \`session-ledger deliver\` sends it`,
    );
    return;
  }
  for (const { result, detail } of sent.right)
    if (result !== 'delivered')
      complain(0, `a notice of session ${sessionId} was not delivered (${result}): ${detail}`);
};

/** Who gives this command, and the id that makes its retry harmless. */
export const commandContext = (runtime: Runtime, commandId: string | undefined): CommandContext => ({
  actor: runtime.settings.actor,
  ...(commandId === undefined ? {} : { commandId }),
});
