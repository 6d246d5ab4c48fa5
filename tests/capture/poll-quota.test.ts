import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startEmulator, type Emulator } from '../../packages/emulator/src/emulator.ts'
import { toConnectors } from '../../packages/service/src/commands/emulated.ts'
import { loadConfig } from '../../packages/service/src/config/index.ts'
import { openRecorder, type Recorder } from '../../packages/service/src/recorder/recorder.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { calmSpeed } from './emulated-speed.ts'
import { countOf } from './emulated-home.ts'
import { until } from './recorder-process.ts'

const MARKETS = 400
const HOUR_MS = 3_600_000
// A round must not end in the middle of the count, and the plan must not want more polls than a busy machine makes:
// those that come late find whole books changed, whether they are lively or quiet.
const SPEED = calmSpeed(4, [HOUR_MS])
/** Polls of the busiest tenth for one of the quietest. */
const LEAST_RATIO = 5
// Polls are counted, not seconds: a busy machine makes fewer of them in the same time, and then the few
// show how the plan began to learn instead of what it has learned.
const MEASURED_POLLS = countOf(2800, 1200)
const LEARNED_MS = 120_000
const MEASURED_MS = 120_000

// Emulated markets differ by about four in what happens in them; real ones by hundreds.
function spreadActivity(emulator: Emulator): void {
  for (const market of emulator.world.propositions('venueb')) {
    const lively = market as unknown as { activity: number }
    lively.activity **= 4
  }
}

/** Records venue B without credentials; everything is stopped and gone when the test ends. */
async function startPolling(emulator: Emulator): Promise<Recorder> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-polled-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  onTestFinished(() => store.close())
  const { rest, ws } = emulator.addresses.venueb!
  const addresses = { venueb: { rest, ws, keyId: '', privateKey: '' } }
  const env = {
    PRIORBOOK_EMULATOR_SPEED: String(SPEED),
    PRIORBOOK_VENUEA_ENABLED: 'false',
    PRIORBOOK_VENUEC_ENABLED: 'false',
  }
  const silent = (): void => undefined
  const recorder = await openRecorder({
    store,
    journalDir: join(folder, 'journal'),
    origin: 'emulator',
    recorder: 'r1',
    log: { info: silent, warn: silent, error: silent },
    connectors: toConnectors(loadConfig({ env }), addresses),
  })
  const abort = new AbortController()
  const running = recorder.run(abort.signal)
  running.catch(silent)
  onTestFinished(async () => {
    abort.abort()
    await running
  })
  return recorder
}

/** Counts polls of books by ticker from now on; each call reads only what is new in the log. */
function watchPolls(emulator: Emulator): () => Map<string, number> {
  const { entries } = emulator.truth
  const polls = new Map<string, number>()
  let read = entries.length
  return () => {
    for (; read < entries.length; read++) {
      const entry = entries[read]!
      if (entry.type !== 'answer') continue
      const ticker = /\/markets\/([^/]+)\/orderbook/.exec(entry.path)?.[1]
      if (ticker !== undefined) polls.set(ticker, (polls.get(ticker) ?? 0) + 1)
    }
    return polls
  }
}

function sumOf(counts: Iterable<number>): number {
  return [...counts].reduce((sum, count) => sum + count, 0)
}

/** Open markets of the hour with their tickers and how often their books have changed. */
function listOpen(emulator: Emulator): { ticker: string; changes: number }[] {
  const tickers = new Map<number, string>()
  for (const entry of emulator.truth.entries) {
    if (entry.type === 'market') tickers.set(entry.index, entry.keys[0]!)
  }
  return emulator.world
    .propositions('venueb')
    .filter(({ phase, window }) => phase === 'open' && window === '1h')
    .map(({ index, version }) => ({ ticker: tickers.get(index)!, changes: version }))
}

const TIMEOUT = { timeout: LEARNED_MS + MEASURED_MS + 60_000 }

test(`polls ${MARKETS} markets within the quota, the busiest most often`, TIMEOUT, async () => {
  const emulator = await startEmulator({
    seed: 41,
    speed: SPEED,
    venues: ['venueb'],
    markets: { venueb: MARKETS },
    rounds: 1,
    rates: { changes: 0.04, trades: 0.02, pauses: 0 },
    log: { memory: true, books: false },
  })
  onTestFinished(() => emulator.close())
  spreadActivity(emulator)
  const learnedPolls = watchPolls(emulator)
  const recorder = await startPolling(emulator)
  await until('two polls of every market', LEARNED_MS, () => {
    const polls = learnedPolls()
    const open = listOpen(emulator)
    const isLearned = open.every(({ ticker }) => (polls.get(ticker) ?? 0) >= 2)
    return isLearned && open.length > 0 ? true : undefined
  })
  const measuredPolls = watchPolls(emulator)
  const began = performance.now()
  const polls = await until(`${MEASURED_POLLS} polls`, MEASURED_MS, () => {
    const counted = measuredPolls()
    return sumOf(counted.values()) >= MEASURED_POLLS ? counted : undefined
  })
  const seconds = (performance.now() - began) / 1000

  const open = listOpen(emulator).sort((a, b) => a.changes - b.changes)
  expect(open.length).toBeGreaterThan(MARKETS / 2)
  const tenth = Math.floor(open.length / 10)
  const pollsOf = (markets: typeof open): number =>
    sumOf(markets.map(({ ticker }) => polls.get(ticker) ?? 0))
  const [quiet, busy, all] = [open.slice(0, tenth), open.slice(-tenth), open].map(pollsOf)
  const { venues } = recorder.status()
  const { books, counts, connector } = venues.venueb!
  const use = emulator.quotaPeaks().venueb!['default']!
  console.log(
    `${open.length} markets, ${(all! / seconds).toFixed(0)} polls a second: the busiest tenth ${busy}, the quietest ${quiet}; quota peak ${use.peak} of ${use.limit} a second, ${use.refused} of ${use.requests} requests refused`,
  )
  expect(use.peak).toBeLessThanOrEqual(use.limit)
  expect(use.refused).toBe(0)
  expect(connector.state).toBe('no_credentials')
  expect(books.open).toBeGreaterThan(MARKETS / 2)
  expect(counts.observations).toBeGreaterThan(2 * open.length - 1)
  expect(quiet).toBeGreaterThan(0)
  expect(busy! / quiet!).toBeGreaterThanOrEqual(LEAST_RATIO)
})
