/** What is read: rows, overrides, rejections, envelopes and notices. Every query catches up with the log first. */
import type Database from 'better-sqlite3';
import * as E from 'fp-ts/lib/Either.js';
import type * as TE from 'fp-ts/lib/TaskEither.js';
import { rowOf } from '../../projections/sessionRow.js';
import type { EventLog, LogUnavailable } from '../log/port.js';
import { decodeState } from './codec.js';
import { makeProjector } from './projector.js';
import type { Query, ReadModel, Resolved } from './model.js';
import { prepareQueries } from './queries.js';
import { openFile, whenFree } from './schema.js';
import { makeTables } from './tables.js';

/** `path` may be `:memory:`. The left side says why the file cannot be used, and what to do. */
export const openReadModel =
  (path: string, log: EventLog): TE.TaskEither<string, ReadModel> =>
  async () => {
    const opened = await openFile(path);
    return E.isLeft(opened) ? opened : E.right(makeReadModel(path, opened.right, log));
  };

const makeReadModel = (path: string, db: Database.Database, log: EventLog): ReadModel => {
  const projector = makeProjector(db, makeTables(db, ''), log);
  const queries = prepareQueries(db);

  const guarded =
    <A>(work: () => Promise<E.Either<LogUnavailable, A>>): Query<A> =>
    async () => {
      try {
        return await work();
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        return E.left({
          _tag: 'LogUnavailable',
          message: `the read model ${path} cannot be used (${message}): it holds derived data only; remove it, and it is made anew from the log`,
          outcomeUnknown: false,
        });
      }
    };
  const query = <A>(read: () => A): Query<A> =>
    guarded(async () => {
      const caughtUp = await projector.catchUp();
      return E.isLeft(caughtUp) ? caughtUp : E.right(await whenFree(read));
    });

  return {
    catchUp: () => guarded(projector.catchUp),
    rebuild: (onProgress = () => undefined) => guarded(() => projector.rebuild(onProgress)),
    row: (sessionId) =>
      query(() => {
        const state = queries.state(sessionId);
        return state === null ? null : rowOf(decodeState(state));
      }),
    list: (filter) =>
      query(() =>
        queries.states(filter).flatMap((state) => {
          const row = rowOf(decodeState(state));
          return row === null ? [] : [row];
        }),
      ),
    resolve: (prefix) =>
      query((): Resolved => {
        const candidates = queries.withPrefix(prefix);
        const [id] = candidates;
        if (id === undefined) return { _tag: 'none' };
        // An id that is the beginning of another one is named by itself.
        return candidates.length === 1 || id === prefix ? { _tag: 'one', id } : { _tag: 'many', candidates };
      }),
    overrides: (filter) => query(() => queries.overrides(filter)),
    rejections: (filter) => query(() => queries.rejections(filter)),
    rejectionById: (eventId) => query(() => queries.rejectionById(eventId)),
    envelopesAfter: (position, limit) => query(() => queries.envelopesAfter(position, limit)),
    envelopesOf: (sessionId) =>
      query(() =>
        queries
          .envelopesOf(sessionId)
          .map((row) => ({ ...row, notices: queries.noticesOf(row.envelope.id) })),
      ),
    owed: (sessionId) => query(() => queries.owed(sessionId)),
    status: () =>
      guarded(async () => {
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
      db.close();
    },
  };
};
