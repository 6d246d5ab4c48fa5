import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BookColumns, BookDecoder, Ladder, loadBase, openChunk } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { createBookRenderer, type BookContext } from '@priorbook/sdk/wire'
import { journalStats } from '@priorbook/sdk/journal'
import { toDataFolder } from '../packages/service/src/lib/data-folder.ts'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import type { InstrumentRef, Store } from '../packages/service/src/store/store.ts'
import { measureAppend } from './append.ts'
import { readFeeds } from './lib/feed.ts'
import { measureReads, measureRepeated, rounded } from './lib/measure.ts'
import { measureEmulated, measurePacked } from './lib/packed-journal.ts'
import { planSeed, type Plan } from './lib/plan.ts'
import { syncMs, withScratch } from './lib/scratch.ts'
import { COLD_CACHE_BYTES, planStore } from './lib/store-plan.ts'
import { packCopy, printColumns } from './lib/packed-tape.ts'
import { prepareTape } from './lib/tape.ts'

const READ_BUDGET_MS = 20_000
const SECOND = 1_000_000

/** `npm run bench -- tape`: the embedded store on recorded (or generated) markets. */
export async function benchTape(): Promise<Record<string, number | string>> {
  return withScratch(async (folder) => {
    const { folder: recordings, source } = prepareTape(folder, planSeed)
    const data = toDataFolder(join(folder, 'data'))
    const sync = syncMs(folder)
    console.log(
      `data: ${source}; seed ${planSeed}; this machine syncs 4 KB in ${sync.toFixed(3)} ms`,
    )

    const imported = runImport(recordings, data.path)
    const whole = openEmbeddedStore({ file: data.tape })
    await whole.seal()
    const vacuumed = join(folder, 'vacuumed.db')
    await whole.backup(vacuumed)
    const instruments = await whole.instruments()
    await whole.close()
    const observations = instruments.reduce((sum, { lastSequence }) => sum + lastSequence, 0)
    const journal = journalStats(data.journal, 'venueb').bytes

    const packedFile = await packCopy(vacuumed, join(folder, 'packed'))
    printColumns(vacuumed, packedFile, observations)
    const reads = await measureStore(vacuumed)
    const replay = await measureReplay(vacuumed, reads.densest)
    // The same reads of the same rows, in the same run.
    const old = await measureStore(packedFile)
    const oldReplay = await measureReplay(packedFile, reads.densest)
    const feeds = readFeeds(recordings, 60_000)
    // Warm like the reads: a recorder runs for days. The first round is thrown away.
    await measureAppend(join(folder, 'warm'), feeds, 6, 100, 240_000)
    const append = await measureAppend(folder, feeds, 6, 100, 360_000)
    const append1000 = await measureAppend(folder, feeds, 1000, 1000, 300_000)
    const packed = await measurePacked(data.journal)
    const emulated = await measureEmulated(folder)
    const tapeBytes = statSync(vacuumed).size / observations
    const packedBytes = statSync(packedFile).size / observations
    return {
      observations,
      sync_ms: rounded(sync),
      bytes_per_observation: rounded(packedBytes),
      bytes_per_observation_unpacked: rounded(tapeBytes),
      journal_bytes_per_observation: rounded(journal / observations),
      ...packed,
      ...emulated,
      bytes_together: rounded(packedBytes + packed['journal_bytes_per_message']!),
      ...reads.figures,
      ...packedFigures(old.figures),
      replay_per_s: rounded(replay),
      replay_packed_per_s: rounded(oldReplay),
      append_per_s: rounded(append),
      append_1000_per_s: rounded(append1000),
      import_s: rounded(imported.seconds),
      import_rss_mb: rounded(imported.rssMb),
      rss_mb: rounded(Math.max(imported.rssMb, reads.rssMb)),
    }
  })
}

// `page_100_ms` of packed rows is `page_100_packed_ms`.
function packedFigures(figures: Record<string, number>): Record<string, number> {
  const timed = Object.entries(figures).filter(([key]) => key.endsWith('_ms'))
  return Object.fromEntries(timed.map(([key, value]) => [key.replace(/_ms$/, '_packed_ms'), value]))
}

// The command a user types, in a process of its own: start-up and the sealing at the end included.
function runImport(recordings: string, data: string): { seconds: number; rssMb: number } {
  const script = fileURLToPath(new URL('import-child.ts', import.meta.url))
  // The young generation that the program gives itself when a user starts it.
  const { stdout, status } = spawnSync(
    process.execPath,
    ['--max-semi-space-size=4', script, recordings, data],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
    },
  )
  if (status !== 0) throw new Error('the import failed')
  return JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as { seconds: number; rssMb: number }
}

