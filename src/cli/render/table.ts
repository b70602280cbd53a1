/** Tables: aligned and fitted on a terminal, complete tab-separated lines elsewhere. */
import { createRequire } from 'node:module';
import type Table from 'cli-table3';
import stringWidth from 'string-width';
import { fit, visible } from './text.js';

export interface TableOptions {
  readonly tty: boolean;
  /** Columns of the terminal. */
  readonly width: number;
}

const GAP = 2;
/** A column that has to give way keeps at least this much. */
const LEAST = 8;

/** The whole table as text, closed by a line break. */
export const renderTable = (
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  { tty, width }: TableOptions,
): string => {
  const cells = rows.map((row) => row.map(visible));
  if (!tty) return [headers, ...cells].map((row) => `${row.join('\t')}\n`).join('');
  const widths = fitted(
    headers.map((header, column) =>
      Math.max(stringWidth(header), ...cells.map((row) => stringWidth(row[column] ?? ''))),
    ),
    width,
  );
  const Constructor = createRequire(import.meta.url)('cli-table3') as typeof Table;
  const table = new Constructor({
    colWidths: widths.map((columns) => columns + GAP),
    chars: NO_BORDERS,
    style: { 'padding-left': 0, 'padding-right': GAP, head: [], border: [] },
  });
  for (const row of [headers, ...cells])
    table.push(row.map((cell, column) => fit(cell, widths[column] ?? 0)));
  return `${table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`;
};

/** The widest columns give way until everything fits, or nothing can give way any more. */
const fitted = (wanted: readonly number[], width: number): readonly number[] => {
  const widths = [...wanted];
  const room = width - GAP * (widths.length - 1);
  for (let over = widths.reduce((sum, columns) => sum + columns, 0) - room; over > 0; over -= 1) {
    const widest = widths.indexOf(Math.max(...widths));
    const columns = widths[widest] ?? 0;
    if (columns <= LEAST) break;
    widths[widest] = columns - 1;
  }
  return widths;
};

const NO_BORDERS = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right']
    .concat(['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((part) => [part, '']),
);
