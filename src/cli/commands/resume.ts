/** `resume`: a command as the next leg of a branch or a session. */
import * as z from 'zod';
import { id, usage } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { legOptions, runAsLeg, withOptions } from '../runAsLeg.js';

const Options = z.strictObject({ exclusive: z.literal(true).optional(), ...legOptions });

export const run: Handler = ({ globals, args, options }) =>
  withOptions(Options, options, async ({ exclusive, ...leg }) => {
    const [name = '', ...command] = args;
    const checked = id.safeParse(name);
    if (!checked.success)
      return usage(
        `${JSON.stringify(name)} names no branch or session: ${checked.error.issues[0]?.message ?? ''}`,
      );
    return runAsLeg(globals, { _tag: 'resume', name, exclusive: exclusive === true }, leg, command);
  });
