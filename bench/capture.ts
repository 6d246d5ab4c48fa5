import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { endInput, firstLine, startChild } from './lib/child.ts'
import { rounded } from './lib/measure.ts'
import { withScratch } from './lib/scratch.ts'

const EMULATOR = fileURLToPath(
  new URL('../packages/emulator/bin/priorbook-emulator.mjs', import.meta.url),
)
const CHILD = fileURLToPath(new URL('./capture-child.ts', import.meta.url))
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
}

/**
 * Capture of venue B over real sockets: the emulator floods in a process of its own, one recorder
 * process (a single thread) writes journal and tape, both synced. Beside it the bare limit: the same
 * socket read and parsed as JSON and nothing else, as messages per second of processor time.
 */
export function benchCapture(): Promise<Record<string, unknown>> {
  return withScratch(async (folder) => {
    const recorded = await flood(PER_SECOND, 'recorder', folder)
    const bare = await flood(LIMIT_PER_SECOND, 'bare', folder)
    const seconds = recorded.length - 1
    const first = recorded[0]!
    const half = recorded[seconds >> 1]!
    const last = recorded[seconds]!
    const cpu = last.cpuSeconds - first.cpuSeconds
    const messages = last.messages - first.messages
    const bareCpu = bare.at(-1)!.cpuSeconds - bare[0]!.cpuSeconds
    const limit = (bare.at(-1)!.messages - bare[0]!.messages) / bareCpu
    return {
      asked_per_s: PER_SECOND,
      seconds,
      cores_used: rounded(cpu / seconds),
      messages_per_cpu_s: Math.round(messages / cpu),
      rss_growth_mb: rounded(last.rssMb - half.rssMb),
      lag_max_ms: rounded(Math.max(...recorded.map(({ lagMaxMs }) => lagMaxMs))),
      messages_per_s: Math.round(messages / seconds),
      lag_p99_ms: rounded(last.lagP99Ms),
      rss_mb: rounded(Math.max(...recorded.map(({ rssMb }) => rssMb))),
      limit_per_s: Math.round(limit),
      limit_ratio: rounded(messages / seconds / limit),
    }
  })
}

async function flood(
  perSecond: number,
  mode: 'recorder' | 'bare',
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
  const child = startChild(CHILD, [mode, folder, addresses])
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
