/** `run`: a command as the first leg of a new session. */
import * as z from 'zod';
import { id } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { legOptions, runAsLeg, withOptions } from '../runAsLeg.js';

const Options = z.strictObject({ branch: id.optional(), session: id.optional(), ...legOptions });

export const run: Handler = ({ globals, args, options }) =>
  withOptions(Options, options, ({ branch, session, ...leg }) =>
    runAsLeg(globals, { _tag: 'new', sessionId: session, branchId: branch }, leg, args),
  );
