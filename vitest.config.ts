import { defineConfig } from 'vitest/config'

// Recorders and streams in real time. They mostly wait and they judge times, so they run apart from the
// unit tests, which keep every core busy: `npm run test:capture`.
const CAPTURE = ['tests/{capture,live}/**/*.test.ts']
// Whole programs against emulated venues, through their public doors: `npm run test:capture` too.
const END_TO_END = [
  'tests/{api,backtest,compat,emulator,mcp,replay,sdk}/**/*.test.ts',
  'packages/service/src/commands/*.test.ts',
  // Emulated venues and servers over sockets, for seconds each.
  'packages/emulator/src/{emulator,faults/faults,venues/venueb/venueb}.test.ts',
  'packages/service/src/{api/http/fair-queue,api/replay/many,derive/backfill}.test.ts',
  'packages/service/src/{api/{sockets,stream/stream},venues/venuea/chain/reader}.test.ts',
  // Rules over a tape that is written meanwhile, and webhooks over sockets; a storage that fails for a while.
  'packages/service/src/{alerts/alerts,objects/s3-objects}.test.ts',
  // Programs and writers in processes of their own, which are killed, run out of space or are measured.
  'tests/runtime.test.ts',
  'packages/service/src/{journal/crash,store/embedded/{crash,disk,large-log,sync,upgrade}}.test.ts',
  // Journals of thousands of messages, packed and moved away, with kills at every step.
  'packages/service/src/journal/{pack,move-away}.test.ts',
  // Tapes of thousands of markets; tapes and journals that are damaged at many places; merged recorders.
  'packages/service/src/{derive/repair,journal/damage,recorder/{find-join,hostile,memory}}.test.ts',
  'packages/service/src/store/embedded/{damage,labels,list-orders,listing-range,log-repair,search}.test.ts',
  'packages/service/src/store/embedded/merge/{merge,cases,skew}.test.ts',
  // Chunks in other storage and in packs, through folders and processes that are killed.
  'packages/service/src/store/embedded/{cold,packs}/*.test.ts',
]
// Tests that read our files with other people's programs: `npm run test:peers` installs those first.
const PEERS = 'tests/peers/**/*.test.ts'
// Tests that generate clients from our OpenAPI document, and that read the emulator with the venues' official
// clients; they install other people's programs into a temporary folder: `npm run test:clients`.
const CLIENTS = 'tests/clients/**/*.test.ts'
// Tests over a real object storage, which they install from PyPI: `npm run test:cluster`.
const CLUSTER = 'tests/cluster/**/*.test.ts'
// Tests with promtool and a real Prometheus, which they install from Debian: `npm run test:ops`.
const OPS = 'tests/ops/**/*.test.ts'
// Tests of the published packages, which they pack and install into empty folders: `npm run test:packages`.
const PACKAGES = 'tests/packages/**/*.test.ts'
// Tests in a browser: `npm run test:browser` builds the explorer first.
const BROWSER = 'tests/browser/**/*.browser.ts'

// Node runs the sources directly, as in production. Hot loops are a tenth faster than through Vite.
const NATIVE = { viteModuleRunner: false, nodeLoader: false }

export default defineConfig({
  test: {
    // Limits find what never ends; they do not judge how fast a machine is.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // What is waited for may take its time: by default a machine that stands still for a second fails.
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    globalSetup: ['tests/shared-scratch.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'units',
          include: ['packages/*/src/**/*.test.ts', 'tests/**/*.test.ts'],
          exclude: [...CAPTURE, ...END_TO_END, PEERS, CLIENTS, CLUSTER, OPS, PACKAGES],
          // One more than two cores, because tests wait for sockets and disks. A further one would load
          // and optimize all code once more.
          maxWorkers: 3,
          isolate: false,
          experimental: NATIVE,
        },
      },
      {
        extends: true,
        test: {
          name: 'capture',
          include: CAPTURE,
          maxWorkers: 3,
          // Runs under faults have processes of their own and wait most of the time.
          maxConcurrency: 6,
          experimental: NATIVE,
          // The machine may stand still for a second. tests/retry-budget.ts counts every retry, prints
          // it, and fails the run above its limit.
          retry: 1,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'end-to-end',
          include: END_TO_END,
          maxWorkers: 4,
          isolate: false,
          experimental: NATIVE,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: [BROWSER],
          // Pages wait for frames and servers half of the time.
          maxWorkers: 2,
        },
      },
      { extends: true, test: { name: 'peers', include: [PEERS] } },
      {
        extends: true,
        test: { name: 'clients', include: [CLIENTS], experimental: NATIVE },
      },
      {
        extends: true,
        test: {
          name: 'ops',
          include: [OPS],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          experimental: NATIVE,
        },
      },
      {
        extends: true,
        test: {
          name: 'packages',
          include: [PACKAGES],
          globalSetup: ['tests/packages/setup.ts'],
          maxWorkers: 2,
          experimental: NATIVE,
        },
      },
      {
        extends: true,
        test: {
          name: 'cluster',
          include: [CLUSTER],
          globalSetup: ['tests/cluster/setup.ts'],
          // Databases that fail over and recorders that take over: a file waits half of the time.
          maxWorkers: 2,
          hookTimeout: 300_000,
          experimental: NATIVE,
        },
      },
    ],
  },
})
