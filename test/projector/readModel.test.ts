import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sqlite as Database } from '../../src/sqlite/driver.js';
import { describe, expect, it } from 'vitest';
import type { EventLog } from '../../src/log/port.js';
import { openSqliteLog } from '../../src/log/sqlite/sqliteLog.js';
import { openReadModel } from '../../src/projector/readModel.js';
import { engines, left, right } from '../support/engines.js';
import { buildFixture, start, until } from '../support/fixture.js';
import { foldDeliveries } from '../../projections/deliveries.js';
import type { RawEvent } from '../../src/domain/events.js';
import { closing, META, processOf, USER, world, worldOn } from '../support/ledger.js';
import type { World } from '../support/ledger.js';
import { temporaryDirectory } from '../support/temp.js';

const INTENT = { kind: 'exec', template: 'true', hostId: 'h', user: 'u', keyId: 'k', mac: 'm' };

const someSessions = async (w: World, count: number): Promise<void> => {
  for (let n = 0; n < count; n += 1) {
    const id = `s${String(n).padStart(4, '0')}`;
    await w.open(id, { branchId: `b${n % 3}-${n}`, notify: () => [INTENT] });
    w.advance(1000);
    if (n % 2 === 0) await w.close(id, 'completed', { leg: 1 });
    if (n % 4 === 0) await w.reopen(id);
  }
};

const fileModel = async (w: World, path = join(temporaryDirectory(), 'model.db')) => ({
  path,
  model: right(await openReadModel(path, w.log)()),
});

