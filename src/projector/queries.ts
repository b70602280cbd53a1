/** Every query of the read model, as prepared statements; each is answered by an index. */
import type Database from 'better-sqlite3';
import type { OverrideRow } from '../../projections/overrides.js';
import type { RejectionRow } from '../../projections/rejections.js';
import type { OwedNotice } from '../delivery/queue.js';
import type { Envelope } from '../domain/envelope.js';
import type { NotifyIntent } from '../domain/events.js';
import type {
  EnvelopeRow,
  Irregular,
  NoticeState,
  OverrideFilter,
  RejectionFilter,
  SessionFilter,
} from './model.js';

/** Candidates of an ambiguous prefix that are worth listing. */
const MAX_CANDIDATES = 100;
const LATEST_IRREGULARS = 10;

type Positioned = { readonly position: number; readonly json: string };

export const prepareQueries = (db: Database.Database) => {
  const state = db.prepare<[string], string>('SELECT state FROM sessions WHERE session_id = ?').pluck();
  const withPrefix = db
    .prepare<[string, string], string>(
      `SELECT session_id FROM sessions WHERE session_id >= ? AND session_id < ? AND status IS NOT NULL ORDER BY session_id LIMIT ${MAX_CANDIDATES}`,
    )
    .pluck();
  const rejectionById = db.prepare<[string], Positioned>(
    'SELECT position, json FROM rejections WHERE event_id = ?',
  );
  const envelopesAfter = db.prepare<[number, number], Positioned>(
    'SELECT position, json FROM envelopes WHERE position > ? ORDER BY position LIMIT ?',
  );
  const envelopesOf = db.prepare<[string], Positioned>(
    'SELECT position, json FROM envelopes WHERE session_id = ? ORDER BY position',
  );
  const noticesOf = db.prepare<
    [string],
    {
      consumer: string;
      intent: string;
      state: NoticeState['state'];
      attempts: number;
      last_error: string | null;
    }
  >(
    'SELECT consumer, intent, state, attempts, last_error FROM notices WHERE envelope_id = ? ORDER BY consumer',
  );
  const OWED = `SELECT n.position, n.consumer, n.intent, e.json FROM notices n JOIN envelopes e ON e.id = n.envelope_id
    WHERE n.state NOT IN ('delivered', 'parked')`;
  type Owed = Positioned & { readonly consumer: string; readonly intent: string };
  const owed = db.prepare<[], Owed>(`${OWED} ORDER BY n.position, n.consumer`);
  const owedOf = db.prepare<[string], Owed>(`${OWED} AND n.session_id = ? ORDER BY n.position, n.consumer`);
  const counts = (sql: string) => {
    const statement = db.prepare<[], { readonly name: string; readonly count: number }>(sql);
    return () => Object.fromEntries(statement.all().map(({ name, count }) => [name, count]));
  };
  const sessionCounts = counts(
    'SELECT status AS name, count(*) AS count FROM sessions WHERE status IS NOT NULL GROUP BY status',
  );
  const noticeCounts = counts('SELECT state AS name, count(*) AS count FROM notices GROUP BY state');
  const irregularCount = db.prepare<[], number>('SELECT count(*) FROM irregulars').pluck();
  const irregulars = db.prepare<[], Omit<Irregular, 'position'> & { position: number }>(
    `SELECT position, stream, revision, rule FROM irregulars ORDER BY position DESC LIMIT ${LATEST_IRREGULARS}`,
  );

  const envelopeRow = ({ position, json }: Positioned): EnvelopeRow => ({
    position: BigInt(position),
    envelope: JSON.parse(json) as Envelope,
  });

  return {
    state: (sessionId: string): string | null => state.get(sessionId) ?? null,
    states: ({ status, branch, since, limit }: SessionFilter): readonly string[] => {
      const conditions = ['status IS NOT NULL'];
      const values: (string | number)[] = [];
      const demand = (condition: string, value: string | undefined) => {
        if (value === undefined) return;
        conditions.push(condition);
        values.push(value);
      };
      demand('status = ?', status);
      demand('branch_id = ?', branch);
      demand('leg_started_at >= ?', since);
      return db
        .prepare<(string | number)[], string>(
          `SELECT state FROM sessions WHERE ${conditions.join(' AND ')} ORDER BY leg_started_at DESC, session_id LIMIT ?`,
        )
        .pluck()
        .all(...values, limit ?? -1);
    },
    withPrefix: (prefix: string): readonly string[] =>
      // Above every character that an id may have.
      withPrefix.all(prefix, `${prefix}\x7f`),
    overrides: (filter: OverrideFilter): readonly OverrideRow[] =>
      audited<OverrideRow>(db, 'overrides', filter).filter(
        ({ actor, recordedBy }) =>
          filter.actor === undefined || filter.actor === actor || filter.actor === recordedBy.id,
      ),
    rejections: (filter: RejectionFilter): readonly RejectionRow[] =>
      audited<RejectionRow>(db, 'rejections', filter),
    rejectionById: (eventId: string): RejectionRow | null => {
      const row = rejectionById.get(eventId);
      return row === undefined ? null : withPosition<RejectionRow>(row);
    },
    envelopesAfter: (position: bigint, limit: number) =>
      envelopesAfter.all(Number(position), limit).map(envelopeRow),
    envelopesOf: (sessionId: string) => envelopesOf.all(sessionId).map(envelopeRow),
    noticesOf: (envelopeId: string): readonly NoticeState[] =>
      noticesOf.all(envelopeId).map(({ consumer, intent, state: noticeState, attempts, last_error }) => ({
        consumer,
        intent: JSON.parse(intent) as NotifyIntent,
        state: noticeState,
        attempts,
        lastError: last_error,
      })),
    owed: (sessionId?: string): readonly OwedNotice[] =>
      (sessionId === undefined ? owed.all() : owedOf.all(sessionId)).map((row) => ({
        ...envelopeRow(row),
        consumer: row.consumer,
        intent: JSON.parse(row.intent) as NotifyIntent,
      })),
    status: () => ({
      sessions: sessionCounts(),
      notices: noticeCounts(),
      irregularCount: irregularCount.get() ?? 0,
      irregulars: irregulars.all().map((row) => ({ ...row, position: BigInt(row.position) })),
    }),
  };
};

const withPosition = <A extends { readonly position: bigint }>({ position, json }: Positioned): A =>
  ({ ...(JSON.parse(json) as object), position: BigInt(position) }) as A;

const audited = <A extends { readonly position: bigint }>(
  db: Database.Database,
  table: 'overrides' | 'rejections',
  { session, since, until }: RejectionFilter,
): readonly A[] => {
  const select = (condition: string, values: readonly string[]): readonly Positioned[] =>
    db
      .prepare<string[], Positioned>(
        `SELECT position, json FROM ${table} WHERE ${condition} AND at >= ? AND at <= ? ORDER BY position`,
      )
      .all(...values, since ?? '', until ?? '~');
  if (session === undefined) return select('1', []).map((row) => withPosition<A>(row));
  const exact = select('session_id = ?', [session]);
  const rows =
    exact.length > 0 ? exact : select('session_id >= ? AND session_id < ?', [session, `${session}\x7f`]);
  return rows.map((row) => withPosition<A>(row));
};
