import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { endInput, firstLine, startChild } from './lib/child.ts'
import { rounded } from './lib/measure.ts'
import { withScratch } from './lib/scratch.ts'

const EMULATOR = fileURLToPath(
  new URL('../packages/emulator/bin/priorbook-emulator.mjs', import.meta.url),
)
const CHILD = fileURLToPath(new URL('./capture-child.ts', import.meta.url))
// As `serve --role capture` starts.
const OPTIONS = ['--max-semi-space-size=64']
const MARKETS = 50
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 60)
const WARM_UP_SECONDS = 8
// About what one core records, with the emulator on the other one.
const PER_SECOND = Number(process.env['BENCH_PER_SECOND'] ?? 80_000)
const LIMIT_PER_SECOND = 120_000

/** One second of a child: messages and processor time so far, memory now, lag lately. */
export type CaptureSecond = {
  readonly messages: number
  readonly cpuSeconds: number
  readonly rssMb: number
  readonly lagP99Ms: number
  readonly lagMaxMs: number
  /** Messages of finished journal files that were packed so far. */
  readonly archived: number
}

/** What a child does with the socket: record, record while finished files are packed, or only read. */
export type CaptureMode = 'recorder' | 'archiving' | 'bare'

/**
 * Capture of venue B over real sockets: the emulator floods in a process of its own, one recorder
 * process (a single thread) writes journal and tape, both synced. Then once more while the packer of the service packs
 * the journal beside it. Beside both the bare limit: the same socket read and parsed as JSON and nothing else, as messages
 * per second of processor time.
 */
export function benchCapture(): Promise<Record<string, unknown>> {
  return withScratch(async (folder) => {
    const recorded = summarize(await flood(PER_SECOND, 'recorder', folder))
    const archiving = summarize(await flood(PER_SECOND, 'archiving', folder))
    const bare = summarize(await flood(LIMIT_PER_SECOND, 'bare', folder))
    const limit = bare.messages / bare.cpu
    return {
      asked_per_s: PER_SECOND,
      seconds: recorded.seconds,
      cores_used: rounded(recorded.cpu / recorded.seconds),
      messages_per_cpu_s: Math.round(recorded.messages / recorded.cpu),
      rss_growth_mb: rounded(recorded.rssGrowthMb),
      lag_max_ms: rounded(recorded.lagMaxMs),
      messages_per_s: Math.round(recorded.messages / recorded.seconds),
      lag_p99_ms: rounded(recorded.lagP99Ms),
      rss_mb: rounded(recorded.rssMb),
      archiving_messages_per_s: Math.round(archiving.messages / archiving.seconds),
      archiving_lag_p99_ms: rounded(archiving.lagP99Ms),
      archiving_lag_max_ms: rounded(archiving.lagMaxMs),
      archived_messages: archiving.archived,
      limit_per_s: Math.round(limit),
      limit_ratio: rounded(recorded.messages / recorded.seconds / limit),
    }
  })
}

// What happened between the first and the last second.
function summarize(all: readonly CaptureSecond[]) {
  const seconds = all.length - 1
  const [first, half, last] = [all[0]!, all[seconds >> 1]!, all[seconds]!]
  return {
    seconds,
    messages: last.messages - first.messages,
    cpu: last.cpuSeconds - first.cpuSeconds,
    rssMb: Math.max(...all.map(({ rssMb }) => rssMb)),
    rssGrowthMb: last.rssMb - half.rssMb,
    lagP99Ms: last.lagP99Ms,
    lagMaxMs: Math.max(...all.map(({ lagMaxMs }) => lagMaxMs)),
    archived: last.archived - first.archived,
  }
}

async function flood(
  perSecond: number,
  mode: CaptureMode,
  folder: string,
): Promise<CaptureSecond[]> {
  const flags = [
    '--venues',
    'venueb',
    '--markets',
    String(MARKETS),
    '--flood',
    `venueb:${perSecond}`,
  ]
  const emulator = startChild(EMULATOR, ['--json', '--until-stdin-ends', ...flags])
  const addresses = await firstLine(emulator)
  const child = startChild(CHILD, [mode, join(folder, mode), addresses], OPTIONS)
  const seconds: CaptureSecond[] = []
  for await (const line of createInterface({ input: child.stdout! })) {
    seconds.push(JSON.parse(line) as CaptureSecond)
    const wanted = mode === 'bare' ? 15 : SECONDS
    if (seconds.length > WARM_UP_SECONDS + wanted) break
  }
  await endInput(child)
  await endInput(emulator)
  return seconds.slice(WARM_UP_SECONDS)
}
