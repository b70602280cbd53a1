import { engines } from '../support/engines.js';
import { eventLogContract } from './eventLog.js';

for (const engine of engines) eventLogContract(engine);
