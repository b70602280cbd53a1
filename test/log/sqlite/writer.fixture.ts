/**
 * A process that appends: `writer.mjs FILE STREAM COUNT [STEP]`. Prints `ack EVENT_ID` after each acknowledged append.
 * With a step's name it kills itself there, with SIGKILL, the first time it gets there after the line `go` was printed.
 */
import { writeSync } from 'node:fs';
import { v7 } from 'uuid';
import { openSqliteLog } from '../../../src/log/sqlite/sqliteLog.js';

const [path = '', stream = '', count = '0', dieAt = '', exact = ''] = process.argv.slice(2);
const opened = await openSqliteLog(path, {
  onStep: (step) => {
    if (step === dieAt) process.kill(process.pid, 'SIGKILL');
  },
})();
if (opened._tag === 'Left') throw new Error(JSON.stringify(opened.left));
const log = opened.right;
// Synchronous, so that what was said before a SIGKILL has been said.
const say = (line: string) => writeSync(1, `${line}\n`);
say('go');
const from = Date.now();
const waits: number[] = [];
for (let n = 0; n < Number(count);) {
  const began = performance.now();
  const last =
    exact === '' ? undefined : await log.readStream(stream, { direction: 'backwards', limit: 1 })();
  const revision = last?._tag === 'Right' ? last.right[0]?.revision : undefined;
  const expected = exact === '' ? 'any' : (revision ?? 'no_stream');
  const event = {
    eventId: v7(),
    type: 'Happened',
    data: JSON.stringify({ n, pid: process.pid }),
    metadata: '{}',
  };
  const appended = await log.append(stream, [event], expected)();
  if (appended._tag === 'Right') {
    say(`ack ${event.eventId}`);
    n += 1;
    waits.push(performance.now() - began);
  } else if (appended.left._tag !== 'WrongExpectedRevision') throw new Error(JSON.stringify(appended.left));
}
say(`report ${JSON.stringify({ waits, from, to: Date.now() })}`);
await log.close();
