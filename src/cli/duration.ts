/** Lengths of time as a person types them: `1500ms`, `5s`, `30m`, `24h`, `30d`, `1h30m`. */
import * as E from 'fp-ts/lib/Either.js';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const LONGEST_MS = 10 * 366 * 86_400_000;

/** Milliseconds; the left side says what is wrong, with a value that is right. */
export const parseDuration = (text: string): E.Either<string, number> => {
  const refused = E.left(`must be a length of time such as 90s, 15m, 2h or 30d, not "${text}"`);
  if (!/^(\d{1,15}(ms|s|m|h|d))+$/.test(text)) return refused;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|s|m|h|d)/g))
    total += Number(count) * (UNITS[unit ?? ''] ?? 0);
  return total <= LONGEST_MS ? E.right(total) : E.left(`must be at most ten years, not "${text}"`);
};
