/** What the embedded log does when something around it goes wrong. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { watchChanges } from '../../../src/log/sqlite/changes.js';
import { openSqliteLog } from '../../../src/log/sqlite/sqliteLog.js';
import type { SqliteLogOptions } from '../../../src/log/sqlite/sqliteLog.js';
import type { EventLog } from '../../../src/log/port.js';
import { Sqlite } from '../../../src/sqlite/driver.js';
import { event } from '../../contract/eventLog.js';
import { left, right } from '../../support/engines.js';
import { buildFixture, until } from '../../support/fixture.js';
import { temporaryDirectory } from '../../support/temp.js';

const open = async (path: string, options: SqliteLogOptions = {}): Promise<EventLog> =>
  right(await openSqliteLog(path, options)());

/** Holds the write lock until it is let go. */
const lock = (path: string): (() => void) => {
  const db = new Sqlite(path);
  db.exec('BEGIN IMMEDIATE');
  return () => {
    db.exec('ROLLBACK');
    db.close();
  };
};

describe('an append', () => {
  it.each<[string, (inbox: string) => void]>([
    ['gone', () => undefined],
    [
      'no directory',
      (inbox) => {
        writeFileSync(inbox, 'in the way');
      },
    ],
  ])('waits for the lock without its inbox when that is %s', async (_name, replace) => {
    const path = join(temporaryDirectory(), 'ledger.db');
    const log = await open(path);
    rmSync(`${path}-inbox`, { recursive: true });
    replace(`${path}-inbox`);
    right(await log.append('s', [event('Free')], 'any')());
    const letGo = lock(path);
    const waiting = log.append('s', [event('Waiting')], 0)();
    setTimeout(letGo, 30);
    expect(right(await waiting)).toMatchObject({ revision: 1, repeated: false });
    await log.close();
  });

  it('that cannot be written fails alone among those that share its commit', async () => {
    const log = await open(join(temporaryDirectory(), 'ledger.db'));
    const halfBad = [event('A'), { ...event('B'), data: null as unknown as string }];
    const [first, bad, worse, last] = await Promise.all([
      log.append('s', [event()], 'any')(),
      log.append('s', [event('A', '{}', 'no-uuid')], 'any')(),
      log.append('s', halfBad, 'any')(),
      log.append('s', [event()], 'any')(),
    ]);
    expect([right(first).revision, right(last).revision]).toEqual([0, 1]);
    expect(left(bad)).toMatchObject({ _tag: 'LogUnavailable', outcomeUnknown: false });
    expect(left(worse)._tag).toBe('LogUnavailable');
    expect(right(await log.readStream('s')())).toHaveLength(2);
    await log.close();
  });

  it('is told as repeated, or refused, without waiting for whoever holds the lock', async () => {
    const path = join(temporaryDirectory(), 'ledger.db');
    const log = await open(path, { lockTimeoutMs: 600_000 });
    const events = [event('A'), event('B')];
    const first = right(await log.append('s', events, 'no_stream')());
    const letGo = lock(path);
    expect(right(await log.append('s', events, 'no_stream')())).toEqual({ ...first, repeated: true });
    expect(left(await log.append('s', [event()], 0)())).toMatchObject({ actual: 1 });
    expect(readdirSync(`${path}-inbox`)).toEqual([]);
    letGo();
    await log.close();
  });

  it('that another process has carried out is not told as repeated', async () => {
    const path = join(temporaryDirectory(), 'ledger.db');
    const [waiter, combiner] = [await open(path), await open(path)];
    const letGo = lock(path);
    const waiting = waiter.append('s', [event('A')], 'no_stream')();
    await until(() => readdirSync(`${path}-inbox`).some((name) => name.endsWith('.json')));
    letGo();
    // In one turn of the event loop with the end of the lock, so before the waiter looks again.
    const other = combiner.append('t', [event('B')], 'any')();
    expect(right(await waiting)).toMatchObject({ revision: 0, repeated: false });
    right(await other);
    await Promise.all([waiter.close(), combiner.close()]);
  });
});

describe('the write-ahead log', () => {
  it('is emptied at the next commit of anybody when a long reader has let it grow', async () => {
    const path = join(temporaryDirectory(), 'ledger.db');
    const log = await open(path, { synchronous: 'NORMAL' });
    right(await log.append('s', [event()], 'any')());
    const reader = new Sqlite(path);
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM events').get();
    for (let n = 0; n < 70; n += 1)
      right(await log.append('s', [event('Big', 'x'.repeat(1024 * 1024))], 'any')());
    const grown = statSync(`${path}-wal`).size;
    reader.exec('COMMIT');
    reader.close();
    const another = await open(path);
    right(await another.append('s', [event()], 'any')());
    expect(grown).toBeGreaterThan(64 * 1024 * 1024);
    expect(statSync(`${path}-wal`).size).toBeLessThan(1024 * 1024);
    await Promise.all([log.close(), another.close()]);
  });

  it('that cannot be written ends in an answer which names the file and the cause; what was acknowledged stays', async () => {
    const path = join(temporaryDirectory(), 'ledger.db');
    const writer = await buildFixture('test/log/sqlite/writer.fixture.ts');
    // The system refuses every write beyond this size; Node ignores the signal that comes with it.
    const limited = spawn(
      'sh',
      ['-c', 'ulimit -f 1000; exec "$@"', 'sh', process.execPath, writer, path, 's', '1000000'],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let [stdout, stderr] = ['', ''];
    limited.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    limited.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    await new Promise((resolve) => limited.once('close', resolve));
    expect(stderr).toContain('LogUnavailable');
    expect(stderr).toContain(`the log ${path} is unavailable (`);
    expect(stderr).toMatch(/the disk (reported an error|is full)/);
    const acknowledged = [...stdout.matchAll(/^ack (.*)$/gm)].map(([, id]) => id);
    expect(acknowledged.length).toBeGreaterThan(0);
    const log = await open(path);
    const ids = right(await log.readStream('s')()).map(({ eventId }) => eventId);
    expect(ids).toEqual(expect.arrayContaining(acknowledged));
    right(await log.append('s', [event()], ids.length - 1)());
    await log.close();
  });
});

describe('watching for commits', () => {
  it('polls where the system gives no watch', async () => {
    const nowhere = join(temporaryDirectory(), 'nowhere', 'ledger.db');
    expect(existsSync(nowhere)).toBe(false);
    let version = 0;
    const changes = watchChanges(nowhere, () => version, 5);
    const told = new Promise<void>((resolve) => changes.listen(resolve));
    version = 1;
    await told;
    changes.stop();
  });

  it('lets its listeners find out what is wrong when the log does not answer', async () => {
    let broken = false;
    const changes = watchChanges(
      join(temporaryDirectory(), 'ledger.db'),
      () => {
        if (broken) throw new Error('disk I/O error');
        return 0;
      },
      5,
    );
    const told = new Promise<void>((resolve) => changes.listen(resolve));
    broken = true;
    await told;
    changes.stop();
  });
});
