/** Text from events made safe for a terminal, and cut to a width without breaking a character apart. */
import stringWidth from 'string-width';

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };

/** Controls, bidirectional marks, overrides and isolates, line separators, lone surrogates: what would move the cursor or reorder the line. */
const UNSAFE = /\p{Cc}|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]|\p{Cs}/gu;

/** The same text with everything that a terminal would act on written out; any script and emoji stay as they are. */
export const visible = (text: string): string =>
  text.replaceAll(UNSAFE, (character) => {
    const code = character.charCodeAt(0);
    const named = NAMED[character];
    if (named !== undefined) return named;
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** At most `width` columns, with … where something was cut. */
export const fit = (text: string, width: number): string => {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    const columns = stringWidth(segment);
    if (used + columns > width - 1) break;
    kept += segment;
    used += columns;
  }
  return width > 0 ? `${kept}…` : '';
};
