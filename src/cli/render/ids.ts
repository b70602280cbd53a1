/** Ids shortened so far that each can still be told from the others of the same table. */

const SHORTEST = 8;

/** The shortest prefix of each id, of at least eight characters, that no other of them has. */
export const shortIds = (ids: readonly string[]): ReadonlyMap<string, string> => {
  const sorted = [...new Set(ids)].sort();
  return new Map(
    sorted.map((id, index) => {
      const shared = Math.max(common(id, sorted[index - 1] ?? ''), common(id, sorted[index + 1] ?? ''));
      return [id, id.slice(0, Math.max(SHORTEST, shared + 1))];
    }),
  );
};

const common = (one: string, other: string): number => {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
};
