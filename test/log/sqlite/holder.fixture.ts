/** A process that takes the write lock of a log and holds it: `holder.mjs FILE`. Lets go when it is continued after a stop. */
import { Sqlite as Database } from '../../../src/sqlite/driver.js';
import { openSqliteLog } from '../../../src/log/sqlite/sqliteLog.js';

const [path = ''] = process.argv.slice(2);
const opened = await openSqliteLog(path)();
if (opened._tag === 'Left') throw new Error(JSON.stringify(opened.left));
const db = new Database(path);
db.exec('BEGIN IMMEDIATE');
process.on('SIGCONT', () => {
  db.exec('ROLLBACK');
  db.close();
  process.exit(0);
});
setInterval(() => undefined, 1000);
// Last: from here on it may be stopped.
process.stdout.write('locked\n');
