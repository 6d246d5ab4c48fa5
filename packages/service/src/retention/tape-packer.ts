import { DAY_MICROS } from '@priorbook/sdk/domain'
import { Pace } from '../lib/pace.ts'
import type { EmbeddedStore, MadePack } from '../store/embedded/open.ts'

/** What a pass over the tape packed. */
export type TapePackReport = {
  packs: number
  chunks: number
  rows: number
  /** Bytes of the packs. */
  bytes: number
}

/** What to pack, and how much of the time. */
export type TapePackOrder = {
  /** Only chunks whose rows are all older. */
  readonly before: number
  /** Of the time, the share in which this process works. 1 by default. */
  readonly share?: number
  readonly signal?: AbortSignal
}

/**
 * Packs old chunks of a tape. `reader` may be another process than the writer of the tape: it does the work, and
 * `replace` gives a finished pack to the writer, which proves it once more.
 */
export async function packTape(
  reader: Pick<EmbeddedStore, 'planPacks' | 'makePacks'>,
  replace: (made: MadePack) => Promise<boolean>,
  order: TapePackOrder,
): Promise<TapePackReport> {
  const report: TapePackReport = { packs: 0, chunks: 0, rows: 0, bytes: 0 }
  const pace = new Pace(order)
  for (let after: number | undefined = 0; after !== undefined;) {
    const { groups, next } = await reader.planPacks(order.before, after)
    await pace.step()
    for (const group of groups) {
      for (const made of await reader.makePacks(group)) {
        if (!(await replace(made))) continue
        report.packs++
        report.chunks += made.places.length
        report.rows += made.places.reduce((sum, { count }) => sum + count, 0)
        report.bytes += made.bytes.length
      }
      await pace.step()
    }
    after = next
  }
  return report
}

/** The start of the day that was running so long ago: a day is packed when all of it is old enough. */
export function packBoundary(now: number, ageMicros: number): number {
  return Math.floor((now - ageMicros) / DAY_MICROS) * DAY_MICROS
}
