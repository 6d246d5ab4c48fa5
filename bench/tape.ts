import { spawnSync } from 'node:child_process'
import { cpSync, statSync } from 'node:fs'
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
import { measureAudits } from './lib/audits.ts'
import { CpuSum } from './lib/cpu-sum.ts'
import { measureReads, measureRepeated, rounded } from './lib/measure.ts'
import { measureRecords, packWhole } from './lib/packed-journal.ts'
import { planSeed, type Plan } from './lib/plan.ts'
import { syncMs, withScratch } from './lib/scratch.ts'
import { COLD_CACHE_BYTES, planStore } from './lib/store-plan.ts'
import { packCopy, printColumns } from './lib/packed-tape.ts'
import { prepareTape } from './lib/tape.ts'
import { measureVenueBytes } from './lib/venue-bytes.ts'

const READ_BUDGET_MS = 20_000
const SECOND = 1_000_000
const FIRST_READS = 200

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
    const first = await measureFirst(vacuumed, packedFile)
    const feeds = readFeeds(recordings, 60_000)
    // Warm like the reads: a recorder runs for days. The first round is thrown away.
    await measureAppend(join(folder, 'warm'), feeds, 6, 100, 240_000)
    const append = await measureAppend(folder, feeds, 6, 100, 360_000)
    const append1000 = await measureAppend(folder, feeds, 1000, 1000, 300_000)
    const packed = await measureJournal(data.journal, packedFile)
    const venues = await measureVenueBytes(folder, source === 'recordings' ? recordings : undefined)
    const tapeBytes = statSync(vacuumed).size / observations
    const packedBytes = statSync(packedFile).size / observations
    return {
      observations,
      sync_ms: rounded(sync),
      bytes_per_observation: rounded(packedBytes),
      bytes_per_observation_unpacked: rounded(tapeBytes),
      journal_bytes_per_observation: rounded(journal / observations),
      ...packed,
      bytes_together: rounded(packedBytes + packed['journal_bytes_per_message']!),
      ...venues,
      ...reads.figures,
      ...packedFigures(old.figures),
      ...first,
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

// The journal of the import after packing, and rows of packs derived again from it.
async function measureJournal(dir: string, tape: string): Promise<Record<string, number>> {
  // Warm like the reads: a packer runs for days. The first round, on a copy, is thrown away.
  cpSync(dir, `${dir}-copy`, { recursive: true })
  await packWhole(`${dir}-copy`, 'venueb')
  const { bytesAfter, archivePerSecond, readPerSecond } = await packWhole(dir, 'venueb')
  const audit = await measureAudits(tape, dir)
  return {
    journal_bytes_per_message: bytesAfter,
    archive_per_s: archivePerSecond,
    journal_read_per_s: readPerSecond,
    ...measureRecords(dir, 'venueb'),
    audit_ms: audit.medianMs,
    audit_p99_ms: audit.p99Ms,
    audit_cpu_ms: audit.cpuMs,
  }
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
  const { page, asOf, latest, sample } = createReads(store)
  const budget = READ_BUDGET_MS
  const p100 = await measureReads(plan.pages100, budget, (at) => page(at, true))
  const p1000 = await measureReads(plan.pages1000, budget, (at) => page(at, true))
  const bare = await measureReads(plan.pages100, budget, (at) => page(at, false))
  const known = await measureReads(plan.points, budget, asOf)
  const newest = await measureReads(plan.points, budget, latest)
  const second = await measureRepeated(20, budget, () => sample(densest, SECOND))
  const minute = await measureRepeated(40, budget, () => sample(densest, 60 * SECOND))
  const rssMb = process.resourceUsage().maxRSS / 1000
  await store.close()

  // The same without any decoded chunk in memory: what a first visit costs.
  const first = openEmbeddedStore({ file, readOnly: true, cacheBytes: COLD_CACHE_BYTES })
  const cold = createReads(first)
  const cold100 = await measureReads(plan.pages100, budget, (at) => cold.page(at, true))
  const coldKnown = await measureReads(plan.points, budget, cold.asOf)
  const coldSecond = await measureRepeated(20, budget, () => cold.sample(densest, SECOND))
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

// The CPU time of reads that are each the first one of a store that was just opened: nothing of the market is in memory.
// Loose and packed rows in turn, because both files are read on a machine that others load too.
async function measureFirst(loose: string, packed: string): Promise<Record<string, number>> {
  const store = openEmbeddedStore({ file: loose, readOnly: true })
  const plan = await planStore(store)
  await store.close()
  const reads = {
    page_100_first: plan.pages100.map((at) => (one: Reads) => one.page(at, true)),
    as_of_first: plan.points.map((at) => (one: Reads) => one.asOf(at)),
  }
  const figures: Record<string, number> = {}
  for (const [name, list] of Object.entries(reads)) {
    const [own, other] = [new CpuSum(), new CpuSum()]
    for (const read of list.slice(0, FIRST_READS)) {
      for (const [file, sum] of [[loose, own] as const, [packed, other] as const]) {
        const opened = openEmbeddedStore({ file, readOnly: true })
        const of = createReads(opened)
        await sum.measure(() => read(of))
        await opened.close()
      }
    }
    figures[`${name}_cpu_ms`] = rounded(own.meanMs)
    figures[`${name}_packed_cpu_ms`] = rounded(other.meanMs)
  }
  return figures
}

type Reads = ReturnType<typeof createReads>

// What is measured, as text each.
function createReads(store: Store) {
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
    sample: async (densest: Plan['densest'], interval: number) => {
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
