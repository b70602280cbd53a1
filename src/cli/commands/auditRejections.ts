/** `audit rejections`: every refused exit from a terminal status. */
import * as E from 'fp-ts/lib/Either.js';
import { z } from 'zod';
import { complainOf, withRuntime } from '../context.js';
import { instant } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { idsFor, outJson, printTable, when, who } from '../print.js';
import { withOptions } from '../runAsLeg.js';

const Options = z.strictObject({
  session: z.string().optional(),
  since: instant(Date.now).optional(),
  until: instant(Date.now).optional(),
});

export const run: Handler = ({ globals, options }) =>
  withOptions(Options, options, (filter) =>
    withRuntime(globals, async (runtime) => {
      const model = await runtime.readModel();
      if (E.isLeft(model)) return complainOf(model.left);
      const found = await model.right.rejections(filter)();
      if (E.isLeft(found)) return complainOf(found.left);
      const shown = idsFor(found.right.map((row) => row.sessionId));
      if (globals.json) outJson(found.right);
      else
        printTable(
          ['WHEN', 'SESSION', 'STATUS', 'ATTEMPTED', 'REASON', 'SOURCE', 'ACTOR'],
          found.right.map((row) => [
            when(row.at),
            shown(row.sessionId),
            row.from,
            row.attempted,
            row.reasonCode,
            row.source,
            who(row.actor),
          ]),
        );
      return 0;
    }),
  );
