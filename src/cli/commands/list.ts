/** `list`: sessions, latest leg first. */
import * as z from 'zod';
import { withAnswer } from '../context.js';
import { id, instant, status, wholeNumber } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { idsFor, onTerminal, outJson, printTable } from '../print.js';
import { relative, span } from '../render/time.js';
import { withOptions } from '../runAsLeg.js';

const Options = z.strictObject({
  status: status.optional(),
  branch: id.optional(),
  since: instant(Date.now).optional(),
  limit: wholeNumber(1).optional(),
});

export const run: Handler = ({ globals, options }) =>
  withOptions(Options, options, (filter) =>
    withAnswer(
      globals,
      // A person sees the latest ones, a program all of them.
      (model) =>
        model.list({ ...filter, limit: filter.limit ?? (onTerminal() && !globals.json ? 50 : undefined) }),
      (rows) => {
        if (globals.json) {
          outJson(rows);
          return 0;
        }
        const now = Date.now();
        const shown = idsFor(rows.map((row) => row.sessionId));
        printTable(
          ['SESSION', 'BRANCH', 'STATUS', 'LEGS', 'LEG RAN', 'LEG STARTED', 'REASON'],
          rows.map((row) => [
            shown(row.sessionId),
            row.branchId === row.sessionId ? '' : row.branchId,
            row.status,
            String(row.legCount),
            span((row.endedAt === null ? now : Date.parse(row.endedAt)) - Date.parse(row.legStartedAt)),
            relative(row.legStartedAt, now),
            [row.reasonCode, row.reasonSummary].filter((text) => text !== '').join(': '),
          ]),
        );
        return 0;
      },
    ),
  );
