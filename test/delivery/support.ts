/** A ledger with the real delivery, and sessions that end with notices owed. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { v7 } from 'uuid';
import { deliver } from '../../src/delivery/deliver.js';
import type { DeliveryPorts } from '../../src/delivery/deliver.js';
import { signIntent } from '../../src/delivery/intent.js';
import { machineKey } from '../../src/delivery/machineKey.js';
import type { NotifyIntent } from '../../src/domain/events.js';
import { judge } from '../../src/domain/processIdentity.js';
import type { EventLog } from '../../src/log/port.js';
import { hostFacts, observe, selfIdentity } from '../../src/process/liveness.js';
import { runBounded } from '../../src/process/runBounded.js';
import { openReadModel } from '../../src/projector/readModel.js';
import { right } from '../support/engines.js';
import type { Engine } from '../support/engines.js';
import { world, worldOn } from '../support/ledger.js';
import type { World } from '../support/ledger.js';
import { temporaryDirectory } from '../support/temp.js';

export const PLACE = { hostId: hostFacts().hostId, user: '0' };

/** On an engine, or on a log that the test has opened; `run` sends what is owed. */
export const setUp = async (on: Engine | EventLog, directory = temporaryDirectory()) => {
  const w = 'open' in on ? await world(on) : worldOn(on);
  const stateDir = join(directory, 'state');
  const key = right(machineKey(stateDir));
  const model = right(await openReadModel(':memory:', w.log)());
  const ports: DeliveryPorts = {
    log: w.log,
    queue: model,
    key,
    place: PLACE,
    self: selfIdentity('local'),
    judge: (owner) => judge(owner, hostFacts(), observe),
    runBounded,
    stateDir,
    env: process.env,
    now: w.now,
    newId: () => v7(),
    actor: { type: 'user', id: 'tester' },
  };
  const file = join(directory, 'told');
  return {
    w,
    ports,
    key,
    directory,
    stateDir,
    told: () =>
      existsSync(file)
        ? readFileSync(file, 'utf8')
            .split('\n')
            .filter((line) => line !== '')
        : [],
    append: (text: string) => `sh -c 'echo "$0" >> ${file}' ${text}`,
    run: async (more: Partial<DeliveryPorts> = {}, sessionId?: string) =>
      right(await deliver({ ...ports, ...more }, sessionId)()),
  };
};
export type SetUp = Awaited<ReturnType<typeof setUp>>;

export const ended = async (
  s: SetUp,
  id: string,
  templates: readonly string[],
  more: { intents?: readonly NotifyIntent[]; summary?: string } = {},
) => {
  await s.w.open(id, {
    notify: (sessionId) =>
      more.intents ?? templates.map((template) => signIntent(s.key, PLACE, sessionId, template)),
  });
  await s.w.close(id, 'completed', {
    leg: 1,
    reason: { code: 'run.completed.ok', summary: more.summary ?? '' },
  });
};

export const consumerTypes = async (w: World) =>
  right(await w.log.readAll({ filter: { streamPrefixes: ['consumer-'] } })()).map(({ type }) => type);
