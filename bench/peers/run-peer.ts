import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { makePlan } from '../lib/plan.ts'
import { findRecordings, readObservations } from '../lib/recordings.ts'
import { parseJob } from './job.ts'
import { measureReads, measureRepeated, rounded, rssMb } from '../lib/measure.ts'
import { renderRow } from './row.ts'
import { servePeer } from './serve-peer.ts'
import type { FoldedObservation } from '../lib/naive-fold.ts'
import type { PlanMarket } from '../lib/plan.ts'
import type { PeerJob } from './job.ts'
import type { Peer, PeerEngine } from './peer.ts'

/**
 * The main function of a peer's process: builds in a child process, so that the memory measured
 * is that of the reading engine, then measures and prints one JSON object as the last line.
 */
export async function runPeer(engine: PeerEngine, script: string): Promise<void> {
  const [jobFile, phase] = process.argv.slice(2)
  if (jobFile === undefined) throw new Error(`Usage: node ${engine.name}.ts JOB.json`)
  const job = parseJob(jobFile)
  if (phase === 'build') {
    await build(engine, job)
    return
  }
  if (phase === 'serve') {
    await servePeer(engine, job.work)
    return
  }
  const child = spawnSync(process.execPath, [script, jobFile, 'build'], { stdio: 'inherit' })
  if (child.status !== 0) throw new Error(`Building ${engine.name} failed`)
  const built = JSON.parse(readFileSync(join(job.work, 'built.json'), 'utf8')) as Built
  console.log(JSON.stringify(await measure(engine, job, built)))
}

/** What the building process hands to the measuring one, in `built.json`. */
export type Built = {
  readonly markets: readonly PlanMarket[]
  readonly bytes: number
  readonly textBytes: number
  readonly importSeconds: number
  readonly importEngineSeconds: number
  /** Rows rendered without the engine, to compare with. */
  readonly expected: readonly ExpectedRow[]
}

type ExpectedRow = { readonly ticker: string; readonly sequence: number; readonly text: string }

async function build(engine: PeerEngine, job: PeerJob): Promise<void> {
  rmSync(job.work, { recursive: true, force: true })
  mkdirSync(job.work, { recursive: true })
  const start = performance.now()
  let engineMs = 0
  const markets: PlanMarket[] = []
  const expected: ExpectedRow[] = []
  const builder = await engine.createBuilder(job.work)
  for (const recorded of findRecordings(job.recordings)) {
    let count = 0
    let firstReceived = 0
    let lastReceived = 0
    for (const observation of readObservations(recorded)) {
      if (count === 0) firstReceived = observation.receivedMicros
      lastReceived = observation.receivedMicros
      // Every 997th row, and the empty books that end a market, which come last.
      if (count % 997 === 0 || observation.bidPrice.length === 0) {
        const { ticker, sequence } = observation
        expected.push({ ticker, sequence, text: renderRow(observation) })
      }
      count += 1
      const began = performance.now()
      await builder.add(observation)
      engineMs += performance.now() - began
    }
    markets.push({ ticker: recorded.ticker, count, firstReceived, lastReceived })
  }
  const began = performance.now()
  const bytes = await builder.finish()
  const end = performance.now()
  const textBytes = await builder.addTextVariant()
  await builder.close()
  const built: Built = {
    markets,
    bytes,
    textBytes,
    importSeconds: (end - start) / 1000,
    importEngineSeconds: (engineMs + end - began) / 1000,
    expected,
  }
  writeFileSync(join(job.work, 'built.json'), JSON.stringify(built))
}

