/** CSV as RFC 4180 has it, safe to open in a spreadsheet. */

/** Every line, each closed by CR LF. */
export const csv = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => `${row.map(field).join(',')}\r\n`).join('');

const field = (value: string): string => {
  // A spreadsheet would compute a field that begins like this.
  const inert = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
};
