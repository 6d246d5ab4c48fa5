import { defineConfig } from 'vitest/config'

// Tests that record emulated venues in real time. They mostly wait and they judge times, so they run
// apart from the unit tests, which keep every core busy: `npm run test:capture`.
const REAL_TIME = ['tests/{capture,live}/**/*.test.ts']
// Tests that read our files with other people's programs: `npm run test:peers` installs those first.
const PEERS = 'tests/peers/**/*.test.ts'
// Tests in a browser: `npm run test:browser` builds the explorer first.
const BROWSER = 'tests/browser/**/*.browser.ts'

// Node runs the sources directly, as in production. Hot loops are a tenth faster than through Vite.
const NATIVE = { viteModuleRunner: false, nodeLoader: false }

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    globalSetup: ['tests/shared-scratch.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'units',
          include: ['packages/*/src/**/*.test.ts', 'tests/**/*.test.ts'],
          exclude: [...REAL_TIME, PEERS],
          // More workers than cores, because many tests wait for sockets, processes and disks.
          maxWorkers: 5,
          isolate: false,
          experimental: NATIVE,
        },
      },
      {
        extends: true,
        test: {
          name: 'capture',
          include: REAL_TIME,
          maxWorkers: 3,
          // Runs under faults have processes of their own and wait most of the time.
          maxConcurrency: 6,
          experimental: NATIVE,
          // The machine may stand still for a second. tests/retry-budget.ts counts every retry, prints
          // it, and fails the run above its limit.
          retry: 1,
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: [BROWSER],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      { extends: true, test: { name: 'peers', include: [PEERS] } },
    ],
  },
})
