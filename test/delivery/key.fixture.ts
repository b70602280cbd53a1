/** A process that asks for the machine's key as soon as a file is there: `key.mjs STATE_DIR GO`. */
import { existsSync } from 'node:fs';
import { machineKey } from '../../src/delivery/machineKey.js';

const [stateDir = '', go = ''] = process.argv.slice(2);
process.stdout.write('ready\n');
// Without a pause, so that all of them are at it at once.
while (!existsSync(go));
const key = machineKey(stateDir);
process.stdout.write(`${key._tag === 'Right' ? key.right.keyId : key.left}\n`);