async function measure(
  engine: PeerEngine,
  job: PeerJob,
  built: Built,
): Promise<Readonly<Record<string, unknown>>> {
  const budget = job.readBudgetMs
  const loadBefore = loadavg()[0] ?? 0
  const observations = built.markets.reduce((sum, { count }) => sum + count, 0)
  const plan = makePlan(job.seed, built.markets)
  const densest = plan.densest.ticker
  const peer = await engine.open(job.work)
  await checkRows(engine, peer, built.expected)
  await checkSample(engine, peer, plan.densest)

  const page100 = await measureReads(plan.pages100, budget, (page) => peer.readPage(page, 'full'))
  const page1000 = await measureReads(plan.pages1000, budget, (page) => peer.readPage(page, 'full'))
  const bare = await measureReads(plan.pages100, budget, (page) =>
    peer.readPage(page, 'without_ladders'),
  )
  const asOf = await measureReads(plan.points, budget, (point) => peer.readAsOf(point))
  const latest = await measureReads(plan.points, budget / 2, ({ ticker }) =>
    peer.readLatest(ticker),
  )
  const sample1s = await measureRepeated(10, budget / 2, () => peer.readSample(densest, 1))
  const sample1m = await measureRepeated(10, budget / 2, () => peer.readSample(densest, 60))
  const replayMs = await measureRepeated(5, budget / 2, async () => {
    const rows = await peer.replay(densest)
    if (rows !== plan.densest.count) throw new Error(`${engine.name} replayed ${rows} rows`)
  })
  const rss = rssMb()
  const text100 = await measureReads(plan.pages100, budget, (page) => peer.readTextPage(page))
  const text1000 = await measureReads(plan.pages1000, budget, (page) => peer.readTextPage(page))

  const rows = firstRows(job)
  const append = await measureAppend(peer, interleaved(rows), job.appendBudgetMs)
  const appendWide = await measureAppend(peer, manyInstruments(rows), job.appendBudgetMs)
  await peer.close()

  return {
    name: engine.name,
    observations,
    bytes_per_observation: rounded(built.bytes / observations),
    page_100_ms: rounded(page100.medianMs),
    page_100_p99_ms: rounded(page100.p99Ms),
    page_100_bytes: Math.round(page100.bytes),
    page_1000_ms: rounded(page1000.medianMs),
    page_1000_p99_ms: rounded(page1000.p99Ms),
    page_100_no_ladder_ms: rounded(bare.medianMs),
    page_100_no_ladder_p99_ms: rounded(bare.p99Ms),
    as_of_ms: rounded(asOf.medianMs),
    as_of_p99_ms: rounded(asOf.p99Ms),
    latest_ms: rounded(latest.medianMs),
    latest_p99_ms: rounded(latest.p99Ms),
    sample_1s_ms: rounded(sample1s),
    sample_1m_ms: rounded(sample1m),
    append_per_s: Math.round(append),
    append_1000_per_s: Math.round(appendWide),
    replay_per_s: Math.round(plan.densest.count / (replayMs / 1000)),
    import_s: rounded(built.importSeconds),
    import_engine_s: rounded(built.importEngineSeconds),
    rss_mb: rounded(rss),
    pages_measured: page100.measured,
    pages_1000_measured: page1000.measured,
    text_variant: {
      bytes_per_observation: rounded(built.textBytes / observations),
      page_100_ms: rounded(text100.medianMs),
      page_100_p99_ms: rounded(text100.p99Ms),
      page_100_bytes: Math.round(text100.bytes),
      page_1000_ms: rounded(text1000.medianMs),
      page_1000_p99_ms: rounded(text1000.p99Ms),
    },
    // Other work on the machine raises every time here, so a report has to show it.
    load_average: [loadBefore, loadavg()[0] ?? 0].map(rounded),
    rows_checked: built.expected.length,
    notes: engine.notes,
  }
}

/** A fast engine that gives other rows would be no comparison. */
async function checkRows(
  engine: PeerEngine,
  peer: Peer,
  expected: readonly ExpectedRow[],
): Promise<void> {
  for (const { ticker, sequence, text } of expected) {
    const page = { ticker, from: sequence, rows: 1 }
    for (const read of [await peer.readPage(page, 'full'), await peer.readTextPage(page)]) {
      const given = Buffer.from(read).toString().trim()
      if (given !== text) {
        throw new Error(`${engine.name}, ${ticker} ${sequence}:\n${given}\ninstead of\n${text}`)
      }
    }
  }
}

/** Every observation of a market is counted in just one bucket. */
async function checkSample(engine: PeerEngine, peer: Peer, market: PlanMarket): Promise<void> {
  const text = Buffer.from(await peer.readSample(market.ticker, 1)).toString()
  const changes = text
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { readonly changes: number }).changes)
    .reduce((sum, count) => sum + count, 0)
  if (changes !== market.count) throw new Error(`${engine.name} sampled ${changes} changes`)
}

/** Rows a second, with one sync a batch as far as the engine has one. */
async function measureAppend(
  peer: Peer,
  batches: Iterable<readonly FoldedObservation[]>,
  budgetMs: number,
): Promise<number> {
  let rows = 0
  let spentMs = 0
  for (const batch of batches) {
    const append = peer.prepareAppend(batch)
    const start = performance.now()
    await append()
    spentMs += performance.now() - start
    rows += batch.length
    if (spentMs > budgetMs) break
  }
  return rows / (spentMs / 1000)
}

/** The first 5,000 observations of every market, enough for 300 batches of 100. */
function firstRows(job: PeerJob): readonly (readonly FoldedObservation[])[] {
  return findRecordings(job.recordings).map((recorded) =>
    readObservations(recorded).take(5000).toArray(),
  )
}

/** Batches of 100 in which the markets take turns. */
function* interleaved(
  markets: readonly (readonly FoldedObservation[])[],
): Generator<readonly FoldedObservation[]> {
  let batch: FoldedObservation[] = []
  const longest = Math.max(...markets.map((rows) => rows.length))
  for (let index = 0; index < longest; index++) {
    for (const rows of markets) {
      const row = rows[index]
      if (row === undefined) continue
      batch.push(row)
      if (batch.length < 100) continue
      yield batch
      batch = []
    }
  }
}

/** Batches with one observation of each of 1,000 instruments, which follow recorded markets. */
function* manyInstruments(
  markets: readonly (readonly FoldedObservation[])[],
): Generator<readonly FoldedObservation[]> {
  for (let sequence = 1; sequence <= 100; sequence++) {
    yield Array.from({ length: 1000 }, (_, instrument) => {
      const rows = markets[instrument % markets.length]!
      const row = rows[(instrument + sequence) % rows.length]!
      return { ...row, ticker: `${row.ticker}-${instrument}`, sequence }
    })
  }
}
