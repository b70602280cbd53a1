/** `projections rebuild`: the read model derived from the log again, beside the live one. */
import * as E from 'fp-ts/lib/Either.js';
import { complainOf, withRuntime } from '../context.js';
import type { Handler } from '../invocation.js';
import { out, outJson } from '../print.js';

export const run: Handler = ({ globals }) =>
  withRuntime(globals, async (runtime) => {
    const model = await runtime.readModel();
    if (E.isLeft(model)) return complainOf(model.left);
    const tty = process.stderr.isTTY === true;
    const rebuilt = await model.right.rebuild((applied) => {
      if (tty) process.stderr.write(`\r${applied} events`);
    })();
    if (tty) process.stderr.write('\r\x1b[K');
    if (E.isLeft(rebuilt)) return complainOf(rebuilt.left);
    const { applied, position } = rebuilt.right;
    if (globals.json) outJson({ applied, position });
    else out(`rebuilt from ${applied} events, up to position ${position}; nothing is sent again`);
    return 0;
  });
