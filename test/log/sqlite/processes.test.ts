import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { v7 } from 'uuid';
import type { EventLog } from '../../../src/log/port.js';
import { openSqliteLog } from '../../../src/log/sqlite/sqliteLog.js';
import { openReadModel } from '../../../src/projector/readModel.js';
import { event } from '../../contract/eventLog.js';
import { right } from '../../support/engines.js';
import { buildFixture, start, until } from '../../support/fixture.js';
import { temporaryDirectory } from '../../support/temp.js';

let writer: string;
beforeAll(async () => {
  writer = await buildFixture('test/log/sqlite/writer.fixture.ts');
});

const open = async (path: string): Promise<EventLog> => right(await openSqliteLog(path)());

const acknowledged = (stdout: string): string[] =>
  [...stdout.matchAll(/^ack (.*)\n/gm)].flatMap(([, ids]) => ids!.split(' ').filter((id) => id !== ''));

/** Every stream gapless; gives the ids of all events. */
const checkLog = async (path: string): Promise<Set<string>> => {
  const log = await open(path);
  const events = right(await log.readAll()());
  const next = new Map<string, number>();
  for (const { stream, revision } of events) {
    expect(revision).toBe(next.get(stream) ?? 0);
    next.set(stream, revision + 1);
  }
  await log.close();
  const ids = events.map(({ eventId }) => eventId);
  expect(new Set(ids).size).toBe(ids.length);
  return new Set(ids);
};

