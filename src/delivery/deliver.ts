/** Delivers what is owed: claimed, attempted and recorded in the consumer's own stream, which alone is believed. */
import * as E from 'fp-ts/lib/Either.js';
import type * as TE from 'fp-ts/lib/TaskEither.js';
import { foldDeliveries } from '../../projections/deliveries.js';
import type { DeliveryState } from '../../projections/deliveries.js';
import { parseEvent } from '../domain/events.js';
import type { Actor, Draft, RawEvent } from '../domain/events.js';
import { consumerStream } from '../domain/ids.js';
import type { ProcessIdentity, Verdict } from '../domain/processIdentity.js';
import { stamp } from '../domain/stamp.js';
import { describeLogError } from '../log/port.js';
import type { EventLog, ExpectedRevision, LogError, LogUnavailable, NewEvent } from '../log/port.js';
import { attemptExec } from './exec.js';
import type { Attempt, ExecPorts } from './exec.js';
import { proveIntent } from './intent.js';
import type { Place } from './intent.js';
import type { MachineKey } from './machineKey.js';
import type { NoticeQueue, OwedNotice } from './queue.js';

export interface DeliveryPorts extends ExecPorts {
  readonly log: EventLog;
  readonly queue: NoticeQueue;
  readonly key: MachineKey;
  readonly place: Place;
  readonly self: ProcessIdentity;
  readonly judge: (process: ProcessIdentity | null) => Verdict;
  readonly now: () => string;
  readonly newId: () => string;
  readonly actor: Actor;
}

/** `busy`: a living process has it in hand. `waiting`: an earlier notice of the same session is not through yet. */
export type NoticeResult = 'delivered' | 'failed' | 'parked' | 'refused' | 'elsewhere' | 'busy' | 'waiting';

export interface NoticeReport {
  readonly envelopeId: string;
  readonly sessionId: string;
  readonly consumer: string;
  readonly result: NoticeResult;
  readonly detail: string;
}

export type DeliverySummary = Readonly<Record<NoticeResult, number>> & {
  readonly notices: readonly NoticeReport[];
};

/** After so many failed attempts a notice is parked: visible, and retried by hand only. */
export const MAX_ATTEMPTS = 5;
const CONCURRENT_CONSUMERS = 8;

/**
 * Claims that this process gave up because the log was away: a process that lives on would else look busy with them
 * for as long as it lives. What one of them ran is run again, with the same envelope id.
 */
const givenUp = new Set<string>();

type Step<A> = Promise<E.Either<LogUnavailable, A>>;

/** Tries each owed notice at most once; of one session when one is named. Consumers do not wait for each other. */
export const deliver =
  (ports: DeliveryPorts, sessionId?: string): TE.TaskEither<LogUnavailable, DeliverySummary> =>
  async () => {
    const owed = await ports.queue.owed(sessionId)();
    if (E.isLeft(owed)) return owed;
    const queues = [...byConsumer(owed.right).values()];
    const notices: NoticeReport[] = [];
    let problem: E.Left<LogUnavailable> | null = null;
    const worker = async (): Promise<void> => {
      for (let queue = queues.shift(); queue !== undefined; queue = queues.shift()) {
        const told = await deliverInOrder(ports, queue, notices);
        if (E.isLeft(told)) problem ??= told;
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_CONSUMERS }, worker));
    return problem ?? E.right(summarise(notices));
  };

const byConsumer = (owed: readonly OwedNotice[]): Map<string, OwedNotice[]> => {
  const queues = new Map<string, OwedNotice[]>();
  for (const notice of owed) {
    const queue = queues.get(notice.consumer);
    if (queue === undefined) queues.set(notice.consumer, [notice]);
    else queue.push(notice);
  }
  return queues;
};

const summarise = (notices: readonly NoticeReport[]): DeliverySummary => {
  const counts = { delivered: 0, failed: 0, parked: 0, refused: 0, elsewhere: 0, busy: 0, waiting: 0 };
  for (const { result } of notices) counts[result] += 1;
  return { ...counts, notices };
};

const deliverInOrder = async (
  ports: DeliveryPorts,
  queue: readonly OwedNotice[],
  notices: NoticeReport[],
): Step<void> => {
  let blocked = false;
  for (const notice of queue) {
    const { envelope, consumer, intent } = notice;
    const tell = (result: NoticeResult, detail: string) => {
      notices.push({ envelopeId: envelope.id, sessionId: envelope.data.sessionId, consumer, result, detail });
      blocked ||= result === 'failed' || result === 'busy';
    };
    if (blocked) {
      tell('waiting', 'an earlier notice of this session comes first');
      continue;
    }
    const proof = proveIntent(ports.key, ports.place, envelope.data.sessionId, intent);
    if (proof._tag === 'elsewhere') tell('elsewhere', 'recorded by another host or user, which delivers it');
    else if (proof._tag === 'refused')
      tell('refused', 'the command is not proven by the key of this machine, so it is not run');
    else {
      const done = await deliverOne(ports, notice, proof.template, tell);
      if (E.isLeft(done)) return done;
    }
  }
  return E.right(undefined);
};

