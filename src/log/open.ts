/** From a connection string to its engine, which is loaded only when it is named. */
import { isAbsolute } from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import type * as TE from 'fp-ts/lib/TaskEither.js';
import type { OpenError } from './openError.js';
import type { EventLog } from './port.js';

export type { OpenError } from './openError.js';
export { describeOpenError } from './openError.js';

/** `sqlite:/absolute/path` or `memory:`. */
export const openLog =
  (store: string): TE.TaskEither<OpenError, EventLog> =>
  async () => {
    const bad = (problem: string) => E.left<OpenError>({ _tag: 'BadStore', store, problem });
    if (store === 'memory:') {
      const { openMemoryLog } = await import('./memory/memoryLog.js');
      return E.right(openMemoryLog());
    }
    if (store.startsWith('sqlite:')) {
      const path = store.slice('sqlite:'.length);
      if (!isAbsolute(path)) return bad('name a file, such as sqlite:/var/lib/ledger.db');
      const { openSqliteLog } = await import('./sqlite/sqliteLog.js');
      return openSqliteLog(path)();
    }
    if (/^esdb(\+discover)?:/.test(store))
      return bad('this version has no engine for EventStoreDB: use sqlite:PATH');
    return bad('unknown kind of store: use sqlite:PATH or memory:');
  };
