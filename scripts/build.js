/** Builds dist/: the bundled program and library (fast to start, parts loaded when asked for) and their types. */
import process from 'node:process';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
process.chdir(root);
// An installed package has its dist already, and none of the tools that make one.
if (!existsSync('src')) process.exit(0);

const { build } = await import('esbuild');
const { version, dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));

/** Bundled, because a bundle starts in a third of the time; the rest is native, or rarely needed. */
const bundled = ['zod', 'fp-ts', 'uuid', 'commander'];

rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: { cli: 'src/cli/main.ts', index: 'src/index.ts', fp: 'src/fp.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  chunkNames: 'chunks/[name]-[hash]',
  external: Object.keys({ ...dependencies, ...optionalDependencies }).filter(
    (name) => !bundled.includes(name),
  ),
  alias: { 'fp-ts/lib': join(root, 'node_modules/fp-ts/es6') },
  define: { 'process.env.SESSION_LEDGER_VERSION_BUILT': JSON.stringify(version) },
  // commander is CommonJS and requires node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
  },
  legalComments: 'none',
});
chmodSync('dist/cli.js', 0o755);

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.types.json'], { stdio: 'inherit' });
