import { printScaled, VENUES, type VenueId } from '@priorbook/sdk/domain'
import { applyRow, Ladder, loadBase } from '@priorbook/sdk/tape'
import type { Store } from '../../packages/service/src/store/store.ts'

/** The newest stored book of an instrument, as text. */
export async function bookOf(store: Store, venue: VenueId, key: string): Promise<string> {
  const run = await store.latest({ venue, key })
  if (run === undefined) return ''
  const ladder = new Ladder()
  loadBase(ladder, run.columns)
  applyRow(ladder, run.columns, run.from)
  return ladderText(ladder, VENUES[venue].sizeDecimals)
}

/** A book as text, one level a line. */
export function ladderText(ladder: Ladder, sizeDecimals: number): string {
  const lines = ladder.keys().map((level) => {
    const side = (level & 1) === 0 ? 'bid' : 'ask'
    const price = Number(printScaled(level >> 1, ladder.decimals))
    return `${side} ${price} ${Number(printScaled(ladder.sizeAt(level), sizeDecimals))}`
  })
  return lines.sort().join('\n')
}
