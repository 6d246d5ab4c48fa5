import { execFile, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { writeBacktestFiles } from './lib/backtest-files.ts'
import type { BacktestJob, BacktestTimes } from './lib/backtest-child.ts'
import { rounded } from './lib/measure.ts'
import { withScratch } from './lib/scratch.ts'
import { prepareTape } from './lib/tape.ts'
import { measureHftbacktest, type HftbacktestTimes } from './peers/hftbacktest.ts'

const CHILD = fileURLToPath(new URL('./lib/backtest-child.ts', import.meta.url))
const COPIES = 8
const ROUNDS = 3

/**
 * Backtests over tape files of the recorded markets of venue B and copies of them on later days: files
 * to report on one core, each run in a process of its own. The active strategy quotes both sides behind
 * the best price, replaces its quotes when it moves, and takes now and then.
 */
export function benchBacktest(): Promise<Record<string, unknown>> {
  return withScratch(async (folder) => {
    const { folder: recordings, source } = prepareTape(folder, 7)
    const { files, observations, trades } = writeBacktestFiles(
      recordings,
      join(folder, 'tape'),
      COPIES,
    )
    const rates = (kind: BacktestJob['kind'], cells = 1, rounds = ROUNDS): BacktestTimes[] =>
      Array.from({ length: rounds }, () => run({ files, kind, cells }))
    const best = (times: readonly BacktestTimes[]): BacktestTimes =>
      times.reduce((left, right) => (left.cpuSeconds <= right.cpuSeconds ? left : right))
    const asDefault = best(rates('default'))
    const idle = best(rates('idle'))
    const active = best(rates('active'))
    const quote = best(rates('quote'))
    const swept = best(rates('active', 36, 1))
    const shared = await sweepOverWorkers(files)
    if (shared.hash !== swept.hash) throw new Error('a sweep over workers gave other reports')
    const originals = files.filter((_, index) => index % COPIES === 0)
    const peer = await measureHftbacktest(originals, join(folder, 'hftbacktest'), COPIES)
    const perCpu = ({ cpuSeconds }: BacktestTimes): number => Math.round(observations / cpuSeconds)
    return {
      source,
      observations,
      trades,
      orders: active.orders,
      fills: active.fills,
      default_per_cpu_s: perCpu(asDefault),
      active_per_s: Math.round(observations / active.seconds),
      idle_per_s: Math.round(observations / idle.seconds),
      active_per_cpu_s: perCpu(active),
      idle_per_cpu_s: perCpu(idle),
      quote_per_s: Math.round((observations + trades) / quote.cpuSeconds),
      quote_orders: quote.orders,
      ...hftbacktestFigures(peer, observations + trades),
      first_event_ms: rounded(active.firstEventMs),
      rss_mb: rounded(Math.max(idle.rssMb, active.rssMb, swept.rssMb, asDefault.rssMb)),
      sweep_36_ratio: rounded(swept.cpuSeconds / active.cpuSeconds),
      sweep_36_per_separate: rounded(swept.cpuSeconds / active.cpuSeconds / 36),
      sweep_workers_ratio: rounded(shared.seconds / swept.seconds),
    }
  })
}

// In the unit of `quote_per_s`, with the faster of the two kinds of depth.
function hftbacktestFigures(times: HftbacktestTimes, events: number): Record<string, unknown> {
  if ('reason' in times) return { hftbacktest_per_s: null, hftbacktest_reason: times.reason }
  const { hashmap, roivector } = times
  const perSecond = (seconds: number): number => Math.round(events / seconds)
  return {
    hftbacktest_per_s: perSecond(Math.min(hashmap.cpu_seconds, roivector.cpu_seconds)),
    hftbacktest_hashmap_per_s: perSecond(hashmap.cpu_seconds),
    hftbacktest_roivector_per_s: perSecond(roivector.cpu_seconds),
    hftbacktest_orders: roivector.orders * COPIES,
  }
}

// The same sweep in as many processes as there are cores, each with every nth set of parameters.
async function sweepOverWorkers(
  files: readonly string[],
): Promise<{ readonly seconds: number; readonly hash: string }> {
  const workers = Math.max(2, availableParallelism())
  const begun = performance.now()
  const parts = await Promise.all(
    Array.from({ length: workers }, (_, part) =>
      start({ files, kind: 'active', cells: 36, part: { part, of: workers } }),
    ),
  )
  const seconds = (performance.now() - begun) / 1000
  const hashes = parts.map(({ hash }) => hash.split(' '))
  const hash = Array.from(
    { length: 36 },
    (_, cell) => hashes[cell % workers]![Math.floor(cell / workers)]!,
  ).join(' ')
  return { seconds, hash }
}

function start(job: BacktestJob): Promise<BacktestTimes> {
  return new Promise((settle, reject) => {
    execFile(process.execPath, argumentsOf(job), { maxBuffer: 1 << 24 }, (error, stdout) => {
      if (error === null) settle(timesOf(stdout))
      else reject(error)
    })
  })
}

function run(job: BacktestJob): BacktestTimes {
  const { status, stdout, stderr } = spawnSync(process.execPath, argumentsOf(job), {
    encoding: 'utf8',
    maxBuffer: 1 << 24,
  })
  if (status !== 0) throw new Error(`the run failed: ${stderr}`)
  return timesOf(stdout)
}

function argumentsOf(job: BacktestJob): string[] {
  return ['--max-semi-space-size=16', CHILD, JSON.stringify(job)]
}

function timesOf(stdout: string): BacktestTimes {
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as BacktestTimes
}
