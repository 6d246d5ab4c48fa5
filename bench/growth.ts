import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createBookRenderer } from '@priorbook/sdk/wire'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import { measureReads, rounded, type ReadTimes } from './lib/measure.ts'
import { planSeed } from './lib/plan.ts'
import { withScratch } from './lib/scratch.ts'
import { COLD_CACHE_BYTES, planStore } from './lib/store-plan.ts'
import { prepareTape } from './lib/tape.ts'

const SMALL = 1_000_000
const LARGE = Number(process.env['PRIORBOOK_GROWTH'] ?? 50_000_000)
const BUDGET_MS = 20_000

/**
 * `npm run bench -- growth`: the same reads on stores of 1 M and 50 M observations, and the time to
 * open a store whose writer was killed. PRIORBOOK_GROWTH changes the larger number.
 */
export async function benchGrowth(): Promise<Record<string, number>> {
  return withScratch(async (folder) => {
    const { folder: recordings } = prepareTape(folder, planSeed)
    const small = await measure(folder, recordings, SMALL)
    const large = await measure(folder, recordings, LARGE)
    const ratio = (key: keyof Figures): number => rounded(large[key] / small[key])
    return {
      ...prefixed('small', small),
      ...prefixed('large', large),
      page_100_ratio: ratio('page_100_ms'),
      as_of_ratio: ratio('as_of_ms'),
      latest_ratio: ratio('latest_ms'),
    }
  })
}

type Figures = {
  readonly observations: number
  readonly instruments: number
  readonly append_per_s: number
  readonly writer_rss_mb: number
  readonly file_mb: number
  readonly wal_mb: number
  readonly open_after_kill_ms: number
  readonly page_100_ms: number
  readonly as_of_ms: number
  readonly latest_ms: number
  readonly reader_rss_mb: number
}

async function measure(folder: string, recordings: string, total: number): Promise<Figures> {
  const file = join(folder, `growth-${total}.db`)
  const built = await build(file, recordings, total)
  const wal = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  const start = performance.now()
  const writer = openEmbeddedStore({ file })
  const opened = performance.now() - start
  await writer.close()

  // Without chunks in memory: more of the small store would fit there, which says nothing of growth.
  const store = openEmbeddedStore({ file, readOnly: true, cacheBytes: COLD_CACHE_BYTES })
  const facts = await store.instruments()
  const plan = await planStore(store)
  const renderer = createBookRenderer()
  const full = { ladders: true }
  const page = (): Promise<ReadTimes> =>
    measureReads(plan.pages100, BUDGET_MS, async ({ ticker: key, from, rows }) => {
      const query = { venue: 'venueb', key, order: 'asc', after: from - 1, limit: rows } as const
      const { runs } = await store.books(query)
      return renderer.renderJsonRows(runs, { venue: 'venueb', key, marketId: key }, full)
    })
  const asOf = (): Promise<ReadTimes> =>
    measureReads(plan.points, BUDGET_MS, async ({ ticker: key, atMicros: at }) => {
      const { run } = await store.asOf({ venue: 'venueb', key, at })
      const runs = run === undefined ? [] : [run]
      return renderer.renderJsonRows(runs, { venue: 'venueb', key, marketId: key }, full)
    })
  const latest = (): Promise<ReadTimes> =>
    measureReads(plan.points, BUDGET_MS, async ({ ticker: key }) => {
      const run = await store.latest({ venue: 'venueb', key })
      return renderer.renderJsonRows([run!], { venue: 'venueb', key, marketId: key }, full)
    })
  // Warm: the first round fills directories and caches, the second is measured.
  await page()
  const pages = await page()
  await asOf()
  const points = await asOf()
  await latest()
  const newest = await latest()
  await store.close()
  return {
    observations: facts.reduce((sum, { lastSequence }) => sum + lastSequence, 0),
    instruments: facts.length,
    append_per_s: built.perSecond,
    writer_rss_mb: built.rssMb,
    file_mb: rounded(statSync(file).size / 1e6),
    wal_mb: rounded(wal / 1e6),
    open_after_kill_ms: rounded(opened),
    page_100_ms: rounded(pages.medianMs),
    as_of_ms: rounded(points.medianMs),
    latest_ms: rounded(newest.medianMs),
    reader_rss_mb: rounded(process.memoryUsage.rss() / 1e6),
  }
}

// A process of its own fills the store and is killed when the last batch is acknowledged.
async function build(
  file: string,
  recordings: string,
  total: number,
): Promise<{ perSecond: number; rssMb: number }> {
  const script = fileURLToPath(new URL('growth-child.ts', import.meta.url))
  const child = spawn(
    process.execPath,
    [...process.execArgv, script, file, recordings, String(total)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const ended = once(child, 'exit')
  for await (const line of createInterface(child.stdout)) {
    const report = JSON.parse(line) as { done: number; seconds: number; rssMb: number }
    if (report.done < total) continue
    child.kill('SIGKILL')
    await ended
    return { perSecond: rounded(report.done / report.seconds), rssMb: rounded(report.rssMb) }
  }
  throw new Error('the store could not be built')
}

function prefixed(prefix: string, figures: Figures): Record<string, number> {
  return Object.fromEntries(
    Object.entries(figures).map(([key, value]) => [`${prefix}_${key}`, value]),
  )
}
