/** Runs the suite on a fresh build and closes with one line that any reader of logs understands: `N passed, N failed`. */
import { spawnSync } from 'node:child_process';
import console from 'node:console';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';

const packageFile = createRequire(import.meta.url).resolve('vitest/package.json');
const vitest = join(dirname(packageFile), 'vitest.mjs');
const directory = mkdtempSync(join(tmpdir(), 'session-ledger-test-'));
const report = join(directory, 'report.json');

const run = (args) => spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;

/** Totals of vitest's report; a file that could not even be loaded has no failed test, and is one failure. */
const totals = (status) => {
  try {
    const { numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(readFileSync(report, 'utf8'));
    const unloaded = numFailedTests === 0 && status !== 0 ? Math.max(1, numFailedTestSuites) : 0;
    return { passed: numPassedTests, failed: numFailedTests + unloaded };
  } catch {
    return { passed: 0, failed: 1 };
  }
};

const built = run(['scripts/build.js']);
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
const status = built === 0 ? run([vitest, 'run', ...reporters, ...process.argv.slice(2)]) : built;
const { passed, failed } = totals(status);
rmSync(directory, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 && status === 0 ? 1 : status);
