/** A timer for any length of time: the one of the platform takes 2^31-1 ms for the most, and fires at once above it. */

const LONGEST_MS = 2_147_483_647;

/** Calls back after `ms`; gives the way to stop it. */
export const after = (ms: number, act: () => void): (() => void) => {
  let timer: NodeJS.Timeout;
  const wind = (left: number): void => {
    const now = Math.min(left, LONGEST_MS);
    timer = setTimeout(() => {
      if (left > now) wind(left - now);
      else act();
    }, now);
  };
  wind(ms);
  return () => {
    clearTimeout(timer);
  };
};
