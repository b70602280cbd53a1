/** Runs the suite on a fresh build and closes with one line that any reader of logs understands: `N passed, N failed`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const packageFile = createRequire(import.meta.url).resolve('vitest/package.json');
const vitest = join(dirname(packageFile), 'vitest.mjs');
const directory = mkdtempSync(join(tmpdir(), 'session-ledger-test-'));
const report = join(directory, 'report.json');

const run = (args) => spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;

let status = run(['scripts/build.js']);
let passed = 0;
let failed = 0;
if (status === 0) {
  const filters = process.argv.slice(2);
  status = run([vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...filters]);
  try {
    const { numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(readFileSync(report, 'utf8'));
    passed = numPassedTests;
    // A file that could not even be loaded has no failed test, and is one failure.
    failed = numFailedTests === 0 && status !== 0 ? Math.max(1, numFailedTestSuites) : numFailedTests;
  } catch {
    failed = 1;
  }
} else failed = 1;
rmSync(directory, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 && status === 0 ? 1 : status);
