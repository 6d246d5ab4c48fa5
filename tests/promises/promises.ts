/** A promise of the service, and the tests that show it. */
export type Promised = {
  readonly id: string
  readonly promise: string
  /** Test files, from the root of the repository. */
  readonly tests: readonly string[]
  /** What no test shows yet, where the promise says more than the tests. */
  readonly unshown?: string
}

const STORE = 'packages/service/src/store/embedded'
const API = 'packages/service/src/api'
const JOURNAL = 'packages/service/src/journal'

/** All promises, in the order of the docs page, which `npm run promises` writes. */
export const PROMISES: readonly Promised[] = [
  {
    id: 'R1',
    promise: 'An acknowledged row survives `kill -9` of the recorder; none is torn or repeated.',
    tests: [`${STORE}/crash.test.ts`, `${JOURNAL}/crash.test.ts`, 'tests/capture/kill.test.ts'],
  },
  {
    id: 'R2',
    promise: 'A store reopens quickly after a crash.',
    tests: [`${STORE}/opening.test.ts`],
    unshown: 'the time to reopen a log of 1 GB',
  },
  {
    id: 'R3',
    promise: 'Everything acknowledged was synced before, in the right order.',
    tests: [`${STORE}/sync.test.ts`, `${JOURNAL}/crash.test.ts`],
    unshown: 'reordered writes of a whole disk',
  },
  {
    id: 'R4',
    promise: 'Damage is found, costs one chunk, and is shown as a gap; no wrong row is served.',
    tests: [
      `${STORE}/damage.test.ts`,
      `${STORE}/log-repair.test.ts`,
      `${JOURNAL}/damage.test.ts`,
      `${API}/books/damage.test.ts`,
    ],
  },
  {
    id: 'R5',
    promise: 'A full disk is a gap; reading goes on, and recording resumes with the space.',
    tests: [`${STORE}/disk.test.ts`, 'tests/capture/disk-full.test.ts'],
  },
  {
    id: 'R6',
    promise: 'Every lost message is a gap with exact bounds; no row bridges it.',
    tests: ['tests/capture/faults.test.ts', 'tests/capture/unseen-loss.test.ts'],
  },
  {
    id: 'R7',
    promise: 'A connection that stays open without data is noticed.',
    tests: ['packages/service/src/venues/capture/link.test.ts', 'tests/capture/faults.test.ts'],
  },
  {
    id: 'R8',
    promise: 'A restart is a short gap with a reason.',
    tests: ['tests/capture/kill.test.ts', 'packages/service/src/recorder/recorder.test.ts'],
  },
  {
    id: 'R9',
    promise: 'Two recorders merge to the rows that either saw, each once.',
    tests: [
      `${STORE}/merge/merge.test.ts`,
      `${STORE}/merge/cases.test.ts`,
      `${STORE}/merge/blind-spans.test.ts`,
    ],
  },
  {
    id: 'R10',
    promise: 'Importing or applying the same data again changes nothing.',
    tests: ['packages/service/src/derive/import.test.ts', `${STORE}/embedded.test.ts`],
  },
  {
    id: 'R11',
    promise: 'All rows and gaps can be derived again from the raw messages.',
    tests: [
      'packages/service/src/recorder/recorder.test.ts',
      'packages/service/src/derive/recordings.test.ts',
      'packages/service/src/derive/audit.test.ts',
    ],
  },
  {
    id: 'R12',
    promise: 'Every stored and served row passes the checks of the interface document.',
    tests: ['packages/sdk/src/tape/assembler.test.ts', 'tests/api/conformance.test.ts'],
  },
  {
    id: 'R13',
    promise: 'A step of a clock neither reorders rows nor stops a recorder.',
    tests: [
      'packages/service/src/recorder/recorder.test.ts',
      'packages/service/src/recorder/hostile.test.ts',
      'tests/capture/clock-step.test.ts',
    ],
  },
  {
    id: 'R14',
    promise: 'A client that does not read cannot hurt others.',
    tests: [
      `${API}/http/fair-queue.test.ts`,
      `${API}/stream/slow-reader.test.ts`,
      'tests/live/stalled.test.ts',
    ],
  },
  {
    id: 'R15',
    promise: 'A stream loses nothing without saying so, also over reconnects.',
    tests: ['tests/live/live.test.ts', 'tests/sdk/live.test.ts'],
  },
  {
    id: 'R16',
    promise: 'A slow or failing venue cannot stall the API, and its quota is kept.',
    tests: ['tests/capture/poll-quota.test.ts', 'tests/capture/faults.test.ts'],
  },
  {
    id: 'R17',
    promise: 'No message and no journaled record, whatever it contains, stops the service.',
    tests: [
      'packages/service/src/recorder/hostile.test.ts',
      'packages/service/src/lib/message-json.test.ts',
      'packages/service/src/venues/venuea/mutations.test.ts',
      'packages/service/src/venues/venueb/mutations.test.ts',
      'packages/service/src/venues/venuec/mutations.test.ts',
      'tests/capture/mutated.test.ts',
    ],
  },
  {
    id: 'R18',
    promise: 'Bad input is never answered with 5xx; errors have a listed code.',
    tests: ['tests/api/generated.test.ts', `${API}/sockets.test.ts`],
  },
  {
    id: 'R19',
    promise: 'A walk over pages is exact while rows are written and packed.',
    tests: ['tests/api/walks.test.ts', `${API}/books/cursors.test.ts`],
  },
  {
    id: 'R20',
    promise: 'A changed or foreign cursor is refused.',
    tests: [`${API}/cursor.test.ts`, `${API}/books/cursors.test.ts`],
  },
  {
    id: 'R21',
    promise: 'Every route refuses every wrong key with the expected status.',
    tests: [`${API}/key-states.test.ts`, `${API}/server.test.ts`],
  },
  {
    id: 'R22',
    promise: 'Keys are stored as hashes and appear in no log or answer.',
    tests: [`${API}/auth/keys.test.ts`, 'tests/capture/credentials.test.ts'],
  },
  {
    id: 'R23',
    promise: 'A mistyped key is refused by its checksum, before any lookup.',
    tests: [`${API}/auth/key-text.test.ts`],
    unshown: 'the latency of others under 50,000 bad keys a second',
  },
  {
    id: 'R24',
    promise: 'Revoking a key ends its use on REST, running downloads and streams within seconds.',
    tests: [`${API}/key-states.test.ts`, `${API}/stream/session.test.ts`],
  },
  {
    id: 'R25',
    promise: 'Limits are exact over processes and restarts, and headers show them.',
    tests: [`${API}/auth/limiter.test.ts`, `${API}/sockets.test.ts`],
  },
  {
    id: 'R26',
    promise: 'Time and memory of a request are bounded.',
    tests: [
      `${API}/sockets.test.ts`,
      `${API}/http/fair-queue.test.ts`,
      'tests/api/many-clients.test.ts',
    ],
  },
  {
    id: 'R27',
    promise: 'Nothing is forward-filled; pages, lists and replay show the same gaps.',
    tests: [
      'packages/service/src/rows/rows.test.ts',
      `${API}/books/snapshots.test.ts`,
      'tests/replay/sources.test.ts',
      'tests/replay/damage.test.ts',
    ],
  },
  {
    id: 'R28',
    promise: 'The condition of every market and day can be asked for.',
    tests: [`${API}/routes/coverage-days.test.ts`],
  },
  {
    id: 'R29',
    promise: 'A replay and a backtest give the same result every time.',
    tests: ['packages/sdk/src/backtest/determinism.test.ts', 'tests/replay/sources.test.ts'],
  },
  {
    id: 'R30',
    promise: 'A strategy sees nothing of the future.',
    tests: ['packages/sdk/src/backtest/poison.test.ts'],
  },
  {
    id: 'R31',
    promise: 'A backup taken while recording restores whole, with keys and plans.',
    tests: ['packages/service/src/commands/commands.test.ts', `${STORE}/opening.test.ts`],
    unshown: 'the time for 10 GB',
  },
  {
    id: 'R32',
    promise: 'Hours of recording under faults break no promise, and memory stays flat.',
    tests: ['tests/capture/faults.test.ts'],
    unshown:
      'eight hours at once; 90 minutes of faults are [here](chaos.md), two calm hours [here](operations.md#chaos)',
  },
  {
    id: 'R33',
    promise: 'Data of older versions are read; only documented routes answer.',
    tests: ['tests/compat/previous-version.test.ts', `${API}/docs/openapi.test.ts`],
  },
  {
    id: 'R34',
    promise:
      'Answers carry strict headers and no stack traces; it connects to configured venues only.',
    tests: [
      `${API}/server.test.ts`,
      'packages/service/src/commands/serve.test.ts',
      'tests/ops/outbound.test.ts',
    ],
  },
]
