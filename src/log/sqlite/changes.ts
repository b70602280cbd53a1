/** Tells when somebody has committed: this process at once, others by the write-ahead log's file changing. */
import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';

/** A file system may lose a notice; nothing waits longer than this for a commit that was not noticed. */
const SAFETY_POLL_MS = 250;

export interface Changes {
  /** Calls back after commits; gives the way to stop it. Watches only while somebody listens. */
  readonly listen: (listener: () => void) => () => void;
  readonly tell: () => void;
  readonly stop: () => void;
}

/** A commit becomes visible a little after its bytes were written, by then silently: looked for after 1, 2, 4 … ms. */
const FIRST_LOOK_MS = 1;
const LAST_LOOK_MS = 1_024;

/** `version` gives a number that differs after every commit of another process (`PRAGMA data_version`). */
export const watchChanges = (path: string, version: () => number, pollMs = SAFETY_POLL_MS): Changes => {
  const listeners = new Set<() => void>();
  const walName = `${basename(path)}-wal`;
  let watcher: FSWatcher | null = null;
  let timer: NodeJS.Timeout | null = null;
  let soon: NodeJS.Timeout | null = null;
  let seen: number | null = null;

  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  /** Null when the log does not answer: whoever listens then looks, and is told why. */
  const current = (): number | null => {
    try {
      return version();
    } catch {
      return null;
    }
  };
  const look = (): void => {
    const now = current();
    if (now !== null && now === seen) return;
    seen = now;
    tell();
  };
  const lookSoon = (after: number): void => {
    if (soon !== null) clearTimeout(soon);
    soon = setTimeout(() => {
      soon = null;
      look();
      // On, whatever was seen: it may have been the commit before the one whose bytes we were told of.
      if (after < LAST_LOOK_MS) lookSoon(after * 2);
    }, after);
  };
  const start = (): void => {
    seen = current();
    timer = setInterval(look, pollMs);
    try {
      // The directory, because the log's file comes and goes; the waiting program decides whether it stays alive.
      watcher = watch(dirname(path), { persistent: true }, (_event, name) => {
        if (name !== null && name !== walName) return;
        look();
        lookSoon(FIRST_LOOK_MS);
      });
      watcher.on('error', () => {
        watcher?.close();
      });
    } catch {
      // A system grants each user only so many watches: without one, the poll notices, only later.
    }
  };
  const stop = (): void => {
    watcher?.close();
    if (timer !== null) clearInterval(timer);
    if (soon !== null) clearTimeout(soon);
    watcher = null;
    timer = null;
    soon = null;
  };
  return {
    listen: (listener) => {
      if (listeners.size === 0) start();
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) stop();
      };
    },
    tell,
    stop: () => {
      stop();
      // Whoever waits looks once more, and finds the log closed.
      tell();
    },
  };
};
