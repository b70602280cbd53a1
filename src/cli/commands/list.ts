/** `list`: sessions, latest leg first. */
import * as E from 'fp-ts/lib/Either.js';
import { z } from 'zod';
import { complainOf, withRuntime } from '../context.js';
import { id, instant, status, wholeNumber } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { idsFor, outJson, printTable } from '../print.js';
import { relative, span } from '../render/time.js';
import { withOptions } from '../runAsLeg.js';

const Options = z.strictObject({
  status: status.optional(),
  branch: id.optional(),
  since: instant(Date.now).optional(),
  limit: wholeNumber(1),
});

export const run: Handler = ({ globals, options }) =>
  withOptions(Options, options, (filter) =>
    withRuntime(globals, async (runtime) => {
      const model = await runtime.readModel();
      if (E.isLeft(model)) return complainOf(model.left);
      const listed = await model.right.list(filter)();
      if (E.isLeft(listed)) return complainOf(listed.left);
      const rows = listed.right;
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
    }),
  );
