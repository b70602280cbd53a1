/**
 * Appends of writers that found the write lock taken: files beside the log, for whoever holds the lock to carry out
 * along with its own (ADR 0007). They are hints only; the truth is in the database, and appends are idempotent.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { AppendWrite } from './write.js';

/** So much is carried out in one transaction for others; the rest waits for the next. */
const MAX_REQUESTS = 64;
const MAX_BYTES = 1024 * 1024;

const Content = z.union([z.string(), z.strictObject({ base64: z.string() })]);
const Request = z.strictObject({
  stream: z.string(),
  expected: z.union([z.literal('any'), z.literal('no_stream'), z.int()]),
  events: z
    .array(z.strictObject({ eventId: z.guid(), type: z.string(), data: Content, metadata: Content }))
    .min(1),
});

const encode = (content: string | Uint8Array): z.infer<typeof Content> =>
  typeof content === 'string' ? content : { base64: Buffer.from(content).toString('base64') };

const decode = (content: z.infer<typeof Content>): string | Uint8Array =>
  typeof content === 'string' ? content : Buffer.from(content.base64, 'base64');

export interface Waiting {
  readonly file: string;
  readonly write: AppendWrite;
}

export interface Inbox {
  /** Publishes an append; gives the file that stands for it, or null when none can be written: then wait without one. */
  readonly publish: (write: AppendWrite) => string | null;
  /** Withdraws or answers: the owner sees that the file is gone, and looks into the database. */
  readonly remove: (file: string) => void;
  /** False once somebody has answered. */
  readonly has: (file: string) => boolean;
  /** The waiting appends of living processes, oldest first, bounded; what the dead and the confused left is removed. */
  readonly collect: () => readonly Waiting[];
}

export const openInbox = (directory: string, isAlive: (pid: number) => boolean): Inbox => {
  let counter = 0;
  const make = (): void => {
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    } catch {
      // Then it is waited without an inbox.
    }
  };
  const remove = (file: string): void => {
    try {
      unlinkSync(join(directory, file));
    } catch {
      // Gone already; or it stays and is carried out once more, which changes nothing.
    }
  };
  const list = (): readonly string[] => {
    try {
      return readdirSync(directory).sort();
    } catch {
      return [];
    }
  };
  const read = (file: string): { readonly bytes: number; readonly write: AppendWrite } | null => {
    try {
      const text = readFileSync(join(directory, file), 'utf8');
      const { stream, expected, events } = Request.parse(JSON.parse(text));
      const decoded = events.map((event) => ({
        ...event,
        data: decode(event.data),
        metadata: decode(event.metadata),
      }));
      return { bytes: text.length, write: { _tag: 'append', stream, expected, events: decoded } };
    } catch {
      return null;
    }
  };
  make();
  return {
    publish: ({ stream, expected, events }) => {
      counter += 1;
      const file = `${String(Date.now()).padStart(15, '0')}-${process.pid}-${counter}.json`;
      const encoded = events.map((event) => ({
        ...event,
        data: encode(event.data),
        metadata: encode(event.metadata),
      }));
      const path = join(directory, file);
      const text = JSON.stringify({ stream, expected, events: encoded });
      try {
        writeFileSync(`${path}.part`, text, { mode: 0o600 });
        renameSync(`${path}.part`, path);
        return file;
      } catch {
        remove(`${file}.part`);
        make();
        return null;
      }
    },
    remove,
    has: (file) => existsSync(join(directory, file)),
    collect: () => {
      const waiting: Waiting[] = [];
      let bytes = 0;
      for (const file of list()) {
        const owner = /^\d+-(\d+)-\d+\.json(\.part)?$/.exec(file);
        if (owner === null || !isAlive(Number(owner[1]))) remove(file);
        else if (owner[2] === undefined && waiting.length < MAX_REQUESTS && bytes < MAX_BYTES) {
          const request = read(file);
          if (request === null) remove(file);
          else {
            bytes += request.bytes;
            waiting.push({ file, write: request.write });
          }
        }
      }
      return waiting;
    },
  };
};

/** Whether a process of this machine exists. A number that was given to another process only delays a clean-up. */
export const processExists = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
