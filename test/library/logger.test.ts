import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { buildFixture, start } from '../support/fixture.js';

describe('logs', () => {
  it('go to stderr as JSON lines, at their level, without secrets', async () => {
    const program = await buildFixture('test/library/logger.fixture.ts');
    const { stdout, stderr } = await start(program, ['info']).ended;
    expect(stdout).toBe('');
    const [fact, failure, more] = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(fact).toMatchObject({
      msg: 'a fact',
      sessionId: 's',
      template: '[redacted]',
      intent: { mac: '[redacted]', token: '[redacted]' },
    });
    expect(failure).toMatchObject({ msg: 'a failure', problem: 'p' });
    expect(more).toBeUndefined();
    expect(stderr).not.toContain('hunter2');
    expect((await start(program, ['silent']).ended).stderr).toBe('');
  });

  it('are pretty on a terminal', async () => {
    const program = await buildFixture('test/library/logger.fixture.ts');
    // script(1) gives the program a terminal.
    const shown = execFileSync('script', ['-qec', `${process.execPath} ${program} info`, '/dev/null'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    expect(shown).toMatch(/INFO.*a fact/);
    expect(shown).not.toContain('hunter2');
  });
});
