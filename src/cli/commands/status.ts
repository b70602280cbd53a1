/** `status`: the ledger at a glance. */
import * as E from 'fp-ts/lib/Either.js';
import { complainOf, withAnswer } from '../context.js';
import type { Handler } from '../invocation.js';
import { out, outJson } from '../print.js';
import { visible } from '../render/text.js';

export const run: Handler = ({ globals }) =>
  withAnswer(
    globals,
    (model) => model.status(),
    async (status, runtime) => {
      const refused = await runtime.notices.refused()();
      if (E.isLeft(refused)) return complainOf(refused.left);
      const report = {
        store: runtime.log.name,
        stateDir: runtime.settings.stateDir,
        ...status,
        refusedNotices: refused.right,
      };
      if (globals.json) {
        outJson(report);
        return 0;
      }
      const { sessions, notices, irregularCount, irregulars } = status;
      const counted = (counts: Readonly<Record<string, number>>) =>
        Object.entries(counts)
          .filter(([, count]) => count > 0)
          .map(([name, count]) => `${count} ${name}`)
          .join(', ') || 'none';
      out(`log         ${report.store}, position ${status.head}`);
      out(`sessions    ${counted(sessions)}`);
      out(
        `notices     ${counted(notices)}${report.refusedNotices === 0 ? '' : `, ${report.refusedNotices} of the owed ones refused: not proven by this machine's key`}`,
      );
      out(`irregular   ${irregularCount} ${irregularCount === 1 ? 'event' : 'events'}`);
      for (const { stream, revision, rule } of irregulars)
        out(`            ${visible(stream)} at revision ${revision}: ${visible(rule)}`);
      return 0;
    },
  );