async function measureStore(
  file: string,
): Promise<{ figures: Record<string, number>; densest: InstrumentRef; rssMb: number }> {
  const store = openEmbeddedStore({ file, readOnly: true })
  const plan = await planStore(store)
  const { densest } = plan
  const { page, asOf, latest, sample } = createReads(store, densest)
  const budget = READ_BUDGET_MS
  const p100 = await measureReads(plan.pages100, budget, (at) => page(at, true))
  const p1000 = await measureReads(plan.pages1000, budget, (at) => page(at, true))
  const bare = await measureReads(plan.pages100, budget, (at) => page(at, false))
  const known = await measureReads(plan.points, budget, asOf)
  const newest = await measureReads(plan.points, budget, latest)
  const second = await measureRepeated(20, budget, () => sample(SECOND))
  const minute = await measureRepeated(40, budget, () => sample(60 * SECOND))
  const rssMb = process.resourceUsage().maxRSS / 1000
  await store.close()

  // The same without any decoded chunk in memory: what a first visit costs.
  const first = openEmbeddedStore({ file, readOnly: true, cacheBytes: COLD_CACHE_BYTES })
  const cold = createReads(first, densest)
  const cold100 = await measureReads(plan.pages100, budget, (at) => cold.page(at, true))
  const coldKnown = await measureReads(plan.points, budget, cold.asOf)
  const coldSecond = await measureRepeated(20, budget, () => cold.sample(SECOND))
  await first.close()
  return {
    densest: { venue: 'venueb', key: densest.ticker },
    rssMb,
    figures: {
      pages_measured: p100.measured,
      page_100_ms: rounded(p100.medianMs),
      page_100_p99_ms: rounded(p100.p99Ms),
      page_100_bytes: rounded(p100.bytes),
      page_1000_ms: rounded(p1000.medianMs),
      page_1000_p99_ms: rounded(p1000.p99Ms),
      page_100_no_ladder_ms: rounded(bare.medianMs),
      page_100_no_ladder_p99_ms: rounded(bare.p99Ms),
      as_of_ms: rounded(known.medianMs),
      as_of_p99_ms: rounded(known.p99Ms),
      latest_ms: rounded(newest.medianMs),
      latest_p99_ms: rounded(newest.p99Ms),
      sample_1s_ms: rounded(second),
      sample_1m_ms: rounded(minute),
      page_100_cold_ms: rounded(cold100.medianMs),
      as_of_cold_ms: rounded(coldKnown.medianMs),
      sample_1s_cold_ms: rounded(coldSecond),
    },
  }
}

// What is measured, as text each.
function createReads(store: Store, densest: Plan['densest']) {
  const renderer = createBookRenderer()
  const contextOf = (key: string): BookContext => ({ venue: 'venueb', key, marketId: key })
  return {
    page: async ({ ticker, from, rows }: Plan['pages100'][number], ladders: boolean) => {
      const query = { order: 'asc', after: from - 1, limit: rows } as const
      const { runs, count } = await store.books({ venue: 'venueb', key: ticker, ...query })
      if (count !== rows) throw new Error(`a page has ${count} rows, not ${rows}`)
      return renderer.renderJsonRows(runs, contextOf(ticker), { ladders })
    },
    asOf: async ({ ticker, atMicros }: Plan['points'][number]) => {
      const { run } = await store.asOf({ venue: 'venueb', key: ticker, at: atMicros })
      const runs = run === undefined ? [] : [run]
      return renderer.renderJsonRows(runs, contextOf(ticker), { ladders: true })
    },
    latest: async ({ ticker }: Plan['points'][number]) => {
      const run = await store.latest({ venue: 'venueb', key: ticker })
      return renderer.renderJsonRows([run!], contextOf(ticker), { ladders: true })
    },
    sample: async (interval: number) => {
      const { picks } = await store.booksByInterval({
        venue: 'venueb',
        key: densest.ticker,
        start: densest.firstReceived,
        end: densest.lastReceived + 1,
        interval,
        limit: 100_000,
        order: 'asc',
      })
      return renderer.renderJsonRows(picks, contextOf(densest.ticker), { ladders: true })
    },
  }
}

// From a closed file to best bid and ask of every observation: open, read, checksum, unpack, fold.
async function measureReplay(file: string, ref: InstrumentRef): Promise<number> {
  const platform = createNodePlatform()
  const decoder = new BookDecoder()
  const columns = new BookColumns()
  const ladder = new Ladder()
  let rows = 0
  let sum = 0
  const replay = async (): Promise<void> => {
    const store: Store = openEmbeddedStore({ file, readOnly: true })
    rows = 0
    for await (const stored of store.chunks(ref)) {
      if (stored.kind !== 'book') continue
      const chunk = stored.chunk ?? openChunk(stored.bytes, platform)
      decoder.decode(chunk, platform, columns, { numbers: false })
      loadBase(ladder, columns)
      const { changeEnd, key, size, count } = columns
      let at = 0
      for (let row = 0; row < count; row++) {
        const end = changeEnd[row]!
        for (; at < end; at++) ladder.apply(key[at]!, size[at]!)
        sum += ladder.bestBid + ladder.bestAsk
      }
      rows += count
    }
    await store.close()
  }
  const ms = await measureRepeated(20, READ_BUDGET_MS, replay)
  if (sum === 0) throw new Error('the replay read nothing')
  return rows / (ms / 1000)
}
