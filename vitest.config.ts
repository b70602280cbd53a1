import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real processes, real disks: limits only keep a hang from lasting for ever.
    testTimeout: 600_000,
    hookTimeout: 300_000,
    pool: 'forks',
    // On a machine that others load, a process may be late once; a failure that repeats is one.
    retry: process.env['CI'] === undefined ? 0 : 1,
  },
});
