/** What the commands that start a leg share: whose process it is, and its `--notify` templates. */
import * as E from 'fp-ts/lib/Either.js';
import { describeTemplateProblem, parseTemplate } from '../delivery/template.js';
import type { ProcessIdentity } from '../domain/processIdentity.js';
import { identify, noProcess } from '../process/liveness.js';

/** The left side quotes the template that is refused, and says why. */
export const checkTemplates = (templates: readonly string[]): E.Either<string, readonly string[]> => {
  for (const template of templates) {
    const parsed = parseTemplate(template);
    if (E.isLeft(parsed))
      return E.left(`--notify ${JSON.stringify(template)}: ${describeTemplateProblem(parsed.left)}`);
  }
  return E.right(templates);
};

/** The identity that `--pid` and `--no-process` name; by default that of the process that called this command. */
export const legProcess = (pid: number | undefined, process_: boolean): E.Either<string, ProcessIdentity> => {
  if (!process_)
    return pid === undefined ? E.right(noProcess()) : E.left('--pid and --no-process exclude each other');
  const wanted = pid ?? process.ppid;
  const identity = identify(wanted);
  return identity === null
    ? E.left(
        `--pid: no process ${wanted} can be inspected on this machine: name a living one, or say --no-process`,
      )
    : E.right(identity);
};
