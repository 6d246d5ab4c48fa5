import { defineConfig } from 'vitest/config'

// Capture over real sockets mostly waits, and judges times: a few files at once, before the others,
// which keep every core busy.
const CAPTURE = 'tests/capture/**/*.test.ts'
// These need programs of others; `npm run test:peers` installs them first.
const PEERS = 'tests/peers/**/*.test.ts'
// These need a browser; `npm run test:browser` builds the explorer first.
const BROWSER = 'tests/browser/**/*.browser.ts'

// Node reads the sources itself, as it does in production; hot loops are a tenth faster that way.
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
          exclude: [CAPTURE, PEERS],
          // More than two cores need, as many wait for sockets, processes and disks.
          maxWorkers: 5,
          isolate: false,
          experimental: NATIVE,
          retry: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'capture',
          include: [CAPTURE],
          maxWorkers: 3,
          // Runs under faults have processes of their own and wait most of the time.
          maxConcurrency: 6,
          experimental: NATIVE,
          // A machine that stands still for a second in the middle of a run gets a second chance.
          retry: 1,
          sequence: { groupOrder: 0 },
        },
      },
      ...(process.env['PRIORBOOK_BROWSER'] === '1'
        ? [
            {
              extends: true as const,
              test: {
                name: 'browser',
                include: [BROWSER],
                fileParallelism: false,
                testTimeout: 120_000,
                hookTimeout: 120_000,
              },
            },
          ]
        : []),
      ...(process.env['PRIORBOOK_PEERS'] === '1'
        ? [{ extends: true as const, test: { name: 'peers', include: [PEERS] } }]
        : []),
    ],
  },
})
