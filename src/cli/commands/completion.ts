/** `completion`: a script that completes commands and options in the caller's shell. */
import { completionScript, SHELLS } from '../completion.js';
import { usage } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { buildProgram } from '../program.js';

export const run: Handler = ({ args }) => {
  const shell = SHELLS.find((known) => known === args[0]);
  if (shell === undefined)
    return Promise.resolve(usage(`no completion for "${args[0] ?? ''}": use ${SHELLS.join(', ')}`));
  process.stdout.write(
    completionScript(
      shell,
      buildProgram(() => undefined),
    ),
  );
  return Promise.resolve(0);
};
