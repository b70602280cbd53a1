import fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../../src/cli/duration.js';
import { csv } from '../../../src/cli/render/csv.js';
import { shortIds } from '../../../src/cli/render/ids.js';
import { renderTable } from '../../../src/cli/render/table.js';
import { fit, visible } from '../../../src/cli/render/text.js';
import { local, relative, span } from '../../../src/cli/render/time.js';

const TEXTS = [
  'plain',
  '日本語テキスト',
  '👩‍👩‍👧‍👦🎉',
  'שלום עולם',
  'e\u0301clair',
  '\u001b[31mred\u001b[0m',
  'a\tb\nc',
  '\u202eevil',
  '',
];

describe('text', () => {
  it.each([
    ['a\nb\tc\r', 'a\\nb\\tc\\r'],
    ['\u001b[2J\u0000\u007f\u009b', '\\x1b[2J\\x00\\x7f\\x9b'],
    ['\u202eabc\u2066\u200f\u2028', '\\u202eabc\\u2066\\u200f\\u2028'],
    ['\ud800', '\\ud800'],
    ['日本 🎉 שלום é', '日本 🎉 שלום é'],
  ])('%j is shown as %j', (text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it('never holds a control character, and is never wider than asked', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat({ max: 30 }), (text, width) => {
        expect(visible(text)).not.toMatch(/\p{Cc}/u);
        expect(stringWidth(fit(visible(text), width))).toBeLessThanOrEqual(width);
      }),
    );
    expect(fit('👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 3)).toBe('👩‍👩‍👧‍👦…');
  });
});

describe('a table', () => {
  const rows = TEXTS.map((text, n) => [`s${n}`, text, 'end']);

  it('on a terminal is aligned, fits, and begins its columns at the same place', () => {
    for (const width of [30, 80]) {
      const lines = renderTable(['ID', 'TEXT', 'LAST'], rows, { tty: true, width }).trimEnd().split('\n');
      expect(lines).toHaveLength(rows.length + 1);
      const column = stringWidth(lines[0]!.slice(0, lines[0]!.indexOf('LAST')));
      for (const line of lines.slice(1))
        expect(stringWidth(line.slice(0, line.lastIndexOf('end')))).toBe(column);
      for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(width);
    }
  });

  it('begins its columns at the same place whatever script is in them', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.string({ unit: 'binary', maxLength: 12 }),
    );
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
        const written = renderTable(
          ['TEXT', 'LAST'],
          texts.map((one) => [one, 'end']),
          { tty: true, width: 200 },
        );
        const columns = written
          .trimEnd()
          .split('\n')
          .map((line) => stringWidth(line.replace(/(LAST|end)$/, '')));
        expect(columns).toHaveLength(texts.length + 1);
        expect(new Set(columns).size).toBe(1);
      }),
    );
  });

  const HEADERS = ['ID', 'WHEN', 'EVENT', 'WHO', 'WHY'];
  const EVENTS = [
    ['0', '2026-01-01 00:00:00', 'SessionOpened', 'root', ''],
    ['1', '2026-01-01 00:00:01', 'TransitionOverridden', 'cli.resume', 'the session is executing again'],
  ];

  it('that is a little too wide cuts the text of its last column, and nothing else', () => {
    expect(renderTable(HEADERS, EVENTS, { tty: true, width: 80 })).toBe(
      [
        'ID  WHEN                 EVENT                 WHO         WHY',
        '0   2026-01-01 00:00:00  SessionOpened         root',
        '1   2026-01-01 00:00:01  TransitionOverridden  cli.resume  the session is execu…',
        '',
      ].join('\n'),
    );
  });

  it('that is much too wide goes on below, one line of columns after the other', () => {
    expect(renderTable(HEADERS, EVENTS, { tty: true, width: 50 })).toBe(
      [
        'ID  WHEN                 EVENT',
        '    WHO         WHY',
        '0   2026-01-01 00:00:00  SessionOpened',
        '    root',
        '1   2026-01-01 00:00:01  TransitionOverridden',
        '    cli.resume  the session is executing again',
        '',
      ].join('\n'),
    );
  });

  it('is never wider than the terminal', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { minLength: 4, maxLength: 4 })),
        fc.integer({ min: 8, max: 120 }),
        (cells, width) => {
          for (const line of renderTable(['A', 'B', 'C', 'D'], cells, { tty: true, width }).split('\n'))
            expect(stringWidth(line)).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  it('elsewhere is complete, a line a row, a tab between cells', () => {
    const wide = 'x'.repeat(500);
    expect(renderTable(['A', 'B'], [[wide, 'a\tb\nc']], { tty: false, width: 10 })).toBe(
      `A\tB\n${wide}\ta\\tb\\nc\n`,
    );
    expect(renderTable(['A'], [], { tty: false, width: 10 })).toBe('A\n');
  });
});

