/** Signals a recorded process, and only it: judged again right before, so that a recycled pid is never hit (design §11, `kill`). */
import { judge } from '../domain/processIdentity.js';
import type { ProcessIdentity } from '../domain/processIdentity.js';
import { hostFacts, observe } from './liveness.js';

export type Signalled =
  | { readonly _tag: 'sent' }
  /** There was nobody to be told. */
  | { readonly _tag: 'gone'; readonly evidence: string }
  /** Not tried: it is not ours to signal, or nobody can say who would be hit. */
  | { readonly _tag: 'refused'; readonly why: string }
  /** Tried, and the system said no. */
  | { readonly _tag: 'failed'; readonly why: string };

export const signalProcess = (identity: ProcessIdentity, signal: NodeJS.Signals): Signalled => {
  const { verdict, evidence } = judge(identity, hostFacts(), observe);
  if (verdict === 'gone') return { _tag: 'gone', evidence };
  const { pid } = identity;
  if (verdict !== 'alive' || pid === null) return { _tag: 'refused', why: evidence };
  // 1 is whoever started the container or the machine; to kill(2), 0 and below are groups or everybody.
  if (pid < 2) return { _tag: 'refused', why: `pid ${pid} is never signalled` };
  if (pid === process.pid) return { _tag: 'refused', why: `pid ${pid} is this program itself` };
  return send(pid, signal);
};

const send = (pid: number, signal: NodeJS.Signals): Signalled => {
  try {
    process.kill(pid, signal);
    return { _tag: 'sent' };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH') return { _tag: 'gone', evidence: `no process has pid ${pid}` };
    return {
      _tag: 'failed',
      why: code === 'EPERM' ? `not permitted to signal pid ${pid}` : `pid ${pid}: ${message}`,
    };
  }
};

/** Signals whoever has this number now (negative: a group), for those who know who that is. False when it is not permitted. */
export const tell = (pid: number, name: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, name);
  } catch (error) {
    // One that has just ended is as good as told.
    return (error as NodeJS.ErrnoException).code !== 'EPERM';
  }
};
