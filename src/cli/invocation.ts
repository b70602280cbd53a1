/** One call of a command as commander parsed it: still text, checked by the command's own zod schema. */
import * as E from 'fp-ts/lib/Either.js';
import * as z from 'zod';
import type { MetadataPatch } from '../domain/events.js';
import { Id, Uuid } from '../domain/ids.js';
import { Status } from '../domain/status.js';
import { parseDuration } from './duration.js';
import { EXIT } from './exit.js';

export interface GlobalOptions {
  readonly store?: string | undefined;
  readonly stateDir?: string | undefined;
  readonly actor?: string | undefined;
  readonly logLevel: string;
  readonly json: boolean;
}

export interface Invocation {
  readonly globals: GlobalOptions;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

/** A command: what it answers is its exit code. */
export type Handler = (invocation: Invocation) => Promise<number>;

/** Says on stderr, in one line, what is wrong and what to do, and gives the exit code back. */
export const complain = (exitCode: number, message: string): number => {
  process.stderr.write(`session-ledger: ${message.replaceAll(/\s*\n\s*/g, ' ')}\n`);
  return exitCode;
};

export const usage = (message: string): number => complain(EXIT.usage, message);

/** Checks options with their schema; the left side names the option as it is typed. */
export const readOptions = <S extends z.ZodType>(
  schema: S,
  options: unknown,
): E.Either<string, z.output<S>> => {
  const checked = schema.safeParse(options);
  if (checked.success) return E.right(checked.data);
  const issue = checked.error.issues[0];
  const [name, ...rest] = issue?.path ?? [];
  const flag = `--${String(name ?? '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  return E.left(
    [flag, ...rest.filter((part) => typeof part === 'string')].join(' ') +
      `: ${issue?.message ?? 'is wrong'}`,
  );
};

const converted = <A>(convert: (text: string) => E.Either<string, A>) =>
  z.string().transform((text, context): A => {
    const result = convert(text);
    if (E.isRight(result)) return result.right;
    context.addIssue({ code: 'custom', message: result.left });
    return z.NEVER;
  });

/** A length of time in milliseconds, given as `1500ms`, `5s`, `30m`, `24h`, `30d`. */
export const duration = converted(parseDuration);

export const wholeNumber = (least: number) =>
  converted((text) =>
    /^\d{1,15}$/.test(text) && Number(text) >= least
      ? E.right(Number(text))
      : E.left(`must be a whole number of at least ${least}, not "${text}"`),
  );

export const status = converted((text): E.Either<string, Status> => {
  const checked = Status.safeParse(text);
  return checked.success
    ? E.right(checked.data)
    : E.left(`unknown status "${text}": use ${Status.options.join(', ')}`);
});

export const id = Id;
export const notBlank = z.string().refine((text) => text.trim() !== '', 'must not be blank');
export const statuses = z.array(status).optional();

/** An instant with an offset, or a length of time before now; gives ISO-8601 UTC. */
export const instant = (now: () => number) =>
  converted((text): E.Either<string, string> => {
    const ago = parseDuration(text);
    if (E.isRight(ago)) return E.right(new Date(now() - ago.right).toISOString());
    const parts = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/.exec(text);
    const [, day, clock = '00:00', seconds = ':00', offset = 'Z'] = parts ?? [];
    const ms = parts === null ? Number.NaN : Date.parse(`${day}T${clock}${seconds}${offset}`);
    // A day that does not exist (30 February) rolls over silently: the day is checked by a round trip.
    const real = day !== undefined && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
    return Number.isNaN(ms) || !real
      ? E.left(`must be a time such as 2026-01-31, 2026-01-31T09:30:00Z, or 24h for a day ago, not "${text}"`)
      : E.right(new Date(ms).toISOString());
  });

/** `--meta key=value`, any number of them. */
export const meta = z
  .array(
    converted((text): E.Either<string, readonly [string, string]> => {
      const at = text.indexOf('=');
      if (at <= 0) return E.left(`must be key=value, not "${text}"`);
      return text.isWellFormed()
        ? E.right([text.slice(0, at), text.slice(at + 1)])
        : E.left('is not valid Unicode');
    }),
  )
  .default([])
  .transform((pairs): MetadataPatch => Object.fromEntries(pairs));

/** The guards that `open`, `close`, `reopen` and `note` share. */
export const guards = {
  expectRevision: wholeNumber(0).optional(),
  expectStatus: statuses,
  commandId: Uuid.optional(),
};
