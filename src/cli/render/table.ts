/** Tables: aligned and folded to the width of a terminal, complete tab-separated lines elsewhere. */
import stringWidth from 'string-width';
import { fit, visible } from './text.js';

export interface TableOptions {
  readonly tty: boolean;
  /** Columns of the terminal. */
  readonly width: number;
}

/** A column of the table as it stands on one line of every row. */
interface Placed {
  readonly column: number;
  readonly width: number;
}

const GAP = 2;
/** A further line of the same row begins here. */
const INDENT = 4;
/** Text that would get less than this is better off on a line of its own. */
const LEAST = 16;

/** The whole table as text, closed by a line break. */
export const renderTable = (
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  { tty, width }: TableOptions,
): string => {
  const cells = rows.map((row) => row.map(visible));
  if (!tty) return [headers, ...cells].map((row) => `${row.join('\t')}\n`).join('');
  const wanted = headers.map((header, column) =>
    Math.max(stringWidth(header), ...cells.map((row) => stringWidth(row[column] ?? ''))),
  );
  const lines = folded(wanted, width);
  return [headers, ...cells]
    .flatMap((row) => lines.map((line, index) => lineOf(row, line, index === 0 ? 0 : INDENT)))
    .filter((text) => text !== '')
    .map((text) => `${text}\n`)
    .join('');
};

/** Columns that find no room beside the others stand on a further line of each row, as words do in a paragraph. */
const folded = (wanted: readonly number[], width: number): readonly (readonly Placed[])[] => {
  const lines: Placed[][] = [];
  let left = 0;
  for (const [column, columns] of wanted.entries()) {
    const room = left - GAP;
    // The last column holds free text: it is cut before it takes a line of its own.
    const last = column === wanted.length - 1;
    if (lines.length > 0 && (columns <= room || (last && room >= LEAST))) {
      lines.at(-1)?.push({ column, width: Math.min(columns, room) });
      left = room - columns;
    } else {
      const whole = Math.max(1, width - (lines.length === 0 ? 0 : INDENT));
      lines.push([{ column, width: Math.min(columns, whole) }]);
      left = whole - columns;
    }
  }
  return lines;
};

/** Padded by our own measure of width, which knows more scripts than those of table libraries. */
const lineOf = (row: readonly string[], line: readonly Placed[], indent: number): string => {
  const padded = line.map(({ column, width }) => {
    const cell = fit(row[column] ?? '', width);
    return cell + ' '.repeat(width - stringWidth(cell));
  });
  return `${' '.repeat(indent)}${padded.join(' '.repeat(GAP))}`.trimEnd();
};
