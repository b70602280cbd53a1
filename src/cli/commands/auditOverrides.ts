/** `audit overrides`: every exit from a terminal status, with who and why. */
import * as z from 'zod';
import { withAnswer } from '../context.js';
import { instant } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { idsFor, out, outJson, printTable, when } from '../print.js';
import { csv } from '../render/csv.js';
import { withOptions } from '../runAsLeg.js';

const Options = z.strictObject({
  session: z.string().optional(),
  actor: z.string().optional(),
  since: instant(Date.now).optional(),
  until: instant(Date.now).optional(),
  format: z.enum(['table', 'json', 'csv']).optional(),
});

const FIELDS = [
  'eventId',
  'sessionId',
  'branchId',
  'revision',
  'position',
  'at',
  'leg',
  'from',
  'to',
  'reasonCode',
  'actor',
  'justification',
  'pruned',
] as const;

export const run: Handler = ({ globals, options }) =>
  withOptions(Options, options, ({ format, ...filter }) =>
    withAnswer(
      globals,
      (model) => model.overrides(filter),
      (rows) => {
        const shown = idsFor(rows.map((row) => row.sessionId));
        switch (format ?? (globals.json ? 'json' : 'table')) {
          case 'json':
            outJson(rows);
            break;
          case 'csv':
            out(
              csv([FIELDS, ...rows.map((row) => FIELDS.map((field) => String(row[field])))]).replace(
                /\r\n$/,
                '\r',
              ),
            );
            break;
          case 'table':
            printTable(
              ['WHEN', 'SESSION', 'BRANCH', 'LEG', 'FROM', 'TO', 'ACTOR', 'WHY'],
              rows.map((row) => [
                when(row.at),
                shown(row.sessionId) + (row.pruned ? ' (pruned)' : ''),
                row.branchId === row.sessionId ? '' : row.branchId,
                String(row.leg),
                row.from,
                row.to,
                row.actor,
                row.justification,
              ]),
            );
        }
        return 0;
      },
    ),
  );
