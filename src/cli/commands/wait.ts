/** `wait`: until sessions end; one line an id as it ends, in a format that programs may rely on (design §11). */
import * as E from 'fp-ts/lib/Either.js';
import * as z from 'zod';
import { endedWell } from '../../domain/status.js';
import { waitFor } from '../../operations/wait.js';
import type { Ended } from '../../operations/wait.js';
import { after } from '../../process/longTimer.js';
import { complainOf, withRuntime } from '../context.js';
import { EXIT } from '../exit.js';
import { untilInterrupted } from '../interrupt.js';
import { duration } from '../invocation.js';
import type { Handler } from '../invocation.js';
import { out, outJsonLine } from '../print.js';
import { resolveSession } from '../resolve.js';
import { withOptions } from '../runAsLeg.js';

const Options = z.strictObject({ any: z.literal(true).optional(), timeout: duration.optional() });

export const run: Handler = ({ globals, args, options }) =>
  withOptions(Options, options, ({ any, timeout }) =>
    withRuntime(globals, async (runtime) => {
      const ids: string[] = [];
      for (const name of args) {
        const session = await resolveSession(runtime, name);
        if (E.isLeft(session)) return session.left;
        ids.push(session.right);
      }
      return untilInterrupted(async (signal, stop) => {
        const cancel = timeout === undefined ? () => undefined : after(timeout, () => stop('timeout'));
        const all: Ended[] = [];
        const waited = await waitFor(runtime.log, ids, any === true, signal, (ended) => {
          all.push(ended);
          if (globals.json) outJsonLine(ended);
          else out(line(ended));
        });
        cancel();
        if (E.isLeft(waited)) return complainOf(waited.left);
        if (!waited.right) return signal.reason === 'timeout' ? EXIT.timeout : EXIT.interrupted;
        return all.every((ended) => endedWell(ended.status)) ? EXIT.done : EXIT.failed;
      });
    }),
  );

const line = ({ sessionId, status, reasonCode, leg, exit }: Ended): string =>
  [
    sessionId,
    `status=${status}`,
    `reason=${reasonCode}`,
    `leg=${leg}`,
    `exit=${exit?.code ?? exit?.signal ?? ''}`,
  ].join('\t');
