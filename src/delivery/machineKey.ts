/** The key that proves which commands this user recorded on this machine; it never leaves it (design §8). */
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import * as E from 'fp-ts/lib/Either.js';

export interface MachineKey {
  readonly secret: Uint8Array;
  /** Tells keys apart without telling anything of them. */
  readonly keyId: string;
}

const LENGTH = 32;

/** Reads the key, or makes it; the left side says what is wrong with the file, which is never replaced. */
export const machineKey = (stateDir: string): E.Either<string, MachineKey> => {
  const path = join(stateDir, 'exec.key');
  try {
    return read(path) ?? make(stateDir, path) ?? E.left(`${path} vanished while it was read: try again`);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return E.left(`the key ${path} cannot be read or made: ${message}`);
  }
};

/** Null when there is no key yet. */
const read = (path: string): E.Either<string, MachineKey> | null => {
  try {
    const { mode, uid } = statSync(path);
    if ((mode & 0o077) !== 0)
      return E.left(
        `the key ${path} can be read by others: \`chmod 600 ${path}\` if nobody has, else remove it (commands recorded with it are then refused)`,
      );
    if (process.getuid !== undefined && uid !== process.getuid())
      return E.left(
        `the key ${path} belongs to another user: use a state directory of your own (--state-dir)`,
      );
    const secret = readFileSync(path);
    if (secret.length !== LENGTH)
      return E.left(
        `the key ${path} is damaged (${secret.length} bytes, not ${LENGTH}): remove it (commands recorded with it are then refused)`,
      );
    const keyId = createHash('sha256')
      .update('session-ledger key id\0')
      .update(secret)
      .digest('hex')
      .slice(0, 16);
    return E.right({ secret, keyId });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
};

/** Complete before it has its name, and the first one stays: two processes at once get the same key. */
const make = (stateDir: string, path: string): E.Either<string, MachineKey> | null => {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeSync(file, randomBytes(LENGTH));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  chmodSync(draft, 0o600);
  try {
    linkSync(draft, path);
    syncDirectory(stateDir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return read(path);
};

/** What the key has signed is durable, so its name has to be, too. */
const syncDirectory = (path: string): void => {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
};
