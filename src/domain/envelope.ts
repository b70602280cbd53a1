/** The terminal envelope: a CloudEvents 1.0 JSON event that says how a leg ended (design §8). */
import type { Correlation, Exit } from './events.js';
import { envelopeIdOf } from './ids.js';
import type { Session, StatusChange } from './session.js';
import type { Status } from './status.js';
import { isTerminal } from './status.js';

export const ENVELOPE_TYPE = 'session-ledger.session.terminal.v1';

/** Within v1, names and meanings never change; additions are optional. */
export interface EnvelopeData {
  readonly sessionId: string;
  readonly branchId: string;
  readonly leg: number;
  readonly previousStatus: Status;
  readonly status: Status;
  readonly reasonCode: string;
  readonly reasonSummary: string;
  readonly exit: Exit | null;
  readonly startedAt: string;
  readonly legStartedAt: string;
  readonly endedAt: string;
  /** Of the leg, in milliseconds. */
  readonly durationMs: number;
  readonly revision: number;
  readonly correlation: Correlation;
  readonly artifacts: readonly string[];
  /** The id of the envelope that this one corrects. */
  readonly corrects?: string;
  /** True for the end of a leg that ran beside the session's own leg and wrote no status. */
  readonly observing?: true;
}

export interface Envelope {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: typeof ENVELOPE_TYPE;
  readonly subject: string;
  readonly time: string;
  /** The revision, padded: CloudEvents compares `sequence` as text, within one `source`. */
  readonly sequence: string;
  readonly datacontenttype: 'application/json';
  readonly data: EnvelopeData;
}

/** The envelope of a projected change, or null when the change is not to a terminal status. `session` is the state after it. */
export const envelopeOf = (session: Session, change: StatusChange): Envelope | null => {
  if (!isTerminal(change.to) || session.endedAt === null) return null;
  return sealEnvelope(envelopeIdOf(session.sessionId, change.revision), {
    sessionId: session.sessionId,
    branchId: session.branchId,
    leg: change.leg,
    previousStatus: change.from,
    status: change.to,
    reasonCode: change.reason.code,
    reasonSummary: change.reason.summary,
    exit: change.exit,
    startedAt: session.startedAt,
    legStartedAt: session.legStartedAt,
    endedAt: session.endedAt,
    durationMs: change.durationMs ?? 0,
    revision: change.revision,
    correlation: session.correlation,
    artifacts: change.artifacts,
    ...(change.corrects === null ? {} : { corrects: change.corrects }),
  });
};

/** Puts envelope data into its CloudEvents frame; `source` names the session, so that `sequence` orders within it. */
export const sealEnvelope = (id: string, data: EnvelopeData): Envelope => ({
  specversion: '1.0',
  id,
  source: `/session-ledger/sessions/${data.sessionId}`,
  type: ENVELOPE_TYPE,
  subject: data.sessionId,
  time: data.endedAt,
  sequence: String(data.revision).padStart(20, '0'),
  datacontenttype: 'application/json',
  data,
});
