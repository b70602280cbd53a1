/** What is read: rows, overrides, rejections, envelopes and notices. Every query catches up with the log first. */
import * as E from 'fp-ts/lib/Either.js';
import type * as TE from 'fp-ts/lib/TaskEither.js';
import { rowOf } from '../../projections/sessionRow.js';
import type { EventLog, LogUnavailable } from '../log/port.js';
import { decodeState } from './codec.js';
import { describeTrouble, discard, isDamage, openFile, whenFree } from './file.js';
import type { OpenedFile } from './file.js';
import type { Query, ReadModel, Resolved } from './model.js';
import { makeProjector } from './projector.js';
import type { Projector } from './projector.js';
import { prepareQueries } from './queries.js';
import { makeTables } from './tables.js';

type Queries = ReturnType<typeof prepareQueries>;

interface Connection extends OpenedFile {
  readonly projector: Projector;
  readonly queries: Queries;
}

/** `path` may be `:memory:`. The left side says why the file cannot be used, and what to do. */
export const openReadModel =
  (path: string, log: EventLog): TE.TaskEither<string, ReadModel> =>
  async () => {
    const connected = await connect(path, log);
    return E.isLeft(connected) ? connected : E.right(makeReadModel(path, log, connected.right));
  };

const connect = async (path: string, log: EventLog): Promise<E.Either<string, Connection>> => {
  const opened = await openFile(path);
  if (E.isLeft(opened)) return opened;
  const { db } = opened.right;
  try {
    const projector = makeProjector(db, makeTables(db, ''), log);
    return E.right({ ...opened.right, projector, queries: prepareQueries(db) });
  } catch (error) {
    db.close();
    return E.left(describeTrouble(path, error));
  }
};

const makeReadModel = (path: string, log: EventLog, first: Connection): ReadModel => {
  let connection = first;
  let closed = false;

  /** Other queries may have met the same damage: the first of them has it mended for all. */
  const mend = async (used: Connection): Promise<E.Either<string, Connection>> => {
    if (connection !== used) return E.right(connection);
    used.db.close();
    discard({ path, inode: used.inode });
    const connected = await connect(path, log);
    if (E.isRight(connected)) connection = connected.right;
    return connected;
  };

  const run = async <A>(
    work: (connection: Connection) => Promise<E.Either<LogUnavailable, A>>,
    mayMend: boolean,
  ): Promise<E.Either<LogUnavailable, A>> => {
    const used = connection;
    try {
      return await work(used);
    } catch (error) {
      if (!mayMend || closed || !isDamage(error)) return E.left(unavailable(describeTrouble(path, error)));
      const mended = await mend(used);
      return E.isLeft(mended) ? E.left(unavailable(mended.left)) : run(work, false);
    }
  };
  const guarded =
    <A>(work: (connection: Connection) => Promise<E.Either<LogUnavailable, A>>): Query<A> =>
    () =>
      run(work, true);
  const query = <A>(read: (queries: Queries) => A): Query<A> =>
    guarded(async ({ projector, queries }) => {
      const caughtUp = await projector.catchUp();
      return E.isLeft(caughtUp) ? caughtUp : E.right(await whenFree(() => read(queries)));
    });

  return {
    catchUp: () => guarded(({ projector }) => projector.catchUp()),
    rebuild: (onProgress = () => undefined) => guarded(({ projector }) => projector.rebuild(onProgress)),
    row: (sessionId) =>
      query((queries) => {
        const state = queries.state(sessionId);
        return state === null ? null : rowOf(decodeState(state));
      }),
    list: (filter) =>
      query((queries) =>
        queries.states(filter).flatMap((state) => {
          const row = rowOf(decodeState(state));
          return row === null ? [] : [row];
        }),
      ),
    resolve: (prefix) =>
      query((queries): Resolved => {
        const candidates = queries.withPrefix(prefix);
        const [id] = candidates;
        if (id === undefined) return { _tag: 'none' };
        // An id that is the beginning of another one is named by itself.
        return candidates.length === 1 || id === prefix ? { _tag: 'one', id } : { _tag: 'many', candidates };
      }),
    overrides: (filter) => query((queries) => queries.overrides(filter)),
    rejections: (filter) => query((queries) => queries.rejections(filter)),
    rejectionById: (eventId) => query((queries) => queries.rejectionById(eventId)),
    envelopesAfter: (position, limit) => query((queries) => queries.envelopesAfter(position, limit)),
    envelopesOf: (sessionId) =>
      query((queries) =>
        queries
          .envelopesOf(sessionId)
          .map((row) => ({ ...row, notices: queries.noticesOf(row.envelope.id) })),
      ),
    owed: (sessionId) => query((queries) => queries.owed(sessionId)),
    status: () =>
      guarded(async ({ projector, queries }) => {
        const caughtUp = await projector.catchUp();
        if (E.isLeft(caughtUp)) return caughtUp;
        const head = await log.head()();
        if (E.isLeft(head)) return head;
        return E.right({
          head: head.right,
          position: caughtUp.right.position,
          ...(await whenFree(queries.status)),
        });
      }),
    close: () => {
      closed = true;
      connection.db.close();
    },
  };
};

const unavailable = (message: string): LogUnavailable => ({
  _tag: 'LogUnavailable',
  message,
  outcomeUnknown: false,
});