describe.each(engines)('the read model over $name', (engine) => {
  it('lists the latest leg first, filtered and limited', async () => {
    const w = await world(engine);
    await someSessions(w, 9);
    const { model } = await fileModel(w);
    const ids = async (filter: Parameters<typeof model.list>[0]) =>
      right(await model.list(filter)()).map(({ sessionId }) => sessionId);
    expect((await ids({})).slice(0, 2)).toEqual(['s0008', 's0007']);
    expect(await ids({ status: 'completed' })).toEqual(['s0006', 's0002']);
    expect(await ids({ branch: 'b1-4' })).toEqual(['s0004']);
    expect(await ids({ limit: 3 })).toHaveLength(3);
    const [latest] = right(await model.list({})());
    expect(await ids({ since: latest!.legStartedAt })).toEqual(['s0008']);
    model.close();
  });

  it('finds a session by a prefix that no other has, and by an id that is the prefix of another', async () => {
    const w = await world(engine);
    for (const id of ['abc', 'abcd', 'abd', 'x']) await w.open(id);
    const { model } = await fileModel(w);
    expect(right(await model.resolve('abcd')())).toEqual({ _tag: 'one', id: 'abcd' });
    expect(right(await model.resolve('abc')())).toEqual({ _tag: 'one', id: 'abc' });
    expect(right(await model.resolve('ab')())).toEqual({ _tag: 'many', candidates: ['abc', 'abcd', 'abd'] });
    expect(right(await model.resolve('y')())).toEqual({ _tag: 'none' });
    model.close();
  });

  it('filters overrides by session, actor and time; an id is not mistaken for its neighbour', async () => {
    const w = await world(engine);
    for (const id of ['a', 'ab']) {
      await w.open(id);
      await w.close(id, 'completed', { leg: 1 });
      w.advance(60_000);
      await w.close(id, 'failed', { override: { actor: `of-${id}`, justification: 'because' } });
    }
    const { model } = await fileModel(w);
    const found = async (filter: object) =>
      right(await model.overrides(filter)()).map(({ sessionId }) => sessionId);
    expect(await found({})).toEqual(['a', 'ab']);
    expect(await found({ session: 'a' })).toEqual(['a']);
    expect(await found({ actor: 'of-ab' })).toEqual(['ab']);
    expect(await found({ actor: USER.actor.id })).toEqual(['a', 'ab']);
    expect(await found({ until: '2026-01-01T00:01:00.000Z' })).toEqual(['a']);
    expect(await found({ since: '2026-01-01T00:01:01.000Z' })).toEqual(['ab']);
    model.close();
  });

  it('keeps what no rule would have written, projects what follows, and announces nothing of it', async () => {
    const w = await world(engine);
    await w.open('s', { notify: () => [INTENT] });
    await w.close('s', 'completed', { leg: 1 });
    await w.forge('session-s', 'StatusChanged', '{nonsense');
    await w.forge('session-s', 'Weather', {});
    await w.forge('session-not ours!', 'SessionOpened', {});
    await w.forge('branch-s', 'BranchBound', { branchId: 's', sessionId: 'other', supersedes: null });
    await w.forge('audit', 'Weather', {});
    await w.forge('consumer-x', 'SessionOpened', {});
    await w.forge('unrelated', 'Weather', {});
    await w.reopen('s');
    await w.close('s', 'failed', { leg: 2 });
    const { model } = await fileModel(w);
    expect(right(await model.row('s')())).toMatchObject({ status: 'failed', leg: 2, irregularCount: 2 });
    const status = right(await model.status()());
    expect(status.irregularCount).toBe(6);
    expect(status.irregulars.map(({ stream }) => stream)).toContain('session-not ours!');
    expect(right(await model.envelopesOf('s')())).toHaveLength(2);
    expect(right(await model.list({})()).map(({ sessionId }) => sessionId)).toEqual(['s']);
    model.close();
  });

  it('keeps the ids and deliveries of envelopes over a rebuild', async () => {
    const w = await world(engine);
    await w.open('s', { notify: () => [INTENT] });
    await w.close('s', 'completed', { leg: 1 });
    const { model } = await fileModel(w);
    const [owed] = right(await model.owed()());
    const attempt = { consumer: owed!.consumer, envelopeId: owed!.envelope.id, sessionId: 's', attempt: 1 };
    await w.forge(`consumer-${owed!.consumer}`, 'EnvelopeDelivered', { ...attempt, result: 'exit code 0' });
    expect(right(await model.owed()())).toEqual([]);
    // A late attempt changes nothing of what is delivered.
    await w.forge(`consumer-${owed!.consumer}`, 'EnvelopeFailed', { ...attempt, error: 'late' });
    right(await model.rebuild()());
    expect(right(await model.owed()())).toEqual([]);
    const [announced] = right(await model.envelopesOf('s')());
    expect(announced!.envelope.id).toBe(owed!.envelope.id);
    expect(announced!.notices).toMatchObject([{ state: 'delivered', attempts: 1 }]);
    model.close();
  });
});

const sqliteWorld = async () => {
  const directory = temporaryDirectory();
  const path = join(directory, 'ledger.db');
  const log = right(await openSqliteLog(path, { synchronous: 'NORMAL' })());
  return { directory, path, w: worldOn(log) };
};

