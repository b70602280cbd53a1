/** `projections status`: how far the read model had got, and has got now. */
import * as E from 'fp-ts/lib/Either.js';
import { complainOf, withRuntime } from '../context.js';
import type { Handler } from '../invocation.js';
import { out, outJson } from '../print.js';

export const run: Handler = ({ globals }) =>
  withRuntime(globals, async (runtime) => {
    const model = await runtime.readModel();
    if (E.isLeft(model)) return complainOf(model.left);
    const caughtUp = await model.right.catchUp()();
    if (E.isLeft(caughtUp)) return complainOf(caughtUp.left);
    const { applied, position } = caughtUp.right;
    const file = runtime.settings.readModel;
    if (globals.json) outJson({ readModel: file, position, applied });
    else
      out(
        `read model ${file} is at position ${position}${applied === 0 ? '' : `, ${applied} events were applied just now`}`,
      );
    return 0;
  });
