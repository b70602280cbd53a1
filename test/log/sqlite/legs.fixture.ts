/** A process that runs a session through its legs for ever: `legs.mjs STATE_DIR SESSION`. Prints `ack EVENT_ID…` after each answer. */
import { writeSync } from 'node:fs';
import { openLedger } from '../../../src/index.js';

const [stateDir = '', sessionId = ''] = process.argv.slice(2);
const ledger = await openLedger({ stateDir });
const say = (line: string) => writeSync(1, `${line}\n`);
for (;;) {
  const resumed = await ledger.resume(sessionId);
  if ('eventIds' in resumed) say(`ack ${resumed.eventIds.join(' ')}`);
  else throw new Error(JSON.stringify(resumed));
  const note = await ledger.note(resumed.sessionId, {
    reason: 'run.started.ok',
    summary: `by ${process.pid}`,
  });
  if ('eventIds' in note) say(`ack ${note.eventIds.join(' ')}`);
  const closed = await ledger.close(resumed.sessionId, { leg: resumed.leg, status: 'completed' });
  if ('eventIds' in closed) say(`ack ${closed.eventIds.join(' ')}`);
}
