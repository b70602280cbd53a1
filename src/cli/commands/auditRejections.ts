/** `audit rejections`: every refused exit from a terminal status. */
import * as z from 'zod';
import { withAnswer } from '../context.js';
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
    withAnswer(
      globals,
      (model) => model.rejections(filter),
      (rows) => {
        const shown = idsFor(rows.map((row) => row.sessionId));
        if (globals.json) outJson(rows);
        else
          printTable(
            ['WHEN', 'SESSION', 'STATUS', 'ATTEMPTED', 'REASON', 'SOURCE', 'ACTOR'],
            rows.map((row) => [
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
      },
    ),
  );
