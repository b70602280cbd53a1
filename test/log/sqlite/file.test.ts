import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Sqlite as Database } from '../../../src/sqlite/driver.js';
import { describe, expect, it } from 'vitest';
import { describeOpenError, openLog } from '../../../src/log/open.js';
import { MIGRATIONS } from '../../../src/log/sqlite/schema.js';
import { openSqliteLog } from '../../../src/log/sqlite/sqliteLog.js';
import { event } from '../../contract/eventLog.js';
import { left, right } from '../../support/engines.js';
import { buildFixture, start } from '../../support/fixture.js';
import { temporaryDirectory } from '../../support/temp.js';

const refusal = async (path: string, options = {}) =>
  describeOpenError(left(await openSqliteLog(path, options)()));

const aLedger = async (path: string): Promise<void> => {
  const log = right(await openSqliteLog(path)());
  for (let n = 0; n < 50; n += 1)
    right(await log.append('s', [event('A', JSON.stringify({ n, pad: 'x'.repeat(2000) }))], 'any')());
  await log.close();
};

describe('the file of an embedded log', () => {
  it('is readable by its user alone, in a directory that is', async () => {
    const directory = join(temporaryDirectory(), 'deep', 'state');
    const path = join(directory, 'ledger.db');
    const log = right(await openSqliteLog(path)());
    right(await log.append('s', [event()], 'any')());
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-inbox`).mode & 0o777).toBe(0o700);
    await log.close();
  });

  it.each([
    [
      'a text file',
      'this is not a database, it is a shopping list that is longer than a hundred bytes, with milk and eggs and bread\n',
      /not a database/,
    ],
    ['a short file', 'tiny', /not a database/],
  ])('refuses %s and leaves it untouched', async (_name, content, message) => {
    const path = join(temporaryDirectory(), 'ledger.db');
    writeFileSync(path, content);
    expect(await refusal(path)).toMatch(message);
    expect(readFileSync(path, 'utf8')).toBe(content);
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  it("refuses another program's database and leaves it untouched", async () => {
    const path = join(temporaryDirectory(), 'ledger.db');
    const db = new Database(path);
    db.exec('CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES (1)');
    db.close();
    const before = readFileSync(path);
    expect(await refusal(path)).toMatch(/another program's database.*left untouched/);
    expect(readFileSync(path)).toEqual(before);
  });

  it('leaves what another program has not yet moved from its write-ahead log where it is', async () => {
    const directory = temporaryDirectory();
    const [theirs, path] = [join(directory, 'theirs.db'), join(directory, 'ledger.db')];
    const db = new Database(theirs);
    db.pragma('journal_mode = WAL');
    db.exec('CREATE TABLE recipes (name TEXT)');
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.exec("INSERT INTO recipes VALUES ('soup')");
    const files = ['', '-wal'];
    for (const suffix of files) copyFileSync(theirs + suffix, path + suffix);
    db.close();
    const content = () => files.map((suffix) => readFileSync(path + suffix).toString('hex'));
    const before = content();
    expect(await refusal(path)).toMatch(/another program's database.*left untouched/);
    expect(content()).toEqual(before);
    expect(existsSync(`${path}-shm`)).toBe(false);
  });

  it('refuses a file that was cut off, without an exception', async () => {
    const path = join(temporaryDirectory(), 'ledger.db');
    await aLedger(path);
    truncateSync(path, 2000);
    const before = readFileSync(path);
    expect(await refusal(path)).toMatch(/is damaged.*backup/);
    expect(readFileSync(path)).toEqual(before);
  });

  it('answers LogUnavailable when pages in the middle are damaged', async () => {
    const path = join(temporaryDirectory(), 'ledger.db');
    await aLedger(path);
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 8192, bytes.length - 4096);
    writeFileSync(path, bytes);
    const opened = await openSqliteLog(path)();
    if (opened._tag === 'Left') expect(describeOpenError(opened.left)).toMatch(/damaged/);
    else {
      expect(left(await opened.right.readAll()())).toMatchObject({
        _tag: 'LogUnavailable',
        message: expect.stringMatching(/damaged.*backup/) as string,
      });
      await opened.right.close();
    }
  });

  it('refuses a file of a newer version', async () => {
    const path = join(temporaryDirectory(), 'ledger.db');
    await aLedger(path);
    const db = new Database(path);
    db.pragma('user_version = 99');
    db.close();
    expect(await refusal(path)).toMatch(/newer session-ledger \(schema 99.*upgrade/);
  });

  it('migrates an older file forwards, once, and keeps its events', async () => {
    const path = join(temporaryDirectory(), 'ledger.db');
    await aLedger(path);
    const migrations = [
      ...MIGRATIONS,
      'CREATE TABLE added (n INTEGER) STRICT',
      'INSERT INTO added VALUES (1)',
    ];
    for (let time = 0; time < 2; time += 1) {
      const log = right(await openSqliteLog(path, { migrations })());
      expect(right(await log.readStream('s')())).toHaveLength(50);
      await log.close();
    }
    const db = new Database(path);
    expect(db.prepare('SELECT n FROM added').pluck().all()).toEqual([1]);
    db.close();
  });

  it.each([
    [0x6969, 'NFS'],
    [0xff534d42, 'CIFS'],
    [-11317950, 'CIFS'],
    [0xfe534d42, 'SMB2'],
    [0x01021997, '9p'],
    [0x65735546, 'FUSE'],
  ])('refuses a network file system (statfs type %i)', async (type, name) => {
    const path = join(temporaryDirectory(), 'ledger.db');
    const message = await refusal(path, { fileSystemType: () => type });
    expect(message).toContain(name);
    expect(message).toContain(path);
    expect(message).toContain('--state-dir');
    expect(existsSync(path)).toBe(false);
  });

  it('says what is wrong when the directory cannot be used', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'file'), '');
    expect(await refusal(join(directory, 'file', 'ledger.db'))).toMatch(/cannot be opened/);
    mkdirSync(join(directory, 'ledger.db'));
    expect(await refusal(join(directory, 'ledger.db'))).toMatch(/cannot be opened/);
  });

  it('is made by many processes at once', async () => {
    const path = join(temporaryDirectory(), 'state', 'ledger.db');
    const writer = await buildFixture('test/log/sqlite/writer.fixture.ts');
    const ended = await Promise.all(
      Array.from({ length: 10 }, (_, n) => start(writer, [path, `s${n}`, '1']).ended),
    );
    expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual(ended.map(() => [0, '']));
  });

  it('opens from a copy of its files taken while it is written, and holds what was acknowledged before', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'ledger.db');
    const log = right(await openSqliteLog(path)());
    let acknowledged = 0;
    for (let copy = 0; copy < 10; copy += 1) {
      const writing = Array.from({ length: 20 }, () =>
        log
          .append('s', [event()], 'any')()
          .then(() => (acknowledged += 1)),
      );
      await writing[0];
      const target = join(directory, `copy-${copy}.db`);
      const before = acknowledged;
      for (const suffix of ['-wal', '']) copyFileSync(path + suffix, target + suffix);
      chmodSync(target, 0o600);
      const restored = right(await openSqliteLog(target)());
      expect(right(await restored.readStream('s')()).length).toBeGreaterThanOrEqual(before);
      await restored.close();
      await Promise.all(writing);
    }
    await log.close();
  });
});

describe('openLog', () => {
  it.each([
    ['postgres://x', /unknown kind of store/],
    ['sqlite:relative.db', /name a file/],
    ['esdb://localhost', /no engine for EventStoreDB/],
  ])('refuses %s', async (store, message) => {
    expect(describeOpenError(left(await openLog(store)()))).toMatch(message);
  });
});