describe('the file of a read model', () => {
  it('is made anew from the log when it is gone, older, or another log was put in its place', async () => {
    const { directory, path, w } = await sqliteWorld();
    await someSessions(w, 5);
    const modelPath = join(directory, 'model.db');
    const rows = async () => {
      const log = right(await openSqliteLog(path)());
      const model = right(await openReadModel(modelPath, log)());
      const listed = right(await model.list({})());
      model.close();
      await log.close();
      return listed;
    };
    const before = await rows();
    expect(before).toHaveLength(5);
    rmSync(modelPath);
    expect(await rows()).toEqual(before);
    const db = new Database(modelPath);
    db.pragma('user_version = 0');
    db.close();
    expect(await rows()).toEqual(before);

    // A backup of the log is put back: shorter, then as long with other events.
    await w.log.close();
    const backup = readFileSync(path);
    const again = right(await openSqliteLog(path)());
    await worldOn(again).open('later');
    await again.close();
    expect(await rows()).toHaveLength(6);
    writeFileSync(path, backup);
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
    expect(await rows()).toEqual(before);
    const other = right(await openSqliteLog(path)());
    await worldOn(other).open('another');
    await worldOn(other).open('and-another');
    await other.close();
    expect((await rows()).map(({ sessionId }) => sessionId)).toContain('another');
  });

  it('of somebody else is refused and left untouched; of a newer program, too', async () => {
    const { directory, w } = await sqliteWorld();
    const foreign = join(directory, 'recipes.db');
    const db = new Database(foreign);
    db.exec('CREATE TABLE recipes (name TEXT)');
    db.close();
    const bytes = readFileSync(foreign);
    expect(left(await openReadModel(foreign, w.log)())).toMatch(/not a read model.*left untouched/);
    expect(readFileSync(foreign)).toEqual(bytes);
    const { path, model } = await fileModel(w);
    model.close();
    const newer = new Database(path);
    newer.pragma('user_version = 99');
    newer.close();
    expect(left(await openReadModel(path, w.log)())).toMatch(/newer session-ledger.*upgrade/);
    await w.log.close();
  });

  it('is made anew when it is damaged, on opening and while it is in use', async () => {
    const { w } = await sqliteWorld();
    await someSessions(w, 200);
    const { path, model } = await fileModel(w);
    const before = right(await model.list({})());
    expect(before).toHaveLength(200);
    model.close();
    const damage = () => {
      const db = new Database(path);
      db.pragma('wal_checkpoint(TRUNCATE)');
      db.close();
      const bytes = readFileSync(path);
      // The first page stays: it is what the file is recognised by.
      writeFileSync(path, bytes.fill(0xa5, 4096));
    };
    damage();
    const opened = right(await openReadModel(path, w.log)());
    expect(right(await opened.list({})())).toEqual(before);
    damage();
    const queries = await Promise.all([opened.list({})(), opened.owed()(), opened.list({})()]);
    expect(right(queries[0])).toEqual(before);
    expect(right(queries[2])).toEqual(before);
    opened.close();
    await w.log.close();
  });

  it('answers while writers never pause', async () => {
    const { w } = await sqliteWorld();
    await w.open('s');
    let writes = 0;
    const busy: EventLog = {
      ...w.log,
      readAll: (options) => async () => {
        const page = await w.log.readAll(options)();
        writes += 1;
        if (writes > 1_000) throw new Error('the reader never ends');
        await w.forge('session-s', 'Weather', {});
        return page;
      },
    };
    const model = right(await openReadModel(':memory:', busy)());
    expect(right(await model.row('s')())).toMatchObject({ status: 'running' });
    model.close();
    await w.log.close();
  });

  it('answers every query by an index', async () => {
    const { w } = await sqliteWorld();
    await someSessions(w, 20);
    const { path, model } = await fileModel(w);
    right(await model.catchUp()());
    model.close();
    const db = new Database(path);
    const plan = (sql: string) =>
      (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[])
        .map(({ detail }) => detail)
        .join('; ');
    const order = 'ORDER BY leg_started_at DESC, session_id LIMIT 50';
    for (const sql of [
      `SELECT state FROM sessions WHERE session_id = 'a'`,
      `SELECT state FROM sessions WHERE status IS NOT NULL ${order}`,
      `SELECT state FROM sessions WHERE status IS NOT NULL AND status = 'running' ${order}`,
      `SELECT state FROM sessions WHERE status IS NOT NULL AND branch_id = 'b' ${order}`,
      `SELECT session_id FROM sessions WHERE session_id >= 'a' AND session_id < 'b' AND status IS NOT NULL ORDER BY session_id LIMIT 100`,
      `SELECT position, json FROM rejections WHERE event_id = 'a'`,
      `SELECT position, json FROM envelopes WHERE session_id = 'a' ORDER BY position`,
      `SELECT n.position, n.consumer, n.intent, e.json FROM notices n JOIN envelopes e ON e.id = n.envelope_id WHERE n.state NOT IN ('delivered', 'parked') ORDER BY n.position, n.consumer`,
    ]) {
      const detail = plan(sql);
      expect(detail, sql).toMatch(/USING (COVERING )?(INDEX|PRIMARY KEY)/);
      expect(detail, sql).not.toMatch(/SCAN sessions(?! USING INDEX)/);
    }
    db.close();
    await w.log.close();
  });

  it('shows a whole table to readers while it is rebuilt, and of two rebuilds at once one makes way', async () => {
    const { w } = await sqliteWorld();
    await someSessions(w, 400);
    const { path, model } = await fileModel(w);
    const reader = right(await openReadModel(path, w.log)());
    const rebuilds = [model.rebuild()(), model.rebuild()()];
    let rebuilding = true;
    void Promise.allSettled(rebuilds).then(() => (rebuilding = false));
    let reads = 0;
    do {
      expect(right(await reader.list({})())).toHaveLength(400);
      reads += 1;
      await new Promise((resolve) => setImmediate(resolve));
    } while (rebuilding);
    expect(reads).toBeGreaterThan(0);
    const results = await Promise.all(rebuilds);
    expect(results.some(({ _tag }) => _tag === 'Right')).toBe(true);
    for (const result of results)
      if (result._tag === 'Left') expect(result.left.message).toMatch(/another rebuild/);
    reader.close();
    model.close();
    await w.log.close();
  });

  it('is the same as a fresh one after its projector was killed at random moments', async () => {
    const { path, w } = await sqliteWorld();
    await someSessions(w, 300);
    const { path: modelPath, model } = await fileModel(w);
    const projector = await buildFixture('test/projector/projector.fixture.ts');
    for (let n = 0; n < 15; n += 1) {
      const victim = start(projector, [path, modelPath]);
      await until(() => victim.stdout().includes('go'));
      right(
        await w.useCases.note('s0000', { reason: { code: 'run.started.ok', summary: String(n) } }, USER)(),
      );
      await new Promise((resolve) => setTimeout(resolve, 5 + n * 9));
      victim.child.kill('SIGKILL');
      await victim.ended;
    }
    const fresh = right(await openReadModel(':memory:', w.log)());
    for (const ask of [
      (m: typeof model) => m.list({}),
      (m: typeof model) => m.envelopesAfter(0n, 1e6),
      (m: typeof model) => m.owed(),
      (m: typeof model) => m.overrides({}),
    ])
      expect(right<readonly unknown[]>(await ask(model)())).toEqual(
        right<readonly unknown[]>(await ask(fresh)()),
      );
    right(await w.useCases.changeStatus('s0001', closing('failed', w.now(), { leg: 1 }), USER)());
    expect(right(await model.row('s0001')())).toMatchObject({ status: 'failed' });
    model.close();
    fresh.close();
    await w.log.close();
  });
});

describe('the fold of a consumer', () => {
  it('is not misled by the late failure of an attempt that another one has followed', () => {
    const attempt = (number: number) => ({ consumer: 'c', envelopeId: 'e', sessionId: 's', attempt: number });
    const raw = (type: string, data: object, revision: number): RawEvent => ({
      stream: 'consumer-c',
      revision,
      position: BigInt(revision + 1),
      eventId: `00000000-0000-4000-8000-00000000000${revision}`,
      type,
      data: JSON.stringify(data),
      metadata: JSON.stringify(META),
      recordedAt: 0,
    });
    const events = [
      raw('EnvelopeAttempted', { ...attempt(1), process: processOf(1) }, 0),
      raw('EnvelopeAttempted', { ...attempt(2), process: processOf(2) }, 1),
      raw('EnvelopeFailed', { ...attempt(1), error: 'late' }, 2),
    ];
    expect(foldDeliveries('c', events).get('e')).toMatchObject({
      state: 'attempting',
      attempts: 2,
      owner: processOf(2),
    });
    const delivered = raw('EnvelopeDelivered', { ...attempt(1), result: 'late, and done' }, 3);
    expect(foldDeliveries('c', [...events, delivered]).get('e')).toMatchObject({ state: 'delivered' });
  });
});
