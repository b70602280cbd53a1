/** A command's stdout on its way through this program to ours, counted. */
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/** What a command left in the pipe is read after its exit until none came for so long: a background child may hold the pipe for ever. */
const DRAIN_MS = 100;
/** The most that a pipe holds (Linux: /proc/sys/fs/pipe-max-size); more than that after the exit comes of somebody else. */
const LEFT_IN_PIPE = 1_048_576;

export interface PassedOn {
  readonly bytes: () => number;
  /** To be called once the command has ended. */
  readonly drained: () => Promise<void>;
}

export const passOn = (from: Readable): PassedOn => {
  let bytes = 0;
  let ended = false;
  from.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    // A reader that has gone away is no reason to stop the command: what it says is then only counted. Once it has
    // ended, a slow reader is not waited for either: what is left is little, and must not be lost.
    if (process.stdout.writable && !process.stdout.write(chunk) && !ended) from.pause();
  });
  const resume = () => from.resume();
  process.stdout.on('drain', resume).on('close', resume);
  const closed = new Promise<'closed'>((resolve) =>
    from.once('close', () => {
      resolve('closed');
    }),
  );
  const rest = async (): Promise<void> => {
    const atEnd = bytes;
    for (let before = -1; bytes > before && bytes - atEnd <= LEFT_IN_PIPE;) {
      before = bytes;
      if ((await Promise.race([closed, delay(DRAIN_MS)])) === 'closed') return;
    }
  };
  return {
    bytes: () => bytes,
    drained: async () => {
      ended = true;
      from.resume();
      await rest();
      from.destroy();
      process.stdout.off('drain', resume).off('close', resume);
    },
  };
};
