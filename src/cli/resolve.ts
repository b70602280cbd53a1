/** From what a person types to a session: its id, its branch's name, or a prefix that no other session has. */
import * as E from 'fp-ts/lib/Either.js';
import { replayBranch } from '../domain/branch.js';
import { branchStream, Id, sessionStream } from '../domain/ids.js';
import type { Runtime } from '../library/runtime.js';
import { complainOf } from './context.js';
import { EXIT } from './exit.js';
import { complain } from './invocation.js';
import { visible } from './render/text.js';

/** At most so many candidates of an ambiguous prefix are listed. */
const MAX_CANDIDATES = 10;

/** The left side is the exit code of a complaint that was made already. */
export const resolveSession = async (runtime: Runtime, name: string): Promise<E.Either<number, string>> => {
  if (!Id.safeParse(name).success)
    return E.left(
      complain(
        EXIT.notFound,
        `there is no session "${visible(name)}": ids have letters, digits and . _ ~ : - only`,
      ),
    );
  const exact = await exactly(runtime, name);
  if (E.isLeft(exact)) return exact;
  return exact.right === null ? byPrefix(runtime, name) : E.right(exact.right);
};

const exactly = async (runtime: Runtime, name: string): Promise<E.Either<number, string | null>> => {
  const session = await runtime.log.readStream(sessionStream(name), { limit: 1 })();
  if (E.isRight(session) && session.right.length > 0) return E.right(name);
  if (E.isLeft(session)) {
    if (session.left._tag === 'LogUnavailable') return E.left(complainOf(session.left));
    return E.left(complainOf({ _tag: 'NotFound', sessionId: name, pruned: true }));
  }
  const branch = await runtime.log.readStream(branchStream(name))();
  if (E.isRight(branch)) return E.right(replayBranch(name, branch.right).current);
  return branch.left._tag === 'LogUnavailable' ? E.left(complainOf(branch.left)) : E.right(null);
};

const byPrefix = async (runtime: Runtime, prefix: string): Promise<E.Either<number, string>> => {
  const found = await withPrefix(runtime, prefix);
  if (E.isLeft(found) || found.right !== null) return found as E.Either<number, string>;
  return E.left(
    complain(
      EXIT.notFound,
      `there is no session or branch "${visible(prefix)}": see \`session-ledger list\``,
    ),
  );
};

/** Null when no session has the prefix; an ambiguous one is complained about. */
const withPrefix = async (runtime: Runtime, prefix: string): Promise<E.Either<number, string | null>> => {
  const model = await runtime.readModel();
  if (E.isLeft(model)) return E.left(complainOf(model.left));
  const found = await model.right.resolve(prefix)();
  if (E.isLeft(found)) return E.left(complainOf(found.left));
  switch (found.right._tag) {
    case 'one':
      return E.right(found.right.id);
    case 'none':
      return E.right(null);
    case 'many': {
      const { candidates } = found.right;
      const listed = candidates.slice(0, MAX_CANDIDATES).join(', ');
      const more =
        candidates.length > MAX_CANDIDATES ? `, and ${candidates.length - MAX_CANDIDATES} more` : '';
      return E.left(
        complain(EXIT.notFound, `"${visible(prefix)}" is ambiguous, give more characters: ${listed}${more}`),
      );
    }
  }
};

/** What `resume` goes on with: a name that nobody has seen yet stays itself, and becomes a new branch. */
export const resolveToResume = async (runtime: Runtime, name: string): Promise<E.Either<number, string>> => {
  for (const stream of [branchStream(name), sessionStream(name)]) {
    const read = await runtime.log.readStream(stream, { limit: 1 })();
    if (E.isLeft(read) && read.left._tag === 'LogUnavailable') return E.left(complainOf(read.left));
    if (E.isLeft(read) || read.right.length > 0) return E.right(name);
  }
  const found = await withPrefix(runtime, name);
  return E.isLeft(found) ? found : E.right(found.right ?? name);
};
