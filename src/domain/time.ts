/** Instants as the ledger writes them: ISO-8601, UTC, milliseconds; anything else is refused, not guessed. */
import * as z from 'zod';

/** Accepts exactly what `Date.prototype.toISOString` gives, so 30 February, a missing offset or nanoseconds do not pass. */
export const Instant = z.string().refine((text) => {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === text;
}, 'must be an ISO-8601 UTC time with milliseconds, such as 2026-01-31T09:30:00.000Z');

/** Milliseconds from one instant to another; never below 0, with the skew told apart. */
export const elapsed = (from: string, to: string): { readonly ms: number; readonly clockSkewMs: number } => {
  const ms = Date.parse(to) - Date.parse(from);
  return ms >= 0 ? { ms, clockSkewMs: 0 } : { ms: 0, clockSkewMs: -ms };
};
