import { describe, expect, it } from 'vitest';
import { buildReasonRegistry } from '../../src/domain/reasons.js';
import { judgeEnd, notStarted, stoppedBeforeStart, timedOut } from '../../src/process/legEnd.js';
import type { StopSignal } from '../../src/process/legEnd.js';

const stop = (signal: StopSignal, atTerminal = false) => ({ signal, atTerminal });
const code = (value: number) => ({ code: value, signal: null });
const died = (signal: string) => ({ code: null, signal });

describe('how a leg ended', () => {
  it.each([
    [code(0), [], false, 'completed', 'run.completed.ok', 0],
    [code(0), [], true, 'completed_empty', 'run.completed_empty.no_evidence', 0],
    [code(3), [], true, 'failed', 'run.failed.exit_nonzero', 3],
    [code(143), [], false, 'failed', 'run.failed.exit_nonzero', 143],
    [died('SIGTERM'), [], false, 'failed', 'run.failed.exception', 143],
    [died('SIGKILL'), [], false, 'failed', 'run.failed.exception', 137],
    [died('SIGTERM'), [stop('SIGTERM')], false, 'cancelled', 'run.cancelled.sigterm', 143],
    [code(143), [stop('SIGTERM')], false, 'cancelled', 'run.cancelled.sigterm', 143],
    [died('SIGKILL'), [stop('SIGTERM')], false, 'cancelled', 'run.cancelled.sigterm', 143],
    [code(130), [stop('SIGINT')], false, 'cancelled', 'run.cancelled.sigint', 130],
    [died('SIGINT'), [stop('SIGINT', true)], false, 'aborted', 'run.aborted.user', 130],
    [code(130), [stop('SIGINT', true)], false, 'aborted', 'run.aborted.user', 130],
    [code(0), [stop('SIGINT', true)], false, 'completed', 'run.completed.ok', 0],
    [code(9), [stop('SIGTERM')], false, 'failed', 'run.failed.exit_nonzero', 9],
    [died('SIGSEGV'), [stop('SIGTERM')], false, 'failed', 'run.failed.exception', 139],
    [died('SIGHUP'), [stop('SIGHUP')], false, 'cancelled', 'run.cancelled.system', 129],
    [died('SIGQUIT'), [stop('SIGQUIT')], false, 'cancelled', 'run.cancelled.system', 131],
    // The first was ignored: the one that it died of counts, and without such a one the first.
    [
      died('SIGTERM'),
      [stop('SIGINT', true), stop('SIGTERM')],
      false,
      'cancelled',
      'run.cancelled.sigterm',
      143,
    ],
    [code(143), [stop('SIGINT'), stop('SIGTERM')], false, 'cancelled', 'run.cancelled.sigterm', 143],
    [died('SIGKILL'), [stop('SIGINT'), stop('SIGTERM')], false, 'cancelled', 'run.cancelled.sigint', 130],
  ] as const)(
    '%j after the stops %j (silent: %s) is %s, %s, exit %i',
    (exit, stops, silent, status, reasonCode, exitCode) => {
      const end = judgeEnd(exit, stops, silent);
      expect(end).toMatchObject({ status, reasonCode, exitCode, exit, stopRequested: stops.length > 0 });
    },
  );

  it('names what kept a command from starting', () => {
    const error = (name: string) => Object.assign(new Error('spawn x'), { code: name });
    expect(notStarted('x', error('ENOENT'))).toMatchObject({
      status: 'failed',
      exitCode: 127,
      reasonSummary: 'command not found: x',
    });
    expect(notStarted('./x', error('ENOENT')).reasonSummary).toMatch(/interpreter/);
    expect(notStarted('x', error('EACCES'))).toMatchObject({ exitCode: 126 });
    expect(notStarted('x', error('E2BIG')).reasonSummary).toMatch(/131071/);
    expect(notStarted('x', error('EAGAIN')).reasonSummary).toMatch(/could not be started/);
  });

  it('names the time that was over, and who is still there', () => {
    expect(timedOut(code(0), 2000, [], false)).toMatchObject({
      status: 'timed_out',
      exitCode: 124,
      reasonSummary: 'no end within 2 s',
    });
    expect(timedOut(null, 500, [17, 18], true).reasonSummary).toBe(
      'no end within 0.5 s; still there: pid 17, 18',
    );
  });

  it('has registered reasons only', () => {
    const registry = buildReasonRegistry();
    if (registry._tag === 'Left') throw new Error('the registry is not valid');
    const ends = [
      notStarted('x', new Error('no')),
      timedOut(null, 1, [], false),
      ...(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const).flatMap((signal) =>
        [true, false].map((atTerminal) => stoppedBeforeStart({ signal, atTerminal })),
      ),
    ];
    for (const { reasonCode } of ends) expect(registry.right.has(reasonCode), reasonCode).toBe(true);
  });
});
