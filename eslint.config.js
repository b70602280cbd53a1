import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

/** What each room may import from: imports point inwards, the pure domain knows nobody (docs/architecture.md). */
const rooms = {
  'src/domain': [],
  projections: ['src/domain'],
  'src/sqlite': [],
  'src/log': ['src/domain', 'src/sqlite'],
  'src/process': ['src/domain'],
  'src/ledger': ['src/domain', 'src/log/port'],
  'src/projector': ['src/domain', 'src/sqlite', 'projections', 'src/log/port', 'src/delivery/queue'],
  'src/delivery': ['src/domain', 'projections', 'src/log/port', 'src/process'],
  'src/legs': ['src/domain', 'src/log/port', 'src/ledger', 'src/process'],
  'src/operations': [
    'src/domain',
    'projections',
    'src/log/port',
    'src/process',
    'src/ledger',
    'src/projector',
    'src/delivery',
  ],
};
const everyRoom = [
  ...Object.keys(rooms),
  'src/cli',
  'src/http',
  'src/integrations',
  'src/config',
  'src/library',
];

const escape = (text) => text.replaceAll('/', '\\/');
const lastPart = (room) => room.split('/').at(-1);

/** Forbids relative imports that reach another room than the allowed ones; fs, clocks and randomness too in pure rooms. */
const direction = Object.entries(rooms).map(([room, allowed]) => {
  const forbidden = everyRoom.filter(
    (other) => other !== room && !allowed.some((a) => a === other || a.startsWith(`${other}/`)),
  );
  const partial = allowed.filter((a) => a.split('/').length > 2);
  const patterns = [
    ...forbidden.map((other) => ({
      regex: `^(\\.\\.?\\/)+(src\\/)?${escape(lastPart(other))}\\/`,
      message: `${room} may not import from ${other} (imports point inwards)`,
    })),
    ...partial.map((file) => ({
      regex: `^(\\.\\.?\\/)+(src\\/)?${escape(lastPart(file.split('/').slice(0, 2).join('/')))}\\/(?!${file.split('/').at(-1)}\\.js$)`,
      message: `${room} may import only ${file} from there`,
    })),
  ];
  const pure = room === 'src/domain' || room === 'projections';
  return {
    files: [`${room}/**/*.ts`],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [...patterns, ...(pure ? [{ regex: '^node:', message: `${room} is pure: no I/O` }] : [])],
        },
      ],
      ...(pure
        ? {
            'no-restricted-globals': [
              'error',
              'process',
              'setTimeout',
              'setInterval',
              'fetch',
              'performance',
              'crypto',
            ],
            'no-restricted-properties': [
              'error',
              { object: 'Date', property: 'now', message: 'time comes in as an argument' },
              { object: 'Math', property: 'random', message: 'randomness comes in as an argument' },
            ],
          }
        : {}),
    },
  };
});

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'coverage/'] },
  eslint.configs.recommended,
  ...tseslint.configs.strict,
  {
    rules: {
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', ignoreRestSiblings: true, varsIgnorePattern: '^_tag$' },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-redeclare': 'off',
      'max-lines': ['error', { max: 420, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: { 'max-lines': 'off', '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  ...direction,
);
