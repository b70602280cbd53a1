/** The signals that are meant for a leg's command: caught before the leg is recorded, so that none falls between two commands of it. */
import { STOP_SIGNALS } from './legEnd.js';
import type { StopRequest, StopSignal } from './legEnd.js';
import { hasTerminal, inForeground } from './terminal.js';

/** Ctrl-C and Ctrl-\ are told by the terminal to the whole foreground group; forwarding would tell them twice. */
const TERMINAL_SIGNALS: ReadonlySet<StopSignal> = new Set(['SIGINT', 'SIGQUIT']);

export interface Stops {
  /** The stops that were asked for, oldest first. */
  readonly asked: () => readonly StopRequest[];
  /** Calls back at every stop from now on; gives the way to stop that. */
  readonly onStop: (listener: (request: StopRequest) => void) => () => void;
  /** Calls back at a SIGUSR2, which asks for nothing but what the command makes of it. */
  readonly onUser: (listener: () => void) => () => void;
  readonly release: () => void;
}

export const catchStops = (): Stops => {
  const asked: StopRequest[] = [];
  const stopping = new Set<(request: StopRequest) => void>();
  const user = new Set<() => void>();
  const releases = STOP_SIGNALS.map((signal) =>
    handle(signal, () => {
      const request = { signal, atTerminal: TERMINAL_SIGNALS.has(signal) && hasTerminal() && inForeground() };
      asked.push(request);
      for (const listener of stopping) listener(request);
    }),
  );
  releases.push(
    handle('SIGUSR2', () => {
      for (const listener of user) listener();
    }),
  );
  return {
    asked: () => asked,
    onStop: (listener) => subscribe(stopping, listener),
    onUser: (listener) => subscribe(user, listener),
    release: () => {
      for (const release of releases) release();
    },
  };
};

const handle = (signal: NodeJS.Signals, handler: () => void): (() => void) => {
  process.on(signal, handler);
  return () => process.off(signal, handler);
};

const subscribe = <A>(listeners: Set<A>, listener: A): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
