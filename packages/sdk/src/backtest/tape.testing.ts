import {
  FLAGS,
  POW10,
  VENUES,
  type Gap,
  type GapReason,
  type MarketRecord,
  type Micros,
  type PriceTicks,
  type SizeUnits,
  type VenueId,
} from '../domain/index.ts'
import type { ReplayBatch, ReplayEvent, ReplayInstrument } from '../replay/index.ts'
import { BookColumns, Ladder } from '../tape/index.ts'

/** Levels as (ten-thousandths, units). */
export type TestLevels = readonly (readonly [price: number, size: number])[]

type Raw =
  | {
      readonly kind: 'book'
      readonly at: number
      readonly own: TestInstrument
      readonly row: number
      readonly flags: number
      readonly sequence: number
    }
  | {
      readonly kind: 'trade'
      readonly at: number
      readonly own: TestInstrument
      readonly price: number
      readonly size: number
      readonly taker: 'buy' | 'sell' | undefined
      readonly sequence: number
    }
  | { readonly kind: 'market'; readonly at: number; readonly record: MarketRecord }
  | {
      readonly kind: 'gap'
      readonly at: number
      readonly edge: 'open' | 'close'
      readonly gap: Gap
    }

const ORDER = { market: 0, gapClose: 1, book: 2, trade: 3, sample: 4, gapOpen: 5 } as const

class TestInstrument {
  readonly instrument: ReplayInstrument
  readonly columns: BookColumns
  readonly book = new Map<number, number>()
  sequence = 0
  trades = 0
  /** Whether the next row restarts the book. */
  restarts = true

  constructor(instrument: ReplayInstrument) {
    this.instrument = instrument
    this.columns = new BookColumns(4)
  }
}

/** A tape in memory, written event by event. */
export class TestTape {
  private readonly raws: Raw[] = []
  private readonly instruments: TestInstrument[] = []

  /** Adds an instrument, or returns it where it is known. */
  instrument(venue: VenueId, marketId: string, key = marketId, outcome?: string): ReplayInstrument {
    const known = this.instruments.find(({ instrument }) => instrument.key === key)
    if (known !== undefined) return known.instrument
    const { priceDecimals, sizeDecimals } = VENUES[venue]
    const index = this.instruments.length
    const own = { venue, marketId, key, index, priceDecimals, sizeDecimals }
    const instrument = outcome === undefined ? own : { ...own, outcome }
    this.instruments.push(new TestInstrument(instrument))
    return instrument
  }

  market(at: number, record: MarketRecord): this {
    this.raws.push({ kind: 'market', at, record })
    return this
  }

  /** Adds a whole book; its row holds what differs from the last one. */
  book(at: number, { key }: ReplayInstrument, bids: TestLevels, asks: TestLevels, flags = 0): this {
    const own = this.own(key)
    const wanted = new Map<number, number>()
    for (const [price, size] of bids) wanted.set(price * 2, size)
    for (const [price, size] of asks) wanted.set(price * 2 + 1, size)
    const keys: number[] = []
    const sizes: number[] = []
    if (own.restarts) own.book.clear()
    for (const level of own.book.keys()) {
      if (wanted.has(level)) continue
      keys.push(level)
      sizes.push(0)
    }
    for (const [level, size] of wanted) {
      if (own.book.get(level) === size) continue
      keys.push(level)
      sizes.push(size)
    }
    return this.row(at, own, keys, sizes, flags)
  }

  /** Some levels change: (side, price, new size). */
  change(
    at: number,
    { key }: ReplayInstrument,
    changes: readonly (readonly [side: 'bid' | 'ask', price: number, size: number])[],
  ): this {
    const keys = changes.map(([side, price]) => price * 2 + (side === 'ask' ? 1 : 0))
    const sizes = changes.map(([, , size]) => size)
    return this.row(at, this.own(key), keys, sizes, 0)
  }

  /** The first row after a gap, which tells only what differs from the book before it. */
  heal(
    at: number,
    { key }: ReplayInstrument,
    changes: readonly (readonly [side: 'bid' | 'ask', price: number, size: number])[],
  ): this {
    const own = this.own(key)
    own.restarts = false
    const keys = changes.map(([side, price]) => price * 2 + (side === 'ask' ? 1 : 0))
    const sizes = changes.map(([, , size]) => size)
    return this.row(at, own, keys, sizes, FLAGS.after_gap)
  }

  trade(
    at: number,
    { key }: ReplayInstrument,
    price: number,
    size: number,
    taker: 'buy' | 'sell' | undefined,
  ): this {
    const own = this.own(key)
    this.raws.push({ kind: 'trade', at, own, price, size, taker, sequence: ++own.trades })
    return this
  }

  /** Adds a gap of one instrument, after which the book restarts. */
  gap(
    start: number,
    end: number | undefined,
    { key, venue }: ReplayInstrument,
    reason: GapReason = 'disconnected',
  ): this {
    const own = this.own(key)
    own.restarts = true
    const gap: Gap = {
      venue,
      scope: 'instrument',
      key,
      reason,
      start: start as Micros,
      ...(end === undefined ? {} : { end: end as Micros }),
      afterSequence: own.sequence,
      journal: 0,
    }
    this.raws.push({ kind: 'gap', at: start, edge: 'open', gap })
    if (end !== undefined) this.raws.push({ kind: 'gap', at: end, edge: 'close', gap })
    return this
  }

  /** Yields events in the order of a replay, in batches; objects are reused as in a replay. */
  *batches(size = 1000): Generator<ReplayBatch> {
    const events = this.events()
    for (;;) {
      let count = 0
      let isDone = false
      const batch = {
        *[Symbol.iterator](): Generator<ReplayEvent> {
          while (count < size) {
            const next = events.next()
            if (next.done === true) {
              isDone = true
              return
            }
            count++
            yield next.value
          }
        },
      }
      yield batch
      if (isDone) return
    }
  }

