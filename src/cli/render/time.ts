/** Times as a person reads them: local with offset, or relative to now. */

const SPANS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** A length of time in its two largest units: `1 h 5 min`, `12 s`, `350 ms`. */
export const span = (ms: number): string => {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 1_000) return `${whole} ms`;
  const first = SPANS.findIndex(([, size]) => whole >= size);
  const parts: string[] = [];
  let rest = whole;
  for (const [unit, size] of SPANS.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.join(' ');
};

/** In its largest unit: `3 min ago`; `in 2 s` where another clock is ahead of ours. */
export const relative = (at: string, now: number): string => {
  const ms = now - Date.parse(at);
  const [unit, size] = SPANS.find(([, least]) => Math.abs(ms) >= least) ?? [null, 1];
  if (unit === null) return 'just now';
  const count = Math.floor(Math.abs(ms) / size);
  return ms > 0 ? `${count} ${unit} ago` : `in ${count} ${unit}`;
};

/** `2026-01-31 09:30:00` in the time zone of this process; with its offset, `+01:00`, where nobody can be asked for it. */
export const local = (at: string, withOffset: boolean): string => {
  const date = new Date(at);
  const offset = -date.getTimezoneOffset();
  const shifted = new Date(date.getTime() + offset * 60_000).toISOString();
  const clock = `${shifted.slice(0, 10)} ${shifted.slice(11, 19)}`;
  if (!withOffset) return clock;
  const two = (number: number) => String(number).padStart(2, '0');
  const sign = offset < 0 ? '-' : '+';
  const zone = `${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
  return `${clock} ${zone}`;
};