describe('times', () => {
  it.each([
    [0, '0 ms'],
    [350, '350 ms'],
    [1_000, '1 s'],
    [65_000, '1 min 5 s'],
    [3_900_000, '1 h 5 min'],
    [90_000_000, '1 d 1 h'],
    [-5, '0 ms'],
  ])('%i ms read %s', (ms, text) => {
    expect(span(ms)).toBe(text);
  });

  it('are told relative to now, and from a clock that is ahead', () => {
    const now = Date.parse('2026-01-01T00:00:10.000Z');
    expect(relative('2026-01-01T00:00:00.000Z', now)).toBe('10 s ago');
    expect(relative('2026-01-01T00:00:12.000Z', now)).toBe('in 2 s');
    expect(relative('2025-12-31T23:57:00.000Z', now)).toBe('3 min ago');
    expect(relative('2025-12-29T11:00:00.000Z', now)).toBe('2 d ago');
    expect(relative('2026-01-01T00:00:10.200Z', now)).toBe('just now');
    expect(local('2026-01-01T00:00:00.000Z', true)).toMatch(
      /^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d$/,
    );
    expect(local('2026-01-01T00:00:00.000Z', false)).toMatch(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d$/);
  });

  it.each([
    ['1500ms', 1500],
    ['90s', 90_000],
    ['15m', 900_000],
    ['1h30m', 5_400_000],
    ['30d', 2_592_000_000],
  ])('%s is a length of time', (text, ms) => {
    expect(parseDuration(text)).toEqual(E.right(ms));
  });
  it.each(['', '5', '-5s', '5 s', '1.5h', '5y', 's', '99999999d', '1h 30m'])('%j is none', (text) => {
    expect(E.isLeft(parseDuration(text))).toBe(true);
  });
});

describe('shortened ids', () => {
  it('differ, have eight characters at least, and begin the ids that they stand for', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.oneof(fc.uuid(), fc.stringMatching(/^01a23246-[ab]{1,4}$/)), {
          minLength: 1,
          maxLength: 30,
        }),
        (ids) => {
          const short = shortIds(ids);
          for (const id of ids) {
            const prefix = short.get(id)!;
            expect(id.startsWith(prefix)).toBe(true);
            // An id that is the beginning of another one is named by itself.
            expect(ids.filter((other) => other.startsWith(prefix)).length === 1 || prefix === id).toBe(true);
          }
        },
      ),
    );
    expect([...shortIds(['01a23246-aaaa', '01a23246-aaab', 'zzzzzzzzzzzz']).values()]).toEqual([
      '01a23246-aaaa',
      '01a23246-aaab',
      'zzzzzzzz',
    ]);
  });
});

describe('CSV', () => {
  it('quotes what must be, and lets a spreadsheet compute nothing', () => {
    expect(
      csv([
        ['a', 'b,c', 'd"e', 'f\ng'],
        ['=1', '+1', '-1', '@x', '\tx', '\rx', '=1,2'],
      ]),
    ).toBe(`a,"b,c","d""e","f\ng"\r\n'=1,'+1,'-1,'@x,'\tx,"'\rx","'=1,2"\r\n`);
  });
});
