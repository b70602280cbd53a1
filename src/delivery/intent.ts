/** Signs a `--notify` command when it is recorded, and proves it before it is run: an event must not become a command line. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isExecIntent } from '../domain/events.js';
import type { ExecIntent, NotifyIntent } from '../domain/events.js';
import type { MachineKey } from './machineKey.js';

/** Where and for whom a command was recorded. */
export interface Place {
  readonly hostId: string;
  readonly user: string;
}

const macOf = (
  { secret }: MachineKey,
  { hostId, user }: Place,
  sessionId: string,
  template: string,
): string =>
  createHmac('sha256', secret)
    .update(JSON.stringify(['session-ledger exec intent', 1, sessionId, hostId, user, template]))
    .digest('base64url');

export const signIntent = (
  key: MachineKey,
  place: Place,
  sessionId: string,
  template: string,
): ExecIntent => ({
  kind: 'exec',
  template,
  hostId: place.hostId,
  user: place.user,
  keyId: key.keyId,
  mac: macOf(key, place, sessionId, template),
});

/** `elsewhere`: another host's or user's to run. `refused`: meant for here, and not proven by this machine's key. */
export type Proof =
  | { readonly _tag: 'ours'; readonly template: string }
  | { readonly _tag: 'elsewhere' }
  | { readonly _tag: 'refused' };

export const proveIntent = (
  key: MachineKey,
  place: Place,
  sessionId: string,
  intent: NotifyIntent,
): Proof => {
  if (!isExecIntent(intent)) return { _tag: 'elsewhere' };
  if (intent.hostId !== place.hostId || intent.user !== place.user) return { _tag: 'elsewhere' };
  const expected = Buffer.from(macOf(key, place, sessionId, intent.template));
  const given = Buffer.from(intent.mac);
  return expected.length === given.length && timingSafeEqual(expected, given)
    ? { _tag: 'ours', template: intent.template }
    : { _tag: 'refused' };
};
