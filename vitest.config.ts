import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real processes, real disks: limits only keep a hang from lasting for ever.
    testTimeout: 600_000,
    hookTimeout: 300_000,
    pool: 'forks',
  },
});
