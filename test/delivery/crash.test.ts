import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openSqliteLog } from '../../src/log/sqlite/sqliteLog.js';
import { right } from '../support/engines.js';
import { buildFixture, start, until } from '../support/fixture.js';
import { temporaryDirectory } from '../support/temp.js';
import { consumerTypes, ended, setUp } from './support.js';

let deliverer: string;
beforeAll(async () => {
  deliverer = await buildFixture('test/delivery/deliverer.fixture.ts');
});

const LOST = ['EnvelopeAttempted'];
const TOLD = ['EnvelopeAttempted', 'EnvelopeDelivered'];

describe('a deliverer that is killed', () => {
  it.each([
    ['before the claim', 1, TOLD],
    ['after the claim', 1, [...LOST, ...TOLD]],
    ['while the command runs', 2, [...LOST, ...TOLD]],
    ['before the record', 2, [...LOST, ...TOLD]],
    ['after the record', 1, TOLD],
  ])('%s leaves a notice that is told %i time(s) in all, with one id', async (step, times, events) => {
    const directory = temporaryDirectory();
    const path = join(directory, 'ledger.db');
    const log = right(await openSqliteLog(path)());
    onTestFinished(() => log.close());
    const s = await setUp(log, directory);
    const started = join(directory, 'started');
    const go = join(directory, 'go');
    await ended(s, 's', [
      `sh -c 'touch ${started}; while ! test -e ${go}; do sleep 0.02; done; echo "$0" >> ${directory}/told' {event_id}`,
    ]);
    const whileItRuns = step === 'while the command runs';
    if (!whileItRuns) writeFileSync(go, '');

    const victim = await start(deliverer, [path, s.stateDir, step, started]).ended;
    expect(victim).toMatchObject({ signal: 'SIGKILL', stderr: '' });
    if (whileItRuns) {
      // The command has lost its deliverer, and does its work all the same.
      writeFileSync(go, '');
      await until(() => s.told().length > 0);
    }

    const second = await start(deliverer, [path, s.stateDir, 'never', started]).ended;
    expect(second).toMatchObject({ code: 0, stderr: '' });
    expect(await s.run()).toMatchObject({ notices: [] });
    expect(await consumerTypes(s.w)).toEqual(events);
    const ids = s.told();
    expect(ids).toHaveLength(times);
    expect(new Set(ids).size).toBe(1);
  });
});
