/** A process that catches up a read model again and again: `projector.mjs LOG READ_MODEL`. It is killed in the middle of it. */
import { openSqliteLog } from '../../src/log/sqlite/sqliteLog.js';
import { openReadModel } from '../../src/projector/readModel.js';

const [logPath = '', modelPath = ''] = process.argv.slice(2);
const log = await openSqliteLog(logPath)();
if (log._tag === 'Left') throw new Error(JSON.stringify(log.left));
const model = await openReadModel(modelPath, log.right)();
if (model._tag === 'Left') throw new Error(model.left);
process.stdout.write('go\n');
for (;;) {
  const done = await model.right.rebuild()();
  if (done._tag === 'Left' && !done.left.message.includes('another rebuild'))
    throw new Error(done.left.message);
  await model.right.catchUp()();
}
