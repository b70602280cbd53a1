/** The library as a program uses it: the README's examples, promises and fp-ts, and the package as it is published. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import { describe, expect, it } from 'vitest';
import { openLedger as openFp } from '../../src/fp.js';
import { openLedger } from '../../src/index.js';
import { until } from '../support/fixture.js';
import { temporaryDirectory } from '../support/temp.js';

const options = () => {
  const stateDir = join(temporaryDirectory(), 'state');
  return { stateDir, store: `sqlite:${join(stateDir, 'ledger.db')}` };
};

describe('the library', () => {
  it('answers every outcome as a value', async () => {
    const ledger = await openLedger(options());
    expect(await ledger.open({ sessionId: 's', branchId: 'b', metadata: { k: 1 } })).toMatchObject({
      outcome: 'applied',
    });
    expect(await ledger.open({ sessionId: 's' })).toMatchObject({ outcome: 'conflict' });
    expect(await ledger.open({ sessionId: 'a/b' })).toMatchObject({
      outcome: 'invalid',
      problems: [expect.stringMatching(/1 to 128 characters/)],
    });
    expect(await ledger.open({ notify: ['a | b'] })).toMatchObject({
      outcome: 'invalid',
      problems: [expect.stringMatching(/unquoted pipe/)],
    });
    expect(await ledger.close('nobody', { status: 'completed' })).toMatchObject({ outcome: 'not_found' });
    expect(await ledger.reopen('s')).toMatchObject({ outcome: 'observing' });
    expect(await ledger.recordActivity('s', 1)).toMatchObject({ outcome: 'applied' });
    expect(await ledger.note('s', { reason: 'run.started.ok' })).toMatchObject({
      outcome: 'applied',
      changed: false,
    });
    expect(await ledger.close('s', { leg: 1, status: 'completed', artifacts: ['report.md'] })).toMatchObject({
      outcome: 'applied',
    });
    expect(await ledger.close('s', { leg: 1, status: 'failed' })).toMatchObject({ outcome: 'rejected' });
    expect(
      await ledger.close('s', { status: 'failed', override: { actor: 'alice', justification: 'empty' } }),
    ).toMatchObject({ outcome: 'applied' });
    expect(await ledger.resume('b')).toMatchObject({ outcome: 'applied', leg: 2 });
    expect(await ledger.get('s')).toMatchObject({
      status: 'running',
      process: { mode: 'in_process', pid: process.pid },
    });
    expect(await ledger.list({ status: 'running' })).toHaveLength(1);
    expect((await ledger.history('s')).at(-1)).toMatchObject({ type: 'TransitionOverridden' });
    expect(await ledger.overrides({ session: 's' })).toHaveLength(2);
    expect(await ledger.rejections()).toHaveLength(1);
    await ledger.rebuildProjections();
    await ledger.dispose();
    expect(await ledger.note('s', { reason: 'run.started.ok' })).toMatchObject({ outcome: 'unavailable' });
    await expect(ledger.get('s')).rejects.toThrow();
  });

  it('rejects what cannot be opened, with the cause and the way out; on fp-ts it is a value', async () => {
    await expect(openLedger({ store: 'postgres://x' })).rejects.toThrow(
      /unknown kind of store: use sqlite:PATH/,
    );
    await expect(openLedger({ ...options(), reasons: [{ code: 'x', meaning: 'm' }] })).rejects.toThrow(
      /three lower-case segments/,
    );
    const opened = await openFp({ store: 'postgres://x' })();
    expect(E.isLeft(opened) && opened.left._tag).toBe('Configuration');
  });

  it('hands out envelopes as they come, also of other processes, and goes on from a position', async () => {
    const given = options();
    const [reader, writer] = [await openLedger(given), await openLedger(given)];
    const stop = new AbortController();
    const seen: { leg: number; position: bigint }[] = [];
    const following = (async () => {
      for await (const { position, envelope } of reader.envelopes({ signal: stop.signal }))
        seen.push({ leg: envelope.data.leg, position });
    })();
    await writer.open({ sessionId: 's' });
    await writer.close('s', { leg: 1, status: 'completed' });
    await until(() => seen.length === 1);
    await writer.reopen('s');
    await writer.close('s', { leg: 2, status: 'completed' });
    await until(() => seen.length === 2);
    stop.abort();
    await following;
    expect(seen.map(({ leg }) => leg)).toEqual([1, 2]);
    for await (const { envelope } of writer.envelopes({ after: seen[0]!.position })) {
      expect(envelope.data.leg).toBe(2);
      break;
    }
    await Promise.all([reader.dispose(), writer.dispose()]);
  });

  it('delivers to the commands that it recorded', async () => {
    const given = options();
    const file = join(given.stateDir, '..', 'told');
    const ledger = await openLedger(given);
    await ledger.open({ sessionId: 's', notify: [`tee ${file}`] });
    await ledger.close('s', { leg: 1, status: 'completed', artifacts: ['report.md'] });
    expect(await ledger.deliver()).toMatchObject({ delivered: 0 });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      data: { status: 'completed', artifacts: ['report.md'] },
    });
    await ledger.dispose();
  });
});

describe('the README', () => {
  const examples = [...readFileSync('README.md', 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
    ([, code]) => code!,
  );

  it.each(examples.map((code, n) => [n + 1, code] as const))(
    'example %i runs, and prints what its comments say',
    (_n, code) => {
      const directory = temporaryDirectory();
      mkdirSync(join(directory, 'node_modules'));
      symlinkSync(resolve('.'), join(directory, 'node_modules', 'session-ledger'));
      symlinkSync(resolve('node_modules/fp-ts'), join(directory, 'node_modules', 'fp-ts'));
      // The examples use nothing of TypeScript's that JavaScript has not.
      writeFileSync(join(directory, 'example.mjs'), code);
      const printed = execFileSync(process.execPath, ['example.mjs'], {
        cwd: directory,
        encoding: 'utf8',
        env: { ...process.env, XDG_STATE_HOME: directory },
      });
      const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
      expect(promised.length).toBeGreaterThan(0);
      expect(printed.trim().split('\n')).toEqual(promised);
    },
  );

  it('names every command, and no command that there is not', () => {
    const readme = readFileSync('README.md', 'utf8');
    const help = execFileSync(process.execPath, ['dist/cli.js', '--help'], { encoding: 'utf8' });
    const commands = [...help.matchAll(/^ {2}([a-z]+)\b.*$/gm)]
      .map(([, name]) => name!)
      .filter((name) => name !== 'help');
    for (const name of commands) expect(readme).toMatch(new RegExp(`\`${name}\\b`));
  });
});

describe('the package', () => {
  it('installed from its archive in an empty directory has the program, both entry points and their types', () => {
    const directory = temporaryDirectory();
    const npm = (args: readonly string[], cwd: string) =>
      execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    const archive = npm(['pack', '--ignore-scripts', '--pack-destination', directory], process.cwd())
      .trim()
      .split('\n')
      .at(-1)!;
    const files = execFileSync('tar', ['-tf', join(directory, archive)], { encoding: 'utf8' }).split('\n');
    expect(files.some((file) => /\/(test|src|bench)\/.*\.ts$/.test(file) && !file.endsWith('.d.ts'))).toBe(
      false,
    );
    const home = join(directory, 'node_modules', 'session-ledger');
    mkdirSync(home, { recursive: true });
    execFileSync('tar', ['-xf', join(directory, archive), '--strip-components=1', '-C', home]);
    // Its dependencies are those of this checkout: what is tried is the package, not the registry.
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
      'dependencies' | 'optionalDependencies',
      Record<string, string>
    >;
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies }))
      symlinkSync(resolve('node_modules', name), join(directory, 'node_modules', name));
    writeFileSync(
      join(directory, 'use.mts'),
      `import { openLedger } from 'session-ledger';\nimport { openLedger as openFp } from 'session-ledger/fp';\nconst ledger = await openLedger({ store: 'memory:' });\nconst opened = await ledger.open({});\nif (opened.outcome === 'applied') { const leg: number = opened.leg; console.log(leg, typeof openFp); }\n// @ts-expect-error there is no such outcome\nif (opened.outcome === 'perhaps') throw new Error();\nawait ledger.dispose();\n`,
    );
    writeFileSync(
      join(directory, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          module: 'NodeNext',
          target: 'ES2022',
          strict: true,
          skipLibCheck: false,
          types: ['node'],
          typeRoots: [resolve('node_modules/@types')],
        },
        files: ['use.mts'],
      }),
    );
    execFileSync(process.execPath, [resolve('node_modules/typescript/bin/tsc'), '-p', directory], {
      encoding: 'utf8',
      cwd: directory,
    });
    expect(execFileSync(process.execPath, ['use.mjs'], { cwd: directory, encoding: 'utf8' })).toBe(
      '1 function\n',
    );
    expect(
      execFileSync(process.execPath, [join(home, 'dist', 'cli.js'), '--version'], {
        encoding: 'utf8',
      }).trim(),
    ).toMatch(/^\d+\.\d+\.\d+$/);
    for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md', 'dist/types/src/index.d.ts'])
      expect(existsSync(join(home, file))).toBe(true);
  });
});
