/** Random but shrinkable programs over a few sessions: legs, stale legs, overrides, retries, and foreign garbage. */
import fc from 'fast-check';
import { v7 } from 'uuid';
import type { CommandContext } from '../../src/domain/commands.js';
import { STATUSES, TERMINAL_STATUSES } from '../../src/domain/status.js';
import { closing, newLeg, processOf, USER } from './ledger.js';
import type { World } from './ledger.js';

const sessions = fc.constantFrom('s', 't', 'u');
const leg = fc.integer({ min: 1, max: 4 });

const step = fc.oneof(
  fc.record({ do: fc.constant('open' as const), session: sessions }),
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('close' as const),
      session: sessions,
      to: fc.constantFrom(...TERMINAL_STATUSES),
      leg: fc.option(leg, { nil: undefined }),
      yields: fc.boolean(),
    }),
  },
  fc.record({ do: fc.constant('sweep' as const), session: sessions }),
  fc.record({
    do: fc.constant('override' as const),
    session: sessions,
    to: fc.constantFrom(...TERMINAL_STATUSES),
  }),
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('resume' as const), session: sessions, gone: fc.boolean() }),
  },
  fc.record({ do: fc.constant('note' as const), session: sessions }),
  fc.record({ do: fc.constant('activity' as const), session: sessions, leg }),
  fc.record({ do: fc.constant('retry' as const) }),
  fc.record({
    do: fc.constant('forge' as const),
    session: sessions,
    type: fc.constantFrom(
      'StatusChanged',
      'TransitionOverridden',
      'ReasonAppended',
      'LegTakenOver',
      'SessionOpened',
      'ActivityRecorded',
      'Nonsense',
    ),
    from: fc.constantFrom(...STATUSES),
    to: fc.constantFrom(...STATUSES),
    leg,
  }),
);

export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Batches run one after the other; the steps of a batch at the same time. */
export const programs = fc
  .array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 14 })
  .map((batches) => [[{ do: 'open', session: 's' } satisfies Step], ...batches]);

export const runProgram = async (w: World, program: readonly (readonly Step[])[]): Promise<void> => {
  let last: ((context: CommandContext) => Promise<unknown>) | null = null;
  let lastContext: CommandContext = USER;
  let pid = 1000;
  const give = (work: (context: CommandContext) => Promise<unknown>) => {
    lastContext = { ...USER, commandId: v7() };
    last = work;
    return work(lastContext);
  };
  const perform = async (one: Step): Promise<unknown> => {
    w.advance(1000);
    switch (one.do) {
      case 'open':
        return give((context) =>
          w.open(
            one.session,
            {
              notify: () => [
                { kind: 'exec', template: 'true', hostId: 'h', user: 'u', keyId: 'k', mac: 'm' },
              ],
            },
            context,
          ),
        );
      case 'close':
        return give((context) =>
          w.useCases.changeStatus(
            one.session,
            closing(one.to, w.now(), { leg: one.leg, yields: one.yields }),
            context,
          )(),
        );
      case 'sweep':
        return give((context) =>
          w.useCases.changeStatus(
            one.session,
            closing('aborted', w.now(), {
              reason: { code: 'session.stale.no_heartbeat', summary: '' },
              expectedStatuses: ['running'],
            }),
            context,
          )(),
        );
      case 'override':
        return give((context) =>
          w.useCases.changeStatus(
            one.session,
            closing(one.to, w.now(), { override: { actor: 'a', justification: 'j' } }),
            context,
          )(),
        );
      case 'resume': {
        pid += 1;
        const { session } = await w.useCases
          .state(one.session)()
          .then((state) => (state._tag === 'Right' ? state.right : { session: null }));
        if (one.gone && session?.process?.pid != null) w.gone.add(session.process.pid);
        const process = pid;
        return give((context) => w.useCases.reopen(one.session, newLeg(process), {}, context)());
      }
      case 'note':
        return give((context) =>
          w.useCases.note(one.session, { reason: { code: 'run.started.ok', summary: 'n' } }, context)(),
        );
      case 'activity':
        return give((context) =>
          w.useCases.recordActivity(one.session, { leg: one.leg, child: null }, context)(),
        );
      case 'retry':
        return last?.(lastContext);
      case 'forge':
        return w.forge(`session-${one.session}`, one.type, forged(one));
    }
  };
  for (const batch of program) await Promise.all(batch.map(perform));
};

const forged = ({ session, from, to, leg: number }: Extract<Step, { do: 'forge' }>): object => ({
  sessionId: session,
  branchId: session,
  from,
  to,
  leg: number,
  status: to,
  reason: { code: 'run.completed.ok', summary: 'forged' },
  reasonCode: 'run.completed.ok',
  override: { actor: 'mallory', justification: 'because' },
  process: processOf(1),
  child: null,
  previous: null,
  cause: 'process_gone',
  metadata: {},
  notify: [],
  correlation: null,
  endedAt: '2026-01-01T00:00:00.000Z',
  exit: null,
  durationMs: 0,
  evidence: null,
  artifacts: [],
});
