import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  FLAGS,
  VENUES,
  type BookChange,
  type BookSnapshot,
  type Gap,
  type MarketRecord,
  type Micros,
  type TapeEvent,
} from '../../packages/sdk/src/domain/index.ts'
import { ContainerMaker } from '../../packages/sdk/src/replay/container.testing.ts'
import {
  ABSENT,
  BookAssembler,
  BookColumns,
  BookEncoder,
  encodeTrades,
  NO_HASH,
  TAKERS,
  TradeColumns,
} from '../../packages/sdk/src/tape/index.ts'
import { createNodePlatform } from '../../packages/sdk/src/tape/platform-node.ts'
import { normalizeVenueB } from '../../packages/service/src/venues/venueb/index.ts'
import { findRecordings, readLines, type RecordedTicker } from './recordings.ts'

const CHUNK_ROWS = 1024
// A hole this long in the densest market is its recorded disconnect; the others' quiet spans are none.
const HOLE = 5_000_000
const DAY = 86_400_000_000

/** What was written. */
export type BacktestFiles = {
  readonly files: readonly string[]
  readonly observations: number
  readonly trades: number
}

/**
 * Writes the recorded markets of venue B as `tape` containers, and copies of them on later days under
 * other names, so that a run can be as long as wanted. `isWanted` may leave markets out.
 */
export function writeBacktestFiles(
  recordings: string,
  folder: string,
  copies: number,
  isWanted: (ticker: string) => boolean = () => true,
): BacktestFiles {
  mkdirSync(folder, { recursive: true })
  const files: string[] = []
  let observations = 0
  let trades = 0
  for (const recorded of findRecordings(recordings)) {
    if (!isWanted(recorded.ticker)) continue
    const market = foldMarket(recorded)
    for (let copy = 0; copy < copies; copy++) {
      const name = copy === 0 ? recorded.ticker : `${recorded.ticker}-C${copy}`
      const file = join(folder, `${name}.tape`)
      writeFileSync(file, container(market, name, copy * DAY))
      files.push(file)
      observations += market.books.count
      trades += market.trades.count
    }
  }
  return { files, observations, trades }
}

type Folded = {
  readonly books: BookColumns
  readonly trades: TradeColumns
  readonly gaps: readonly { readonly start: number; readonly end: number; readonly after: number }[]
}

function foldMarket(recorded: RecordedTicker): Folded {
  const instrument = { venue: 'venueb', market: recorded.ticker, key: recorded.ticker } as const
  const assembler = new BookAssembler(instrument)
  const books = new BookColumns(2, 4096)
  const trades = new TradeColumns()
  const gaps: { start: number; end: number; after: number }[] = []
  for (const line of readLines(recorded)) {
    const { recv_ms: ms, event } = JSON.parse(line) as { recv_ms: number; event: unknown }
    const at = { received: (ms * 1000) as Micros, journal: 1 }
    for (const each of normalizeVenueB(event, at)) {
      if (isBook(each)) {
        const last = books.count === 0 ? undefined : books.received[books.count - 1]!
        if (each.kind === 'snapshot' && last !== undefined && at.received - last < HOLE) {
          // A new connection: the book before it is not trusted.
          if (each.bids.length + each.asks.length > 0) {
            gaps.push({ start: last, end: at.received, after: books.count })
            assembler.close()
          }
        }
        if (each.kind === 'change' && !assembler.open) continue
        const row = assembler.take(each, ABSENT)
        if ('violation' in row) continue
        if (row.priceDecimals !== books.priceDecimals) books.rescale(row.priceDecimals)
        books.push({ ...row, venueSeq: ABSENT, channel: ABSENT }, row.keys, row.sizes)
      } else if (each.kind === 'trade') {
        const head = { source: ABSENT, venueSeq: ABSENT, channel: ABSENT, journal: 1, flags: 0 }
        trades.push(
          { ...head, received: each.received },
          each.tradeId,
          each.price,
          each.size,
          TAKERS.indexOf(each.taker),
        )
      }
    }
  }
  return { books, trades, gaps }
}

function isBook(event: TapeEvent): event is BookSnapshot | BookChange {
  return event.kind === 'snapshot' || event.kind === 'change'
}

function container({ books, trades, gaps }: Folded, name: string, shift: number): Buffer {
  const platform = createNodePlatform()
  const encoder = new BookEncoder()
  const moved = books.received
  const first = moved[0]! + shift
  const last = moved[books.count - 1]! + shift
  const maker = new ContainerMaker(first - 1_000_000, last + 60_000_000)
  maker.market(recordOf(name, 'open'), first - 1_000_000)
  const identity = {
    venue: 'venueb',
    market: name,
    key: name,
    origin: 'import',
    recorder: 'r',
    normalizer: 1,
    previousHash: NO_HASH,
  } as const
  for (const { start, end, after } of gaps) {
    const gap: Gap = {
      venue: 'venueb',
      scope: 'instrument',
      key: name,
      reason: 'disconnected',
      start: (start + shift) as Micros,
      end: (end + shift) as Micros,
      afterSequence: after,
      journal: 1,
    }
    maker.gap(gap)
  }
  const cuts = [...gaps.map(({ after }) => after), books.count]
  const state = new Map<number, number>()
  let from = 0
  for (const cut of cuts) {
    while (from < cut) {
      const to = Math.min(cut, from + CHUNK_ROWS)
      const part = new BookColumns(books.priceDecimals, to - from)
      part.pushRows(books, from, to)
      for (let row = 0; row < part.count; row++) part.received[row]! += shift
      const base = { key: [...state.keys()].sort((a, b) => a - b), size: [] as number[] }
      base.size = base.key.map((key) => state.get(key)!)
      const facts = { ...identity, first: from + 1, changesBefore: books.changeStart(from) }
      maker.frame('C', encoder.encode(part, 0, part.count, base, facts, platform).bytes)
      for (let row = from; row < to; row++) {
        if ((books.flags[row]! & FLAGS.restart) !== 0) state.clear()
        for (let index = books.changeStart(row); index < books.changeEnd[row]!; index++) {
          if (books.size[index] === 0) state.delete(books.key[index]!)
          else state.set(books.key[index]!, books.size[index]!)
        }
      }
      from = to
    }
  }
  const prints = new TradeColumns()
  for (let row = 0; row < trades.count; row++) {
    const head = { source: ABSENT, venueSeq: ABSENT, channel: ABSENT, journal: 1, flags: 0 }
    const received = trades.received[row]! + shift
    const { tradeId, price, size, taker } = trades
    prints.push({ ...head, received }, tradeId[row]!, price[row]!, size[row]!, taker[row]!)
  }
  for (let row = 0; row < prints.count; row += CHUNK_ROWS) {
    const to = Math.min(prints.count, row + CHUNK_ROWS)
    maker.frame('C', encodeTrades(prints, row, to, { ...identity, first: row + 1 }, platform).bytes)
  }
  return maker.finish()
}

function recordOf(marketId: string, status: 'open'): MarketRecord {
  return {
    venue: 'venueb',
    marketId,
    status,
    eventTicker: marketId,
    outcomes: [
      { label: 'Yes', index: 0 },
      { label: 'No', index: 1 },
    ],
    units: VENUES.venueb.units,
    native: {
      market: { price_ranges: [{ start: '0.0000', end: '1.0000', step: '0.0100' }] },
      series: { fee_type: 'quadratic', fee_multiplier: 1 },
    },
  }
}
