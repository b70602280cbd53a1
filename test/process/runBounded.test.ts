import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LONGEST_ARGUMENT, runBounded } from '../../src/process/runBounded.js';
import { temporaryDirectory } from '../support/temp.js';
import { lives, pidsIn } from './tools.js';

describe('a notify command', () => {
  const run = (script: string, more: Partial<Parameters<typeof runBounded>[2]> = {}) =>
    runBounded('sh', ['-c', script], {
      stdin: 'the envelope',
      env: { ...process.env, MARK: script },
      timeLimitMs: 10_000,
      mark: `MARK=${script}`,
      ...more,
    });

  it('gets the text, and its words are kept', async () => {
    const file = join(temporaryDirectory(), 'got');
    const ended = await run(`cat > ${file}; echo oops >&2; exit 3`);
    expect(ended).toMatchObject({ _tag: 'exited', code: 3 });
    expect(ended._tag === 'exited' && ended.stderr.toString()).toBe('oops\n');
    expect(readFileSync(file, 'utf8')).toBe('the envelope');
  });

  it('may open its streams by their names in /dev', async () => {
    const file = join(temporaryDirectory(), 'got');
    const ended = await run(`cat /dev/stdin > ${file} && echo oops > /dev/stderr && echo > /dev/stdout`);
    expect(ended).toMatchObject({ _tag: 'exited', code: 0 });
    expect(ended._tag === 'exited' && ended.stderr.toString()).toBe('oops\n');
    expect(readFileSync(file, 'utf8')).toBe('the envelope');
  });

  it('that reads nothing, and one that says very much, are no trouble', async () => {
    expect(await run('exit 0', { stdin: 'x'.repeat(5_000_000) })).toMatchObject({ _tag: 'exited', code: 0 });
    const loud = await run('head -c 3000000 /dev/zero >&2; exit 1');
    expect(loud._tag === 'exited' && loud.stderr.length).toBe(65_536);
  });

  it('reads all of a long text', async () => {
    const file = join(temporaryDirectory(), 'got');
    expect(await run(`wc -c > ${file}`, { stdin: 'x'.repeat(5_000_000) })).toMatchObject({ code: 0 });
    expect(Number(readFileSync(file, 'utf8'))).toBe(5_000_000);
  });

  it('that leaves a background process holding its streams is told at once, and the process is left alone', async () => {
    const file = join(temporaryDirectory(), 'pids');
    const ended = await run(`sh -c 'echo $$ >> ${file}; exec sleep 100' & exit 0`, {
      stdin: 'x'.repeat(5_000_000),
    });
    expect(ended).toMatchObject({ _tag: 'exited', code: 0 });
    const [pid] = await pidsIn(file, 1);
    expect(lives(pid!)).toBe(true);
  });

  it('that hangs with children of its own is ended, and nothing is left over', async () => {
    const file = join(temporaryDirectory(), 'pids');
    const hang = `sh -c 'trap "" TERM; echo $$ >> ${file}; while :; do sleep 0.05; done'`;
    const ended = run(
      `trap "" TERM; setsid ${hang} & (${hang} &); env -i setsid ${hang} & echo $$ >> ${file}; wait; sleep 100`,
      { timeLimitMs: 3000 },
    );
    const pids = await pidsIn(file, 4);
    expect((await ended)._tag).toBe('timed_out');
    expect(pids.filter(lives)).toEqual([]);
  });

  it('that cannot be started is told why', async () => {
    const options = { stdin: '', env: process.env, timeLimitMs: 1000, mark: 'x=y' };
    const plain = join(temporaryDirectory(), 'plain');
    writeFileSync(plain, '', { mode: 0o644 });
    expect(await runBounded('/no/such', [], options)).toMatchObject({ problem: 'not_found' });
    expect(await runBounded(plain, [], options)).toMatchObject({ problem: 'not_executable' });
    expect(await runBounded('true', ['x'.repeat(LONGEST_ARGUMENT + 1)], options)).toMatchObject({
      problem: 'too_large',
    });
    const env = { ...process.env, LONG: 'x'.repeat(LONGEST_ARGUMENT) };
    expect(await runBounded('true', [], { ...options, env })).toMatchObject({ problem: 'too_large' });
    expect(await runBounded('true', ['x'.repeat(LONGEST_ARGUMENT)], options)).toMatchObject({
      _tag: 'exited',
      code: 0,
    });
    expect(await runBounded('true', ['a\0b'], options)).toMatchObject({ problem: 'invalid' });
  });
});
