/** `projections status`: how far the read model had got, and has got now. */
import { withAnswer } from '../context.js';
import type { Handler } from '../invocation.js';
import { out, outJson } from '../print.js';

export const run: Handler = ({ globals }) =>
  withAnswer(
    globals,
    (model) => model.catchUp(),
    ({ applied, position }, { settings }) => {
      if (globals.json) outJson({ readModel: settings.readModel, position, applied });
      else
        out(
          `read model ${settings.readModel} is at position ${position}${applied === 0 ? '' : `, ${applied} events were applied just now`}`,
        );
      return 0;
    },
  );
