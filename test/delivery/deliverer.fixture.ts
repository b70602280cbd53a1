/**
 * A process that delivers what is owed: `deliverer.mjs LOG STATE_DIR STEP STARTED`. It kills itself, with SIGKILL, when it
 * gets to the step; `running` is when the command has made the file STARTED.
 */
import { existsSync } from 'node:fs';
import { v7 } from 'uuid';
import { deliver } from '../../src/delivery/deliver.js';
import { machineKey } from '../../src/delivery/machineKey.js';
import { judge } from '../../src/domain/processIdentity.js';
import { openSqliteLog } from '../../src/log/sqlite/sqliteLog.js';
import { hostFacts, observe, selfIdentity } from '../../src/process/liveness.js';
import { runBounded } from '../../src/process/runBounded.js';
import { openReadModel } from '../../src/projector/readModel.js';
import { right } from '../support/engines.js';

const [logPath = '', stateDir = '', dieAt = '', started = ''] = process.argv.slice(2);
const at = (step: string): void => {
  if (step === dieAt) process.kill(process.pid, 'SIGKILL');
};

const log = right(await openSqliteLog(logPath)());
right(
  await deliver({
    log: {
      ...log,
      append: (stream, events, expected) => async () => {
        const step = events[0]?.type === 'EnvelopeAttempted' ? 'claim' : 'record';
        at(`before the ${step}`);
        const appended = await log.append(stream, events, expected)();
        at(`after the ${step}`);
        return appended;
      },
    },
    queue: right(await openReadModel(':memory:', log)()),
    key: right(machineKey(stateDir)),
    place: { hostId: hostFacts().hostId, user: '0' },
    self: selfIdentity('local'),
    judge: (owner) => judge(owner, hostFacts(), observe),
    runBounded: (...args) => {
      const running = runBounded(...args);
      const timer = setInterval(() => {
        if (existsSync(started)) at('while the command runs');
      }, 5);
      return running.finally(() => {
        clearInterval(timer);
      });
    },
    stateDir,
    env: process.env,
    now: () => new Date().toISOString(),
    newId: () => v7(),
    actor: { type: 'user', id: 'tester' },
  })(),
);
await log.close();
