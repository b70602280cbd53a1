import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeTemplateProblem, expand, parseTemplate, PLACEHOLDERS } from '../../src/delivery/template.js';
import type { Placeholder } from '../../src/delivery/template.js';
import { left, right } from '../support/engines.js';

const values = Object.fromEntries(PLACEHOLDERS.map((name) => [name, `<${name}>`])) as Record<
  Placeholder,
  string
>;
const wordsOf = (text: string) => expand(right(parseTemplate(text)), values);

describe('a template', () => {
  it.each<[string, readonly string[]]>([
    ['notify {status}', ['notify', '<status>']],
    ['say \'two words\' "and {leg}"', ['say', 'two words', 'and <leg>']],
    ["echo '|' '$HOME' '`' 'a;b' '>'", ['echo', '|', '$HOME', '`', 'a;b', '>']],
    ['echo a\\ b \\| "\\"q\\"" "\\$x"', ['echo', 'a b', '|', '"q"', '$x']],
    ["echo '' x", ['echo', '', 'x']],
    [`curl -d '{"a":1}' x{status}y{leg}`, ['curl', '-d', '{"a":1}', 'x<status>y<leg>']],
    ['  spaced\tout  ', ['spaced', 'out']],
    ["awk '{ print }' *.log ~", ['awk', '{ print }', '*.log', '~']],
    ['sh -c \'cat > "$1" && echo $?\' sh file', ['sh', '-c', 'cat > "$1" && echo $?', 'sh', 'file']],
  ])('%s is split without a shell', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  it.each([
    ['a | b', /unquoted pipe/],
    ['a || b', /unquoted \|\|/],
    ['a & b', /unquoted &/],
    ['a && b', /unquoted &&/],
    ['a ; b', /unquoted ;/],
    ['a < b', /redirection </],
    ['a 2>&1', /redirection >/],
    ['(a)', /unquoted \(/],
    ['a $X', /substitution \$/],
    ['a "$X"', /substitution \$/],
    ['a "`x`"', /command substitution/],
    ['a\nb', /line break/],
    ["a 'b", /unbalanced quote '.*at character 3/],
    ['a "b', /unbalanced quote "/],
    ['a \\', /backslash at the end/],
    ['', /empty command/],
    ["''", /empty command/],
    ['{status} x', /placeholder \{status\} as the command/],
    ['a {stauts}', /unknown placeholder \{stauts\} at character 3.*\{status\}/],
    ["a 'b' x{leg}{statsu}", /unknown placeholder \{statsu\} at character 13/],
    ['a \0', /NUL/],
  ])('%j is refused, with the construct named', (text, problem) => {
    expect(describeTemplateProblem(left(parseTemplate(text)))).toMatch(problem);
  });

  it('keeps its words whatever the values hold, and every value verbatim, in a single pass', () => {
    const nasty = fc.oneof(
      fc.string(),
      fc.constantFrom('{status}', '{payload}', '$(touch x)', "'; rm -rf /; '", '$&', '$1', 'a\nb', '"', '\\'),
    );
    fc.assert(
      fc.property(
        fc.record(
          Object.fromEntries(PLACEHOLDERS.map((name) => [name, nasty])) as Record<Placeholder, typeof nasty>,
        ),
        (given) => {
          const words = expand(right(parseTemplate("cmd {status} 'x{reason_code}y' {payload}{leg}")), given);
          expect(words).toEqual(['cmd', given.status, `x${given.reason_code}y`, given.payload + given.leg]);
        },
      ),
    );
  });
});