describe('many processes on one file', () => {
  it.each([
    ['one stream, at exact revisions', () => 'session-one', 'exact'],
    ['sixteen streams', (n: number) => `session-${n}`, ''],
  ])(
    'sixteen processes append to %s: nothing is lost, nobody sees a lock, nobody starves',
    async (name, streamOf, exact) => {
      const path = join(temporaryDirectory(), 'ledger.db');
      const COUNT = 60;
      const writers = Array.from({ length: 16 }, (_, n) =>
        start(writer, [path, streamOf(n), String(COUNT), '', exact]),
      );
      const ended = await Promise.all(writers.map((process) => process.ended));
      expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual(ended.map(() => [0, '']));
      const ids = await checkLog(path);
      const acks = ended.flatMap(({ stdout }) => acknowledged(stdout));
      expect(acks).toHaveLength(16 * COUNT);
      for (const ack of acks) expect(ids.has(ack)).toBe(true);
      expect(ids.size).toBe(acks.length);
      const reports = ended.map(
        ({ stdout }) =>
          JSON.parse(/^report (.*)$/m.exec(stdout)![1]!) as { waits: number[]; from: number; to: number },
      );
      const waits = reports.flatMap((report) => report.waits).sort((a, b) => a - b);
      const ms = Math.max(...reports.map(({ to }) => to)) - Math.min(...reports.map(({ from }) => from));
      const fairShare = (ms / waits.length) * 16;
      const at = (part: number) => waits[Math.floor((waits.length - 1) * part)]!;
      console.log(
        `${name}: ${Math.round((waits.length / ms) * 1000)} appends/s in all, fair share ${fairShare.toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms, longest ${at(1).toFixed(1)} ms`,
      );
    },
  );

  it('keeps every acknowledged append when the processes of legs are killed two hundred times', async () => {
    const stateDir = temporaryDirectory();
    const path = join(stateDir, 'ledger.db');
    const legs = await buildFixture('test/log/sqlite/legs.fixture.ts');
    const acks: string[] = [];
    let killed = 0;
    const killOne = async (n: number) => {
      const victim = start(legs, [stateDir, `s${n % 5}`]);
      await until(() => acknowledged(victim.stdout()).length > n % 9);
      victim.child.kill('SIGKILL');
      const { signal, stdout } = await victim.ended;
      if (signal === 'SIGKILL') killed += 1;
      acks.push(...acknowledged(stdout));
    };
    const log = await open(path);
    // This read model follows in pieces, while legs come and go.
    const following = right(await openReadModel(join(stateDir, 'following.db'), log)());
    for (let n = 0; n < 200; n += 4) {
      await Promise.all([0, 1, 2, 3].map((k) => killOne(n + k)));
      right(await following.catchUp()());
    }
    expect(killed).toBe(200);
    const ids = await checkLog(path);
    for (const ack of acks) expect(ids.has(ack)).toBe(true);
    const told = async () =>
      JSON.stringify(
        [
          right(await following.list({})()),
          right(await following.overrides({})()),
          right(await following.envelopesAfter(0n, 1e6)()),
        ],
        (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value),
      );
    const before = await told();
    right(await following.rebuild()());
    expect(await told()).toBe(before);
    const rows = right(await following.list({})());
    expect(rows.map(({ irregularCount }) => irregularCount)).toEqual(rows.map(() => 0));
    console.log(
      `${killed} processes killed, ${acks.length} acknowledged events, ${ids.size} events in the log, ${rows.reduce((sum, { leg }) => sum + leg, 0)} legs`,
    );
    following.close();
    await log.close();
  });

  it.each(['published', 'locked', 'written', 'committed'])(
    'loses and doubles nothing when a process is killed at the step "%s" among others',
    async (step) => {
      const path = join(temporaryDirectory(), 'ledger.db');
      // So many that none of them is done before the victims are dead.
      const others = [0, 1, 2].map((n) => start(writer, [path, `session-${n}`, '1000000']));
      await until(() => {
        for (const other of others) other.expectAlive();
        return others.every((other) => other.stdout().includes('ack'));
      });
      const victims = await Promise.all(
        [3, 4].map((n) => start(writer, [path, `session-${n}`, '1000000', step]).ended),
      );
      for (const other of others) other.child.kill('SIGKILL');
      const ended = await Promise.all(others.map((other) => other.ended));
      expect(victims.map(({ signal }) => signal)).toEqual(['SIGKILL', 'SIGKILL']);
      const ids = await checkLog(path);
      const acks = [...ended, ...victims].flatMap(({ stdout }) => acknowledged(stdout));
      for (const ack of acks) expect(ids.has(ack)).toBe(true);
      // A killed writer's last append may be in the log without its acknowledgement, never more than that.
      expect(ids.size - acks.length).toBeLessThanOrEqual(victims.length + others.length);
      const log = await open(path);
      right(await log.append('after', [event()], 'any')());
      expect(readdirSync(`${path}-inbox`)).toEqual([]);
      await log.close();
    },
  );

  it('tells who waits for a stopped process what is the matter, and goes on when that one does', async () => {
    const path = join(temporaryDirectory(), 'ledger.db');
    const holder = start(await buildFixture('test/log/sqlite/holder.fixture.ts'), [path]);
    await until(() => holder.stdout().includes('locked'));
    holder.child.kill('SIGSTOP');
    const log = right(await openSqliteLog(path, { lockTimeoutMs: 300 })());
    const refused = await log.append('s', [event()], 'any')();
    expect(refused).toMatchObject({
      left: {
        _tag: 'LogUnavailable',
        message: expect.stringMatching(
          /locked by another process for 0\.3 s.*continue or end that process/,
        ) as string,
      },
    });
    expect(readdirSync(`${path}-inbox`)).toEqual([]);
    const patient = await open(path);
    const waiting = patient.append('s', [event('Patient')], 'any')();
    holder.child.kill('SIGCONT');
    expect(right(await waiting).repeated).toBe(false);
    await holder.ended;
    expect(right(await log.readStream('s')()).map(({ type }) => type)).toEqual(['Patient']);
    await Promise.all([log.close(), patient.close()]);
  });

  it('shows a subscriber what another process commits, without the safety poll', async () => {
    const path = join(temporaryDirectory(), 'ledger.db');
    const log = right(await openSqliteLog(path, { pollMs: 3_600_000 })());
    const other = start(writer, [path, 's', '0']);
    await other.ended;
    let appended: ReturnType<typeof start> | null = null;
    const types: string[] = [];
    for await (const item of log.subscribeToAll()) {
      if (item._tag === 'event') types.push(item.event.type);
      else appended ??= start(writer, [path, 's', '5']);
      if (types.length === 5) break;
    }
    expect(types).toEqual(Array.from({ length: 5 }, () => 'Happened'));
    expect((await appended!.ended).code).toBe(0);
    await log.close();
  });

  it('removes what the dead and the confused left in the inbox', async () => {
    const path = join(temporaryDirectory(), 'ledger.db');
    const log = await open(path);
    const { writeFileSync } = await import('node:fs');
    const dead = start(writer, [path, 's', '0']);
    await dead.ended;
    const request = JSON.stringify({ stream: 'x', expected: 'any', events: [{ ...event(), eventId: v7() }] });
    writeFileSync(`${path}-inbox/000000000000001-${dead.child.pid}-1.json`, request);
    writeFileSync(`${path}-inbox/000000000000001-${process.pid}-1.json`, '{"half');
    writeFileSync(`${path}-inbox/notes.txt`, 'what is this');
    right(await log.append('s', [event()], 'any')());
    expect(readdirSync(`${path}-inbox`)).toEqual([]);
    expect(right(await log.readStream('x')())).toEqual([]);
    expect(existsSync(path)).toBe(true);
    await log.close();
  });
});