  private *events(): Generator<ReplayEvent> {
    const sorted = this.raws
      .map((raw, index) => ({ raw, index }))
      .sort(
        (left, right) =>
          left.raw.at - right.raw.at ||
          rank(left.raw) - rank(right.raw) ||
          left.index - right.index,
      )
    const ladders = new Map<TestInstrument, Ladder>()
    const book: Record<string, unknown> = { kind: 'book' }
    const trade: Record<string, unknown> = { kind: 'trade' }
    for (const { raw } of sorted) {
      switch (raw.kind) {
        case 'book': {
          const { own, row, flags } = raw
          const { columns, instrument } = own
          let ladder = ladders.get(own)
          if (ladder === undefined) {
            ladder = new Ladder(4)
            ladders.set(own, ladder)
          }
          if ((flags & FLAGS.restart) !== 0) ladder.clear()
          for (let index = columns.changeStart(row); index < columns.changeEnd[row]!; index++) {
            ladder.apply(columns.key[index]!, columns.size[index]!)
          }
          const { at, sequence } = raw
          Object.assign(book, { at, instrument, sequence, source: undefined, flags })
          Object.assign(book, { ladder, columns, row })
          yield book as unknown as ReplayEvent
          break
        }
        case 'trade': {
          const { at, own, price, size, taker, sequence } = raw
          Object.assign(trade, { at, instrument: own.instrument, sequence, source: undefined })
          Object.assign(trade, { flags: 0, tradeId: String(sequence), taker })
          Object.assign(trade, { price: price as PriceTicks, size: size as SizeUnits })
          yield trade as unknown as ReplayEvent
          break
        }
        case 'market':
          yield { kind: 'market', at: raw.at as Micros, record: raw.record }
          break
        case 'gap':
          yield { kind: 'gap', at: raw.at as Micros, edge: raw.edge, gap: raw.gap }
      }
    }
  }

  private row(
    at: number,
    own: TestInstrument,
    keys: readonly number[],
    sizes: readonly number[],
    flags: number,
  ): this {
    const bits = flags | (own.restarts ? FLAGS.restart | FLAGS.full_book : 0)
    own.restarts = false
    for (const [index, key] of keys.entries()) {
      if (sizes[index] === 0) own.book.delete(key)
      else own.book.set(key, sizes[index]!)
    }
    const head = { received: at, source: -1, venueSeq: -1, channel: -1, journal: 0, flags: bits }
    own.columns.push(head, keys, sizes)
    const row = own.columns.count - 1
    this.raws.push({ kind: 'book', at, own, row, flags: bits, sequence: ++own.sequence })
    return this
  }

  private own(key: string): TestInstrument {
    return this.instruments.find(({ instrument }) => instrument.key === key)!
  }
}

function rank(raw: Raw): number {
  if (raw.kind === 'gap') return raw.edge === 'close' ? ORDER.gapClose : ORDER.gapOpen
  return ORDER[raw.kind]
}

/** The start of test times, in August 2026. */
export const T0 = 1_786_000_000_000_000
/** A time in seconds after the start. */
export const sec = (seconds: number): number => T0 + Math.round(seconds * 1_000_000)

const B_UNITS = VENUES.venueb.units

/** A record of venue B with cent ticks and a series without maker fees. */
export function recordB(
  marketId: string,
  more: Partial<MarketRecord> = {},
  series: Record<string, string | number> = { fee_type: 'quadratic', fee_multiplier: 1 },
): MarketRecord {
  return {
    venue: 'venueb',
    marketId,
    eventTicker: marketId.split('-').slice(0, 2).join('-'),
    status: 'open',
    outcomes: [
      { label: 'Yes', index: 0 },
      { label: 'No', index: 1 },
    ],
    units: B_UNITS,
    native: {
      market: { price_ranges: [{ start: '0.0000', end: '1.0000', step: '0.0100' }] },
      series,
    },
    ...more,
  }
}

/** A record of venue C with two tokens and the crypto schedule of summer 2026. */
export function recordC(marketId: string, more: Partial<MarketRecord> = {}): MarketRecord {
  return {
    venue: 'venuec',
    marketId,
    eventId: `event-${marketId}`,
    status: 'open',
    outcomes: [
      { label: 'Up', index: 0, tokenId: `${marketId}-up` },
      { label: 'Down', index: 1, tokenId: `${marketId}-down` },
    ],
    units: VENUES.venuec.units,
    asset: 'BTC',
    native: {
      gamma: {
        orderPriceMinTickSize: 0.01,
        orderMinSize: 5,
        feesEnabled: true,
        feeSchedule: { rate: 0.07, exponent: 1, takerOnly: true, rebateRate: 0.2 },
      },
    },
    ...more,
  }
}

/** A record of venue A with cent ticks and 200 basis points. */
export function recordA(marketId: string, more: Partial<MarketRecord> = {}): MarketRecord {
  return {
    venue: 'venuea',
    marketId,
    topicId: `topic-${marketId}`,
    status: 'open',
    outcomes: [
      { label: 'Up', index: 0, tokenId: `${marketId}-up` },
      { label: 'Down', index: 1, tokenId: `${marketId}-down` },
    ],
    units: VENUES.venuea.units,
    asset: 'BTC',
    native: { topic: { feeRateBps: 200 }, market: { decimalPrecision: 2 } },
    ...more,
  }
}

/** One contract or share in units. */
export const unitOf = (venue: VenueId): number => POW10[VENUES[venue].sizeDecimals]!
