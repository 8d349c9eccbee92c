import { defineConfig } from 'vitest/config'

/** Other engines beside this one: one file at a time, since each starts a Spark session. Needs the peers (scripts/install-peers.sh). */
export default defineConfig({
  test: {
    include: ['interop/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
