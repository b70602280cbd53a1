/** `projections rebuild`: the read model derived from the log again, beside the live one. */
import { withAnswer } from '../context.js';
import type { Handler } from '../invocation.js';
import { out, outJson } from '../print.js';

export const run: Handler = ({ globals }) => {
  const tty = process.stderr.isTTY === true;
  return withAnswer(
    globals,
    (model) =>
      model.rebuild((applied) => {
        if (tty) process.stderr.write(`\r${applied} events`);
      }),
    (progress) => {
      if (tty) process.stderr.write('\r\x1b[K');
      if (globals.json) outJson(progress);
      else
        out(
          `rebuilt from ${progress.applied} events, up to position ${progress.position}; nothing is sent again`,
        );
      return 0;
    },
  );
};