const deliverOne = async (
  ports: DeliveryPorts,
  { envelope, consumer }: OwedNotice,
  template: string,
  tell: (result: NoticeResult, detail: string) => void,
): Step<void> => {
  const claimed = await claim(ports, consumer, envelope.id, envelope.data.sessionId);
  if (E.isLeft(claimed)) return claimed;
  if (claimed.right._tag === 'taken') {
    if (claimed.right.detail !== null) tell('busy', claimed.right.detail);
    return E.right(undefined);
  }
  const { attempt, claimId } = claimed.right;
  const outcome = await attemptExec(ports, template, envelope);
  const parks = outcome._tag === 'failed' && (outcome.permanent || attempt >= MAX_ATTEMPTS);
  const drafts = recordOf(
    { consumer, envelopeId: envelope.id, sessionId: envelope.data.sessionId, attempt },
    outcome,
    parks,
  );
  const recorded = await append(
    ports,
    consumer,
    drafts.map((draft) => stampAs(ports, ports.newId(), draft)),
    'any',
  );
  if (E.isLeft(recorded)) {
    givenUp.add(claimId);
    return E.left(asUnavailable(recorded.left));
  }
  if (outcome._tag === 'delivered') tell('delivered', outcome.result);
  else tell(parks ? 'parked' : 'failed', `attempt ${attempt}: ${outcome.error}`);
  return E.right(undefined);
};

type Claim =
  | { readonly _tag: 'claimed'; readonly attempt: number; readonly claimId: string }
  /** Delivered or parked already (null), or in the hands of a living process. */
  | { readonly _tag: 'taken'; readonly detail: string | null };

/** Appends the attempt at the exact revision that was judged: of two deliverers one gets it. */
const claim = async (
  ports: DeliveryPorts,
  consumer: string,
  envelopeId: string,
  sessionId: string,
): Step<Claim> => {
  for (;;) {
    const read = await ports.log.readStream(consumerStream(consumer))();
    if (E.isLeft(read)) return E.left(asUnavailable(read.left));
    const state = foldDeliveries(consumer, read.right).get(envelopeId) ?? null;
    const taken = takenBy(ports, state, () => isGivenUp(read.right, envelopeId));
    if (taken !== undefined) return E.right({ _tag: 'taken', detail: taken });
    const attempt = (state?.attempts ?? 0) + 1;
    const revision = read.right.at(-1)?.revision;
    const claimId = ports.newId();
    const draft: Draft = {
      type: 'EnvelopeAttempted',
      data: { consumer, envelopeId, sessionId, attempt, process: ports.self },
    };
    const claimed = await append(ports, consumer, [stampAs(ports, claimId, draft)], revision ?? 'no_stream');
    if (E.isRight(claimed)) return E.right({ _tag: 'claimed', attempt, claimId });
    if (claimed.left._tag !== 'WrongExpectedRevision') {
      // It may have been written all the same.
      givenUp.add(claimId);
      return E.left(asUnavailable(claimed.left));
    }
  }
};

/** Undefined when it is free to be tried: never tried, failed, or left behind by a process that is gone or gave up. */
const takenBy = (
  ports: DeliveryPorts,
  state: DeliveryState | null,
  wasGivenUp: () => boolean,
): string | null | undefined => {
  if (state === null || state.state === 'failed') return undefined;
  if (state.state !== 'attempting') return null;
  if (wasGivenUp()) return undefined;
  const { verdict, evidence } = ports.judge(state.owner);
  return verdict === 'gone' ? undefined : `attempt ${state.attempts} is under way (${evidence})`;
};

/** Only of the last claim of the envelope: what was given up and claimed anew is somebody's again. */
const isGivenUp = (events: readonly RawEvent[], envelopeId: string): boolean => {
  if (givenUp.size === 0) return false;
  const last = events.findLast((raw) => {
    const event = parseEvent(raw);
    return (
      E.isRight(event) &&
      event.right.type === 'EnvelopeAttempted' &&
      event.right.data.envelopeId === envelopeId
    );
  });
  return last !== undefined && givenUp.has(last.eventId);
};

const recordOf = (
  base: {
    readonly consumer: string;
    readonly envelopeId: string;
    readonly sessionId: string;
    readonly attempt: number;
  },
  outcome: Attempt,
  parks: boolean,
): readonly Draft[] => {
  if (outcome._tag === 'delivered')
    return [{ type: 'EnvelopeDelivered', data: { ...base, result: outcome.result } }];
  const data = { ...base, error: outcome.error };
  const failed: Draft = { type: 'EnvelopeFailed', data };
  return parks ? [failed, { type: 'EnvelopeParked', data }] : [failed];
};

const stampAs = ({ now, actor }: DeliveryPorts, eventId: string, draft: Draft): NewEvent =>
  stamp(draft, { eventId, at: now(), actor });

const append = (
  { log }: DeliveryPorts,
  consumer: string,
  events: readonly NewEvent[],
  expected: ExpectedRevision,
) => log.append(consumerStream(consumer), events, expected)();

const asUnavailable = (error: LogError): LogUnavailable =>
  error._tag === 'LogUnavailable'
    ? error
    : { _tag: 'LogUnavailable', message: describeLogError(error), outcomeUnknown: false };
