import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real processes, real disks: limits only keep a hang from lasting for ever.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
  },
});
