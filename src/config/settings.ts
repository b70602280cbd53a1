/** Where the ledger is and who speaks: options, environment and the user's configuration file, checked before anything starts. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import * as z from 'zod';
import { firstProblem } from '../domain/events.js';
import type { Actor } from '../domain/events.js';
import { buildReasonRegistry } from '../domain/reasons.js';
import type { ReasonDefinition, ReasonRegistry } from '../domain/reasons.js';

export interface SettingsInput {
  /** Connection string of the log: `sqlite:PATH`, `memory:`; by default `ledger.db` in the state directory. */
  readonly store?: string | undefined;
  readonly stateDir?: string | undefined;
  /** Who speaks: `ID`, or `TYPE:ID` such as `agent:reviewer-3`; by default the user of this process. */
  readonly actor?: string | undefined;
  /** Reason codes beside the built-in ones and those of the configuration file. */
  readonly reasons?: readonly ReasonDefinition[] | undefined;
}

export interface Settings {
  readonly store: string;
  /** Names the store where its connection string, which may hold a password, must not stand. */
  readonly storeKey: string;
  readonly stateDir: string;
  /** The read model of this store; one store never reads another's. */
  readonly readModel: string;
  readonly actor: Actor;
  /** True when the caller named the actor. */
  readonly actorNamed: boolean;
  readonly registry: ReasonRegistry;
}

export interface ConfigurationError {
  readonly _tag: 'Configuration';
  readonly message: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Resolves and checks everything; the left side names the option, variable or file that is wrong. */
export const resolveSettings = (
  input: SettingsInput,
  env: Environment,
): E.Either<ConfigurationError, Settings> => {
  const stateDir = stateDirectory(input.stateDir, env);
  if (E.isLeft(stateDir)) return stateDir;
  const actor = readActor(input.actor);
  if (E.isLeft(actor)) return actor;
  const file = readConfiguration(env);
  if (E.isLeft(file)) return file;
  const registry = buildReasonRegistry([...file.right.reasons, ...(input.reasons ?? [])]);
  if (E.isLeft(registry)) return wrong(`reasons: ${registry.left.join('; ')}`);
  const store = canonicalStore(input.store, stateDir.right);
  const storeKey = digest(store);
  return E.right({
    store,
    storeKey,
    stateDir: stateDir.right,
    readModel: store === 'memory:' ? ':memory:' : join(stateDir.right, `read-model-${storeKey}.db`),
    actor: actor.right,
    actorNamed: input.actor !== undefined,
    registry: registry.right,
  });
};

const wrong = (message: string): E.Either<ConfigurationError, never> =>
  E.left({ _tag: 'Configuration', message });

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

const stateDirectory = (
  given: string | undefined,
  env: Environment,
): E.Either<ConfigurationError, string> => {
  if (given !== undefined)
    return given === '' ? wrong('--state-dir is empty: name a directory') : E.right(resolve(given));
  const base = env['XDG_STATE_HOME'];
  // The XDG base directory specification has relative paths ignored.
  if (base !== undefined && isAbsolute(base)) return E.right(join(base, 'session-ledger'));
  const home = homeDirectory();
  if (home === null)
    return wrong('no state directory: neither --state-dir, XDG_STATE_HOME nor a home directory is set');
  return E.right(join(home, '.local', 'state', 'session-ledger'));
};

const homeDirectory = (): string | null => {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : null;
  } catch {
    return null;
  }
};

const canonicalStore = (given: string | undefined, stateDir: string): string => {
  if (given === undefined || given === 'sqlite:') return `sqlite:${join(stateDir, 'ledger.db')}`;
  return given.startsWith('sqlite:') ? `sqlite:${resolve(given.slice('sqlite:'.length))}` : given;
};

const readActor = (given: string | undefined): E.Either<ConfigurationError, Actor> => {
  if (given === undefined) return E.right({ type: 'user', id: userName() });
  const typed = /^([a-z][a-z0-9_-]*):(.+)$/s.exec(given);
  const actor = typed === null ? { type: 'user', id: given } : { type: typed[1] ?? '', id: typed[2] ?? '' };
  return actor.id.trim() === ''
    ? wrong('--actor is blank: say who acts, such as alice or agent:reviewer-3')
    : E.right(actor);
};

const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
};

const Configuration = z.strictObject({
  reasons: z
    .array(z.strictObject({ code: z.string(), meaning: z.string(), inferred: z.boolean().default(false) }))
    .default([]),
});

export const configurationFile = (env: Environment): string | null => {
  const base = env['XDG_CONFIG_HOME'];
  const home = homeDirectory();
  if (base !== undefined && isAbsolute(base)) return join(base, 'session-ledger', 'config.json');
  return home === null ? null : join(home, '.config', 'session-ledger', 'config.json');
};

const readConfiguration = (env: Environment): E.Either<ConfigurationError, z.infer<typeof Configuration>> => {
  const path = configurationFile(env);
  const content = path === null ? null : readIfThere(path);
  if (path === null || content === null) return E.right({ reasons: [] });
  if (E.isLeft(content)) return wrong(`${path} cannot be read: ${content.left}`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(content.right);
  } catch (error) {
    return wrong(`${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const checked = Configuration.safeParse(parsed);
  return checked.success ? E.right(checked.data) : wrong(`${path}: ${firstProblem(checked.error)}`);
};

/** Null when there is no such file. */
const readIfThere = (path: string): E.Either<string, string> | null => {
  try {
    return E.right(readFileSync(path, 'utf8'));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : E.left(message);
  }
};
