/**
 * Streams for a command that are no sockets. What Node calls a pipe is one, and `/dev/stdin`, `/dev/stdout` and
 * `/dev/stderr` cannot be opened on a socket (Linux: ENXIO), so that `echo oops > /dev/stderr` would fail.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

export interface OutputPipe {
  readonly ours: Socket;
  /** The command's end: passed to `spawn`, and closed by us right after. */
  readonly theirs: number;
}

/** A pipe for what a command writes. Null where there is none: then Node's own has to do. */
export const outputPipe = (): OutputPipe | null =>
  inDirectory((directory) => {
    const path = join(directory, 'output');
    if (spawnSync('mkfifo', ['-m', '600', path], { stdio: 'ignore' }).status !== 0) return null;
    // Whoever opens one end waits for the other one, unless somebody holds both.
    const both = openSync(path, O_RDWR | O_NONBLOCK);
    const theirs = openSync(path, O_WRONLY);
    const ours = new Socket({ fd: openSync(path, O_RDONLY | O_NONBLOCK), readable: true, writable: false });
    closeSync(both);
    return { ours, theirs };
  });

/**
 * A descriptor that a command reads the text from, to be closed by us once it was passed. A file and not a pipe: a named
 * pipe that is opened again waits for a writer, and a file does not mind whether it is read. Null where there is none.
 */
export const inputOf = (text: string): number | null =>
  inDirectory((directory) => {
    const path = join(directory, 'input');
    writeFileSync(path, text, { mode: 0o600 });
    return openSync(path, O_RDONLY);
  });

/** What is opened in there lives on without a name. */
const inDirectory = <A>(open: (directory: string) => A | null): A | null => {
  if (process.platform !== 'linux') return null;
  let directory: string | null = null;
  try {
    directory = mkdtempSync(join(tmpdir(), 'session-ledger-'));
    return open(directory);
  } catch {
    // No room, or no place: the command gets its streams the common way.
    return null;
  } finally {
    if (directory !== null) rmSync(directory, { recursive: true, force: true });
  }
};
