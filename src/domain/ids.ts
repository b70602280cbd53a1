/** Identifiers, stream names and the identifiers that are derived instead of drawn (design §4, §5, §8). */
import { v5 } from 'uuid';
import * as z from 'zod';

const ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._~:-]{0,127}$/;
export const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** 1–128 characters of `A-Z a-z 0-9 . _ ~ : -`, starting with a letter or digit. */
export const Id = z
  .string()
  .regex(
    ID_PATTERN,
    'an id has 1 to 128 characters of A-Z a-z 0-9 . _ ~ : - and starts with a letter or a digit',
  );

/** A UUID in any case, kept in lower case so that one id has one spelling. */
export const Uuid = z
  .string()
  .transform((text) => text.toLowerCase())
  .refine((text) => UUID_PATTERN.test(text), 'must be a UUID');

export const AUDIT_STREAM = 'audit';
const SESSION_PREFIX = 'session-';
const BRANCH_PREFIX = 'branch-';
const CONSUMER_PREFIX = 'consumer-';

export const sessionStream = (sessionId: string): string => SESSION_PREFIX + sessionId;
export const branchStream = (branchId: string): string => BRANCH_PREFIX + branchId;
export const consumerStream = (consumer: string): string => CONSUMER_PREFIX + consumer;

export type StreamKind =
  | { readonly _tag: 'session'; readonly id: string }
  | { readonly _tag: 'branch'; readonly id: string }
  | { readonly _tag: 'consumer'; readonly id: string }
  | { readonly _tag: 'audit' }
  | { readonly _tag: 'other' };

/** Says what a stream of the log holds; `other` for everything that is not the ledger's. */
export const streamKind = (stream: string): StreamKind => {
  if (stream === AUDIT_STREAM) return { _tag: 'audit' };
  if (stream.startsWith(SESSION_PREFIX)) return { _tag: 'session', id: stream.slice(SESSION_PREFIX.length) };
  if (stream.startsWith(BRANCH_PREFIX)) return { _tag: 'branch', id: stream.slice(BRANCH_PREFIX.length) };
  if (stream.startsWith(CONSUMER_PREFIX))
    return { _tag: 'consumer', id: stream.slice(CONSUMER_PREFIX.length) };
  return { _tag: 'other' };
};

/** The prefixes of every stream the ledger owns: the filter a projector reads the whole log with. */
export const LEDGER_STREAM_PREFIXES = [SESSION_PREFIX, BRANCH_PREFIX, CONSUMER_PREFIX, AUDIT_STREAM] as const;

const ENVELOPE_NAMESPACE = '6f3c1d52-9b0e-5d6a-8f5e-3a1c7e0b9d24';

/** The id of the terminal envelope that a transition causes: the same for ever, whatever is rebuilt (design §8). */
export const envelopeIdOf = (sessionId: string, revision: number): string =>
  v5(`${sessionStream(sessionId)}@${revision}`, ENVELOPE_NAMESPACE);

/** The id that a retried command gives again to the same thing it made the first time (design §5, idempotency). */
export const derivedId = (commandId: string, part: string): string => v5(part, commandId);

/**
 * The consumer that stands for one `--notify` command of one session (`key` tells its commands apart). A session id
 * may use the whole length an id has, so the name does not repeat it.
 */
export const notifyConsumerOf = (sessionId: string, key: string): string =>
  `notify:${v5(`${sessionStream(sessionId)}/${key}`, ENVELOPE_NAMESPACE)}`;
