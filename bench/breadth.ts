import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { endInput, firstLine, startChild } from './lib/child.ts'
import { rounded } from './lib/measure.ts'
import { withScratch } from './lib/scratch.ts'

const EMULATOR = fileURLToPath(
  new URL('../packages/emulator/bin/priorbook-emulator.mjs', import.meta.url),
)
const CHILD = fileURLToPath(new URL('./breadth-child.ts', import.meta.url))
// As `serve --role capture` starts. The emulator makes as many short-lived objects.
const OPTIONS = ['--max-semi-space-size=64']
const B = Number(process.env['BENCH_VENUEB'] ?? 20_000)
const C = Number(process.env['BENCH_VENUEC'] ?? 10_000)
/** Changes of markets; some are more than one message, so that these make 15,000 to 16,000 messages. */
const PER_SECOND = Number(process.env['BENCH_PER_SECOND'] ?? 12_500)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 600)
const FAULTS = process.env['BENCH_FAULTS'] ?? 'none'
/** A book of most markets never changes, so all that are going to open have. */
const OPEN_SHARE = 0.99
const GIVE_UP_SECONDS = 300
/** The recorder tells the lag of up to two minutes: before that, messages of the start are among them. */
const LAG_SECONDS = 120

/** About a second of the recorder, more while it is busy: messages and processor time so far, books open and memory now, lag lately. */
export type BreadthSecond = {
  readonly messages: number
  readonly books: number
  readonly cpuSeconds: number
  readonly rssMb: number
  readonly lagP99Ms: number
  /** The states of the connectors, in words. */
  readonly details: readonly string[]
}

/**
 * Whole venues: all markets of B and C of the emulator's broad world, in a process of its own, recorded by one
 * process, or by one per venue (`BENCH_PROCESSES=venue`). The time until the books are open from an empty folder and
 * after a restart, then messages, lag, processor time and memory.
 */
export function benchBreadth(): Promise<Record<string, unknown>> {
  return withScratch(async (folder) => {
    const flags = ['--breadth', `venueb:${B},venuec:${C}`, '--breadth-rate', String(PER_SECOND)]
    const faults = ['--faults', FAULTS, '--venues', 'venueb,venuec']
    const args = ['--json', '--until-stdin-ends', ...flags, ...faults]
    const emulator = startChild(EMULATOR, args, OPTIONS)
    const addresses = await firstLine(emulator)
    const wanted = (B + 2 * C) * OPEN_SHARE
    const cold = await record(folder, addresses, wanted, SECONDS)
    const warm = await record(folder, addresses, wanted, 10)
    await endInput(emulator)
    const steady = cold.seconds.filter(({ elapsed }) => elapsed >= cold.openAt)
    const [first, last] = [steady[0], steady.at(-1)]
    if (first === undefined || last === undefined || first === last) {
      return { books_open: cold.seconds.at(-1)?.books ?? 0, cold_start_s: null }
    }
    const seconds = last.elapsed - first.elapsed
    const settled = steady.filter(({ elapsed }) => elapsed >= cold.openAt + LAG_SECONDS)
    const lags = (settled.length > 0 ? settled : steady).map(({ lagP99Ms }) => lagP99Ms)
    return {
      books_open: last.books,
      messages_per_s: Math.round((last.messages - first.messages) / seconds),
      lag_p99_ms: rounded(Math.max(...lags)),
      lag_median_p99_ms: rounded(medianOf(lags)),
      cores_used: rounded((last.cpuSeconds - first.cpuSeconds) / seconds),
      rss_mb: rounded(Math.max(...cold.seconds.map(({ rssMb }) => rssMb))),
      seconds,
      cold_start_s: cold.openAt,
      restart_s: warm.openAt,
    }
  })
}

async function record(
  folder: string,
  addresses: string,
  wanted: number,
  wantedSeconds: number,
): Promise<{ readonly seconds: (BreadthSecond & { elapsed: number })[]; openAt: number }> {
  const begun = performance.now()
  const child = startChild(CHILD, [folder, addresses], OPTIONS)
  const seconds: (BreadthSecond & { elapsed: number })[] = []
  let openAt: number | undefined
  for await (const line of createInterface({ input: child.stdout! })) {
    const elapsed = Math.round((performance.now() - begun) / 1000)
    const second = { ...(JSON.parse(line) as BreadthSecond), elapsed }
    seconds.push(second)
    if (openAt === undefined && second.books >= wanted) openAt = elapsed
    if (seconds.length % 10 === 0) console.error(`${elapsed} s: ${JSON.stringify(second)}`)
    if (openAt === undefined ? elapsed > GIVE_UP_SECONDS : elapsed > openAt + wantedSeconds) break
  }
  await endInput(child)
  return { seconds, openAt: openAt ?? Infinity }
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
}
