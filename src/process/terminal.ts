/** The terminal that a leg's command gets, and gets back from a command that was killed in the middle of its screen. */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { parseStat } from './liveness.js';

/** Whether this process has a controlling terminal: a command then stays in our group to be in the foreground with us. */
export const hasTerminal = (): boolean => {
  try {
    closeSync(openSync('/dev/tty', 'r+'));
    return true;
  } catch {
    return false;
  }
};

/** Whether Ctrl-C at the terminal reaches this process, and so its command, directly. */
export const inForeground = (): boolean => {
  try {
    const stat =
      process.platform === 'linux'
        ? parseStat(readFileSync('/proc/self/stat', 'latin1'))
        : groupsByPs(
            spawnSync('/bin/ps', ['-o', 'pgid=,tpgid=', '-p', String(process.pid)], { encoding: 'utf8' })
              .stdout,
          );
    return stat !== null && stat.group === stat.foreground;
  } catch {
    return false;
  }
};

const groupsByPs = (line: string): { readonly group: number; readonly foreground: number } | null => {
  const [, group, foreground] = /^\s*(\d+)\s+(\d+)/.exec(line) ?? [];
  return foreground === undefined ? null : { group: Number(group), foreground: Number(foreground) };
};

/** Leaves the alternate screen, mouse reporting and bracketed paste, and shows the cursor (xterm control sequences). */
const RESET = '\x1b[?1047l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h';

/** Remembers the terminal's settings; the function it gives puts them back. */
export const rememberTerminal = (): (() => void) => {
  // Asked of the descriptors: to touch process.stdin would make a pipe there answer EAGAIN to whoever shares it.
  const fd = [0, 1].find(isatty);
  if (fd === undefined) return () => undefined;
  const settings = stty(fd, ['-g']);
  return () => {
    // Whoever sets a terminal from the background is suspended by it, and it is somebody else's by then.
    if (hasTerminal() && !inForeground()) return;
    try {
      if (isatty(1)) writeSync(1, RESET);
    } catch {
      // It has been hung up.
    }
    if (settings !== null) stty(fd, [settings]);
  };
};

const stty = (fd: number, args: readonly string[]): string | null => {
  const { status, stdout } = spawnSync('stty', args, { stdio: [fd, 'pipe', 'ignore'], encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
};
