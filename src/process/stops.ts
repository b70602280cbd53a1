/** The stops that this program is asked for: caught before a leg is recorded, so that none falls between two commands of it. */
import type { StopRequest, StopSignal } from './legEnd.js';
import { hasTerminal, inForeground } from './terminal.js';

const STOP_SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
/** Ctrl-C and Ctrl-\ are told by the terminal to the whole foreground group; forwarding would tell them twice. */
const TERMINAL_SIGNALS: ReadonlySet<StopSignal> = new Set(['SIGINT', 'SIGQUIT']);

export interface Stops {
  /** The first stop that was asked for. */
  readonly first: () => StopRequest | null;
  /** Calls back at every stop from now on; gives the way to stop that. */
  readonly onStop: (listener: (request: StopRequest) => void) => () => void;
  readonly release: () => void;
}

export const catchStops = (): Stops => {
  let first: StopRequest | null = null;
  const listeners = new Set<(request: StopRequest) => void>();
  const handlers = STOP_SIGNALS.map((signal) => {
    const handler = () => {
      const request = { signal, atTerminal: TERMINAL_SIGNALS.has(signal) && hasTerminal() && inForeground() };
      first ??= request;
      for (const listener of listeners) listener(request);
    };
    process.on(signal, handler);
    return () => process.off(signal, handler);
  });
  return {
    first: () => first,
    onStop: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    release: () => {
      for (const release of handlers) release();
    },
  };
};
