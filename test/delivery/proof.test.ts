import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { proveIntent, signIntent } from '../../src/delivery/intent.js';
import { machineKey } from '../../src/delivery/machineKey.js';
import { left, right } from '../support/engines.js';
import { buildFixture, start, until } from '../support/fixture.js';
import { temporaryDirectory } from '../support/temp.js';

describe('the key of a machine', () => {
  it('is made once, for this user alone, and is the same afterwards', () => {
    const stateDir = join(temporaryDirectory(), 'state');
    const key = right(machineKey(stateDir));
    expect(statSync(join(stateDir, 'exec.key')).mode & 0o777).toBe(0o600);
    expect(statSync(stateDir).mode & 0o777).toBe(0o700);
    expect(right(machineKey(stateDir))).toEqual(key);
    expect(readdirSync(stateDir)).toEqual(['exec.key']);
    expect(key.keyId).not.toContain(Buffer.from(key.secret).toString('hex').slice(0, 8));
  });

  it('is the same for processes that make it at the same moment', async () => {
    const program = await buildFixture('test/delivery/key.fixture.ts');
    const stateDir = join(temporaryDirectory(), 'state');
    const go = join(temporaryDirectory(), 'go');
    const makers = Array.from({ length: 5 }, () => start(program, [stateDir, go]));
    await until(() => makers.every(({ stdout }) => stdout() === 'ready\n'));
    writeFileSync(go, '');
    const said = await Promise.all(makers.map(async ({ ended }) => (await ended).stdout));
    expect(new Set(said)).toEqual(new Set([`ready\n${right(machineKey(stateDir)).keyId}\n`]));
    expect(readdirSync(stateDir)).toEqual(['exec.key']);
  });

  it('that others can read, or that is damaged, is refused and not replaced', () => {
    const stateDir = temporaryDirectory();
    const path = join(stateDir, 'exec.key');
    right(machineKey(stateDir));
    const bytes = readFileSync(path);
    chmodSync(path, 0o644);
    expect(left(machineKey(stateDir))).toMatch(/can be read by others.*chmod 600/);
    chmodSync(path, 0o600);
    writeFileSync(path, 'short');
    expect(left(machineKey(stateDir))).toMatch(/damaged \(5 bytes, not 32\)/);
    expect(readFileSync(path, 'utf8')).toBe('short');
    expect(bytes).toHaveLength(32);
  });

  it('proves a command for one session, host and user only', () => {
    const key = right(machineKey(temporaryDirectory()));
    const other = right(machineKey(temporaryDirectory()));
    const place = { hostId: 'h', user: '1' };
    const intent = signIntent(key, place, 's', 'notify');
    expect(proveIntent(key, place, 's', intent)).toEqual({ _tag: 'ours', template: 'notify' });
    expect(proveIntent(key, place, 't', intent)._tag).toBe('refused');
    expect(proveIntent(other, place, 's', intent)._tag).toBe('refused');
    expect(proveIntent(key, place, 's', { ...intent, template: 'rm -rf /' })._tag).toBe('refused');
    expect(proveIntent(key, place, 's', { ...intent, mac: '' })._tag).toBe('refused');
    expect(proveIntent(key, { hostId: 'elsewhere', user: '1' }, 's', intent)._tag).toBe('elsewhere');
    expect(proveIntent(key, { hostId: 'h', user: '2' }, 's', intent)._tag).toBe('elsewhere');
    expect(proveIntent(key, place, 's', { kind: 'telegram' })._tag).toBe('elsewhere');
  });
});
