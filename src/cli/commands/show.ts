/** `show`: one session as it stands, its legs, and its notices. */
import * as E from 'fp-ts/lib/Either.js';
import { legsOf } from '../../../projections/legs.js';
import { sessionStream } from '../../domain/ids.js';
import { asLedgerError } from '../../ledger/execute.js';
import { complainOf, withRuntime } from '../context.js';
import type { Handler } from '../invocation.js';
import { out, outJson, printTable, when } from '../print.js';
import { visible } from '../render/text.js';
import { relative, span } from '../render/time.js';
import { resolveSession } from '../resolve.js';

export const run: Handler = ({ globals, args }) =>
  withRuntime(globals, async (runtime) => {
    const session = await resolveSession(runtime, args[0] ?? '');
    if (E.isLeft(session)) return session.left;
    const model = await runtime.readModel();
    if (E.isLeft(model)) return complainOf(model.left);
    const found = await model.right.row(session.right)();
    if (E.isLeft(found)) return complainOf(found.left);
    const row = found.right;
    if (row === null) return complainOf({ _tag: 'NotFound', sessionId: session.right, pruned: false });
    if (globals.json) {
      outJson(row);
      return 0;
    }
    const read = await runtime.log.readStream(sessionStream(session.right))();
    if (E.isLeft(read)) return complainOf(asLedgerError(session.right, read.left));
    const envelopes = await model.right.envelopesOf(session.right)();
    if (E.isLeft(envelopes)) return complainOf(envelopes.left);
    const state = await runtime.useCases.state(session.right)();
    if (E.isLeft(state)) return complainOf(state.left);

    const now = Date.now();
    const field = (name: string, value: string) => {
      out(`${name.padEnd(13)}${value}`);
    };
    field('session', row.sessionId);
    field('branch', row.branchId);
    field('status', row.endedAt === null ? row.status : `${row.status} ${relative(row.endedAt, now)}`);
    field('reason', [row.reasonCode, visible(row.reasonSummary)].filter((text) => text !== '').join(': '));
    field('started', `${when(row.startedAt)} (${relative(row.startedAt, now)})`);
    field('this leg', `leg ${row.leg} of ${row.legCount}, started ${relative(row.legStartedAt, now)}`);
    if (row.endedAt === null) {
      const verdict = runtime.judgeLeg(row.process, state.right.session?.child ?? null);
      field('process', `${verdict.verdict}: ${verdict.evidence}`);
    }
    field('metadata', visible(JSON.stringify(row.metadata)));
    field(
      'revision',
      `${row.revision}, overrides ${row.overrideCount}, irregular events ${row.irregularCount}`,
    );
    out('');
    printTable(
      ['LEG', 'HOW', 'STARTED', 'RAN', 'STATUS', 'REASON', 'EXIT'],
      legsOf(session.right, read.right).map((leg) => [
        String(leg.leg),
        leg.how,
        when(leg.startedAt),
        span(
          leg.durationMs ??
            Date.parse(leg.endedAt ?? new Date(now).toISOString()) - Date.parse(leg.startedAt),
        ),
        leg.status ?? (leg.endedAt === null ? 'running' : 'taken over'),
        leg.reasonCode ?? '',
        leg.exit?.signal ?? String(leg.exit?.code ?? ''),
      ]),
    );
    const notices = envelopes.right.flatMap(({ envelope, notices: owed }) =>
      owed.map((notice) => ({ envelope, notice })),
    );
    if (notices.length > 0) {
      out('');
      printTable(
        ['ENVELOPE', 'LEG', 'STATUS', 'NOTICE', 'ATTEMPTS', 'LAST ERROR'],
        notices.map(({ envelope, notice }) => [
          envelope.id,
          String(envelope.data.leg),
          envelope.data.status,
          notice.state,
          String(notice.attempts),
          notice.lastError ?? '',
        ]),
      );
    }
    return 0;
  });
