/** `deliver`: every notice that is still owed is sent, each at most once a call. */
import * as E from 'fp-ts/lib/Either.js';
import { complainOf, withRuntime } from '../context.js';
import { EXIT } from '../exit.js';
import type { Handler } from '../invocation.js';
import { out, outJson } from '../print.js';
import { visible } from '../render/text.js';

export const run: Handler = ({ globals }) =>
  withRuntime(globals, async (runtime) => {
    const sent = await runtime.notices.deliver()();
    if (E.isLeft(sent)) return complainOf(sent.left);
    const { notices, ...counts } = sent.right;
    if (globals.json) outJson(sent.right);
    else {
      for (const notice of notices)
        out(
          `${notice.result}: session ${notice.sessionId}, envelope ${notice.envelopeId}${notice.detail === '' ? '' : `: ${visible(notice.detail)}`}`,
        );
      out(
        Object.entries(counts)
          .map(([name, count]) => `${count} ${name}`)
          .join(', '),
      );
    }
    return counts.failed + counts.parked > 0 ? EXIT.failed : EXIT.done;
  });
