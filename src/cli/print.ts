/** What goes to stdout: JSON for programs, lines for people. */
import type { Actor } from '../domain/events.js';
import type { Outcome } from '../ledger/outcome.js';
import type { Status } from '../domain/status.js';
import { EXIT } from './exit.js';
import { complain } from './invocation.js';
import { shortIds } from './render/ids.js';
import { renderTable } from './render/table.js';
import { local } from './render/time.js';

export const out = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** Positions are bigints inside and integers in JSON; no log is long enough to leave the range of exact numbers. */
const plain = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);

export const outJson = (value: unknown): void => {
  out(JSON.stringify(value, plain, 2));
};

/** One value a line, for output that goes on. */
export const outJsonLine = (value: unknown): void => {
  out(JSON.stringify(value, plain));
};

/** The JSON of `open`, `close`, `reopen` and `note` (design §11). A refusal names where the session stands. */
export const outcomeJson = (outcome: Outcome, sessionId: string, attempted: Status) => {
  if (outcome.outcome !== 'conflict' && outcome.outcome !== 'rejected') return outcome;
  const { current } = outcome;
  return {
    outcome: outcome.outcome,
    sessionId: current?.sessionId ?? sessionId,
    branchId: current?.branchId ?? null,
    leg: current?.leg ?? null,
    from: current?.status ?? null,
    to: attempted,
    changed: false,
    revision: current?.revision ?? null,
    eventIds: [],
    ...(outcome.outcome === 'conflict' ? { why: outcome.why } : {}),
  };
};

/** Prints an outcome in either form; answers the exit code. */
export const tellOutcome = (
  outcome: Outcome,
  sessionId: string,
  attempted: Status,
  json: boolean,
): number => {
  if (json) outJson(outcomeJson(outcome, sessionId, attempted));
  switch (outcome.outcome) {
    case 'conflict':
      return json ? EXIT.conflict : complain(EXIT.conflict, `conflict, nothing was written: ${outcome.why}`);
    case 'rejected':
      return json
        ? EXIT.conflict
        : complain(
            EXIT.conflict,
            `rejected: session ${outcome.current.sessionId} is ${outcome.current.status}, which only an override leaves: reopen it, or close it with --override --justification TEXT`,
          );
    default:
      if (!json) out(sentence(outcome));
      return EXIT.done;
  }
};

const sentence = (done: Extract<Outcome, { outcome: 'applied' | 'observing' | 'taken_over' }>): string => {
  const where = `session ${done.sessionId} leg ${done.leg}`;
  switch (done.outcome) {
    case 'observing':
      return `observing: ${where} is running already; nothing was written`;
    case 'taken_over':
      return `taken over: ${where}, revision ${done.revision}; the process of the leg before is gone`;
    case 'applied':
      return done.changed
        ? `applied: ${where} ${done.from ?? 'new'} → ${done.to}, revision ${done.revision}`
        : `applied: ${where} stays ${done.to}, reason recorded, revision ${done.revision}`;
  }
};

export const onTerminal = (): boolean => process.stdout.isTTY === true;

/** A time as it stands in a table. */
export const when = (at: string): string => local(at, !onTerminal());

/** Who did something; a leg of the session that is spoken of needs no more than its number. */
export const who = ({ type, id }: Actor): string =>
  type === 'leg' ? `leg ${id.slice(id.lastIndexOf('/') + 1)}` : `${type}:${id}`;

/** Ids that a person can tell apart and type; whole ones for a program. */
export const idsFor = (ids: readonly string[]): ((id: string) => string) => {
  if (!onTerminal()) return (id) => id;
  const short = shortIds(ids);
  return (id) => short.get(id) ?? id;
};

/** A table that fits the terminal; elsewhere tab-separated lines, complete. */
export const printTable = (headers: readonly string[], rows: readonly (readonly string[])[]): void => {
  process.stdout.write(
    renderTable(headers, rows, { width: process.stdout.columns ?? 80, tty: onTerminal() }),
  );
};
