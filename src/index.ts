/** `session-ledger`: the ledger for TypeScript programs, on promises. */
export { openLedger } from './library/promiseLedger.js';
export type { Answer, Invalid, Ledger, NotFound, Unavailable } from './library/promiseLedger.js';
export * from './library/public.js';
