import { decodeChunk, openChunk, type BookColumns } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { framesOf } from './forge-tape.ts'

/** Counts of one UTC day. */
export type Recount = Record<
  'observations' | 'sum_off' | 'complement_crossed' | 'locked' | 'off_tick',
  number
>

type Best = { readonly bid: number; readonly ask: number }
type Row = { readonly day: string; readonly best: Best; readonly isOffTick: boolean }

const RESTART = 64
const platform = createNodePlatform()

/**
 * Counts again from a downloaded tape file, with plain maps instead of ladders. Prices are in units of
 * 10^−6; `tick` is too.
 */
export function recountParity(file: Buffer, tick: number): Map<string, Recount> {
  const books = new Map<string, BookColumns[]>()
  for (const { kind, payload } of framesOf(file)) {
    if (kind !== 'C' && kind !== 'P') continue
    const chunk = openChunk(payload, platform)
    const rows = decodeChunk(chunk, platform)
    if (rows.kind !== 'book') continue
    const { key } = chunk.header
    books.set(key, [...(books.get(key) ?? []), rows.columns])
  }
  const days = new Map<string, Recount>()
  const messages = new Map<number, Map<string, Row>>()
  for (const [key, chunks] of books) {
    for (const [journal, row] of chunks.flatMap((columns) => rowsOf(columns, tick))) {
      const day = days.get(row.day) ?? noCounts()
      days.set(row.day, day)
      day.observations++
      if (row.isOffTick) day.off_tick++
      if (row.best.bid === row.best.ask) day.locked++
      messages.set(journal, (messages.get(journal) ?? new Map<string, Row>()).set(key, row))
    }
  }
  for (const rows of messages.values()) {
    const [yes, no] = [...rows.values()]
    if (yes === undefined || no === undefined) continue
    const day = days.get(yes.day)!
    const isMirror =
      yes.best.bid + no.best.ask === 1_000_000 && yes.best.ask + no.best.bid === 1_000_000
    if (!isMirror) day.sum_off++
    const isCrossed =
      yes.best.ask + no.best.ask < 1_000_000 || yes.best.bid + no.best.bid > 1_000_000
    if (isCrossed) day.complement_crossed++
  }
  return days
}

function rowsOf(columns: BookColumns, tick: number): [number, Row][] {
  const scale = 10 ** (6 - columns.priceDecimals)
  const bids = new Map<number, number>()
  const asks = new Map<number, number>()
  const set = (key: number, size: number): void => {
    const side = key % 2 === 0 ? bids : asks
    if (size === 0) side.delete((key >> 1) * scale)
    else side.set((key >> 1) * scale, size)
  }
  for (const [index, key] of [...columns.baseKey].entries()) set(key, columns.baseSize[index]!)
  return Array.from({ length: columns.count }, (_, row) => {
    if ((columns.flags[row]! & RESTART) !== 0) {
      bids.clear()
      asks.clear()
    }
    let isOffTick = false
    for (let at = columns.changeStart(row); at < columns.changeEnd[row]!; at++) {
      set(columns.key[at]!, columns.size[at]!)
      const price = (columns.key[at]! >> 1) * scale
      if (columns.size[at]! > 0 && price % tick !== 0) isOffTick = true
    }
    const best = { bid: Math.max(0, ...bids.keys()), ask: Math.min(1_000_000, ...asks.keys()) }
    const day = new Date(columns.received[row]! / 1000).toISOString().slice(0, 10)
    return [columns.journal[row]!, { day, best, isOffTick }]
  })
}

function noCounts(): Recount {
  return { observations: 0, sum_off: 0, complement_crossed: 0, locked: 0, off_tick: 0 }
}
