/** Exit codes (design §11; 64 to 78 as in sysexits.h). */
export const EXIT = {
  done: 0,
  /** A leg that was waited for or run did not end well. */
  failed: 1,
  notFound: 2,
  interrupted: 3,
  usage: 64,
  unavailable: 69,
  /** Conflict, or refused. */
  conflict: 75,
  configuration: 78,
  timeout: 124,
} as const;
