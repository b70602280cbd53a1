/** A directory of its own for each test, removed when the test is over. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export const temporaryDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'session-ledger-test-'));
  onTestFinished(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
};
