import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { writeBacktestFiles } from './lib/backtest-files.ts'
import type { BacktestJob, BacktestTimes } from './lib/backtest-child.ts'
import { rounded } from './lib/measure.ts'
import { withScratch } from './lib/scratch.ts'
import { prepareTape } from './lib/tape.ts'

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
      times.reduce((left, right) => (left.seconds <= right.seconds ? left : right))
    const idle = best(rates('idle'))
    const active = best(rates('active'))
    const swept = best(rates('active', 36, 1))
    return {
      source,
      observations,
      trades,
      orders: active.orders,
      fills: active.fills,
      active_per_s: Math.round(observations / active.seconds),
      idle_per_s: Math.round(observations / idle.seconds),
      active_per_cpu_s: Math.round(observations / active.cpuSeconds),
      idle_per_cpu_s: Math.round(observations / idle.cpuSeconds),
      first_event_ms: rounded(active.firstEventMs),
      rss_mb: rounded(Math.max(idle.rssMb, active.rssMb, swept.rssMb)),
      sweep_36_ratio: rounded(swept.seconds / active.seconds),
      sweep_36_per_separate: rounded(swept.seconds / active.seconds / 36),
    }
  })
}

function run(job: BacktestJob): BacktestTimes {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--max-semi-space-size=16', CHILD, JSON.stringify(job)],
    { encoding: 'utf8', maxBuffer: 1 << 24 },
  )
  if (status !== 0) throw new Error(`the run failed: ${stderr}`)
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as BacktestTimes
}
