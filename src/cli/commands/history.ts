/** `history`: every event of a session, oldest first; with --follow also what happens next. */
import * as E from 'fp-ts/lib/Either.js';
import * as z from 'zod';
import { historyOf } from '../../../projections/history.js';
import type { HistoryEntry } from '../../../projections/history.js';
import type { RawEvent } from '../../domain/events.js';
import { sessionStream } from '../../domain/ids.js';
import { asLedgerError } from '../../ledger/execute.js';
import type { Runtime } from '../../library/runtime.js';
import { complainOf, withRuntime } from '../context.js';
import { untilInterrupted } from '../interrupt.js';
import type { Handler } from '../invocation.js';
import { out, outJson, outJsonLine, printTable, when, who } from '../print.js';
import { visible } from '../render/text.js';
import { resolveSession } from '../resolve.js';
import { withOptions } from '../runAsLeg.js';

const Options = z.strictObject({ follow: z.literal(true).optional() });

export const run: Handler = ({ globals, args, options }) =>
  withOptions(Options, options, ({ follow }) =>
    withRuntime(globals, async (runtime) => {
      const session = await resolveSession(runtime, args[0] ?? '');
      if (E.isLeft(session)) return session.left;
      if (follow === true)
        return untilInterrupted((signal) => followHistory(runtime, session.right, globals.json, signal));
      const read = await runtime.log.readStream(sessionStream(session.right))();
      if (E.isLeft(read)) return complainOf(asLedgerError(session.right, read.left));
      const entries = historyOf(session.right, read.right);
      if (globals.json) outJson(entries);
      else printTable(HEADERS, entries.map(cells));
      return 0;
    }),
  );

/** Prints each entry once. An exit is told when its override has explained it, or when something else followed. */
const followHistory = async (
  runtime: Runtime,
  sessionId: string,
  json: boolean,
  signal: AbortSignal,
): Promise<number> => {
  const stream = sessionStream(sessionId);
  const events: RawEvent[] = [];
  let told = 0;
  const tellUpTo = (count: number) => {
    const entries = historyOf(sessionId, events);
    for (const entry of entries.slice(told, count)) {
      if (json) outJsonLine(entry);
      else
        out(
          cells(entry)
            .filter((cell) => cell !== '')
            .join('  '),
        );
    }
    told = Math.max(told, count);
  };
  for await (const item of runtime.log.subscribeToAll({ filter: { streamPrefixes: [stream] }, signal })) {
    if (item._tag === 'caught_up') tellUpTo(events.length);
    else if (item.event.stream === stream) events.push(item.event);
  }
  return 0;
};

const HEADERS = ['REV', 'WHEN', 'LEG', 'EVENT', 'FROM', 'TO', 'REASON', 'WHO', 'WHY'];

const cells = (entry: HistoryEntry): readonly string[] => [
  String(entry.revision),
  when(entry.at),
  entry.leg === null ? '' : String(entry.leg),
  entry.irregular === null ? entry.type : `${visible(entry.type)} (irregular)`,
  entry.from ?? '',
  entry.to ?? '',
  [entry.reasonCode ?? '', visible(entry.reasonSummary ?? '')].filter((text) => text !== '').join(': '),
  entry.override?.actor ?? (entry.actor === null ? '' : who(entry.actor)),
  entry.irregular ?? entry.override?.justification ?? '',
];
