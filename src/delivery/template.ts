/** `--notify` templates: split into words without a shell, placeholders replaced word by word in a single pass (design §8). */
import * as E from 'fp-ts/lib/Either.js';

export interface Template {
  readonly words: readonly string[];
}

export interface TemplateProblem {
  /** The construct that is refused, and where: a character's index in the text. */
  readonly construct: string;
  readonly at: number;
  readonly wayOut: string;
}

export const PLACEHOLDERS = [
  'status',
  'session_id',
  'branch_id',
  'leg',
  'previous_status',
  'reason_code',
  'event_id',
  'payload',
] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];

export const describeTemplateProblem = ({ construct, at, wayOut }: TemplateProblem): string =>
  `${construct} at character ${at + 1}: ${wayOut}`;

const NO_SHELL = "no shell reads this; quote it with '…', or put the work in a script";

/** What a shell would act on, by its first character. */
const SHELL_SYNTAX: Readonly<Record<string, string>> = {
  '|': 'an unquoted pipe |',
  '&': 'an unquoted &',
  ';': 'an unquoted ;',
  '<': 'an unquoted redirection <',
  '>': 'an unquoted redirection >',
  '(': 'an unquoted (',
  ')': 'an unquoted )',
  '\n': 'an unquoted line break',
  $: 'a variable or substitution $',
  '`': 'a command substitution `',
};

/** Reads a template. Single quotes keep everything, double quotes all but `$` and backticks; a backslash keeps the next character. */
export const parseTemplate = (text: string): E.Either<TemplateProblem, Template> => {
  const words: Word[] = [];
  let wordAt = 0;
  let word: string | null = null;
  let quote: { readonly mark: string; readonly at: number } | null = null;
  const problem = (construct: string, at: number, wayOut = NO_SHELL) => E.left({ construct, at, wayOut });

  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    const next = text.charAt(at + 1);
    if (word === null) wordAt = at;
    if (character === '\0') return problem('a NUL character', at, 'no argument can hold it');
    if (quote !== null) {
      if (character === quote.mark) quote = null;
      else if (quote.mark === '"' && (character === '$' || character === '`'))
        return problem(SHELL_SYNTAX[character] ?? character, at);
      else if (
        quote.mark === '"' &&
        character === '\\' &&
        (next === '"' || next === '\\' || next === '$' || next === '`')
      ) {
        word += next;
        at += 1;
      } else word += character;
    } else if (character === "'" || character === '"') {
      quote = { mark: character, at };
      word ??= '';
    } else if (character === '\\') {
      if (next === '')
        return problem('a backslash at the end', at, 'it keeps the character after it, and there is none');
      word = (word ?? '') + next;
      at += 1;
    } else if (character === ' ' || character === '\t') {
      if (word !== null) words.push({ word, at: wordAt });
      word = null;
    } else if (Object.hasOwn(SHELL_SYNTAX, character)) {
      const doubled = character === next && (character === '&' || character === '|') ? character : '';
      const construct = SHELL_SYNTAX[character] ?? character;
      return problem(doubled === '' ? construct : `an unquoted ${character}${doubled}`, at);
    } else word = (word ?? '') + character;
  }
  if (quote !== null) return problem(`an unbalanced quote ${quote.mark}`, quote.at, 'close it');
  if (word !== null) words.push({ word, at: wordAt });
  return checkWords(text, words);
};

interface Word {
  readonly word: string;
  /** Where it starts in the text, its quote included. */
  readonly at: number;
}

const KNOWN = PLACEHOLDERS.map((name) => `{${name}}`).join(' ');

const checkWords = (text: string, words: readonly Word[]): E.Either<TemplateProblem, Template> => {
  const [command] = words;
  if (command === undefined || command.word === '')
    return E.left({
      construct: 'an empty command',
      at: command?.at ?? 0,
      wayOut: 'name the program to run',
    });
  if (/^\{[a-z_]+\}$/.test(command.word))
    return E.left({
      construct: `the placeholder ${command.word} as the command`,
      at: command.at,
      wayOut: 'name the program to run',
    });
  for (const { word, at } of words)
    for (const [placeholder, name] of word.matchAll(/\{([a-z_]+)\}/g))
      if (!isPlaceholder(name ?? ''))
        return E.left({
          construct: `the unknown placeholder ${placeholder}`,
          // A backslash within it hides it from the search: then its word is told.
          at: Math.max(at, text.indexOf(placeholder, at)),
          wayOut: `use ${KNOWN}; braces that hold anything but a lower-case name, such as { print }, are kept`,
        });
  return E.right({ words: words.map(({ word }) => word) });
};

const isPlaceholder = (name: string): name is Placeholder =>
  (PLACEHOLDERS as readonly string[]).includes(name);

/** The command and its arguments; as many words as the template has, whatever the values hold. */
export const expand = (
  { words }: Template,
  values: Readonly<Record<Placeholder, string>>,
): readonly string[] =>
  words.map((word) =>
    word.replaceAll(/\{([a-z_]+)\}/g, (all, name: string) => (isPlaceholder(name) ? values[name] : all)),
  );
