import { defineConfig } from 'vitest/config'

/** Tests beside the sources and under test/. The interop suite needs other engines and has a configuration of its own. */
export default defineConfig({
  test: {
    exclude: ['**/node_modules/**', '.braid/**', '.peers/**', 'dist/**'],
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: 'test/scratch/setup.ts',
    testTimeout: 120_000,
    hookTimeout: 180_000,
  },
})
