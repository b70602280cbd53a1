/** Closes that the log could not take: kept on disk and appended by the next command that can (design §11). */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import * as z from 'zod';
import { ChangeStatus, CommandContext } from '../domain/commands.js';
import { Id } from '../domain/ids.js';
import type { UseCases } from '../ledger/ledger.js';
import type { LedgerError, Outcome } from '../ledger/outcome.js';

const SpooledClose = z.strictObject({
  version: z.literal(1),
  /** Names the log that the close belongs to. */
  storeKey: z.string(),
  sessionId: Id,
  change: ChangeStatus.omit({ _tag: true }),
  context: CommandContext.required({ commandId: true }),
});
export type SpooledClose = z.infer<typeof SpooledClose>;

const directoryIn = (stateDir: string): string => join(stateDir, 'spool');

/** Writes a close durably: it is complete under its name or not there at all. Throws when the disk refuses. */
export const spoolClose = (stateDir: string, close: Omit<SpooledClose, 'version'>): string => {
  const directory = directoryIn(stateDir);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, `${close.context.commandId}.json`);
  const file = openSync(`${path}.part`, 'w', 0o600);
  try {
    writeSync(file, JSON.stringify({ version: 1, ...close }));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.part`, path);
  return path;
};

export interface Drained {
  readonly path: string;
  readonly close: SpooledClose;
  readonly result: E.Either<LedgerError, Outcome>;
}

/**
 * Appends what is spooled for this store. Each close carries its command id, so two programs draining at once, or
 * one that dies before it removes the file, append it once. Stops at the first one that the log refuses to take.
 */
export const drainSpool = async (
  stateDir: string,
  storeKey: string,
  useCases: UseCases,
  onUnreadable: (path: string, problem: string) => void,
): Promise<readonly Drained[]> => {
  const drained: Drained[] = [];
  for (const path of spooledFiles(stateDir)) {
    const close = readSpooled(path);
    if (E.isLeft(close)) {
      renameSync(path, `${path}.unreadable`);
      onUnreadable(`${path}.unreadable`, close.left);
      continue;
    }
    if (close.right === null || close.right.storeKey !== storeKey) continue;
    const { sessionId, change, context } = close.right;
    const result = await useCases.changeStatus(sessionId, change, context)();
    drained.push({ path, close: close.right, result });
    if (E.isLeft(result) && result.left._tag === 'LogUnavailable') break;
    rmSync(path, { force: true });
  }
  return drained;
};

const spooledFiles = (stateDir: string): readonly string[] => {
  try {
    return readdirSync(directoryIn(stateDir))
      .filter((name) => name.endsWith('.json'))
      .sort()
      .map((name) => join(directoryIn(stateDir), name));
  } catch {
    return [];
  }
};

/** Null when another program has just drained it. */
const readSpooled = (path: string): E.Either<string, SpooledClose | null> => {
  try {
    const parsed = SpooledClose.safeParse(JSON.parse(readFileSync(path, 'utf8')));
    return parsed.success
      ? E.right(parsed.data)
      : E.left(parsed.error.issues[0]?.message ?? 'it does not fit');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? E.right(null) : E.left(message);
  }
};
