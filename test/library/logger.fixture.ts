/** Logs something that holds secrets: `logger.mjs LEVEL`. */
import { makeLogger } from '../../src/library/logger.js';
import type { LogLevel } from '../../src/library/logger.js';

const logger = makeLogger((process.argv[2] ?? 'info') as LogLevel);
logger.debug({}, 'a detail');
logger.info(
  { template: 'curl -H hunter2', intent: { mac: 'hunter2', token: 'hunter2' }, sessionId: 's' },
  'a fact',
);
logger.error({ problem: 'p' }, 'a failure');
