import { join } from 'node:path'
import {
  parsePrice,
  parseSize,
  VENUES,
  type Gap,
  type Instrument,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { onTestFinished } from 'vitest'
import {
  CLOSES,
  OPENS,
  roundOfA,
  roundOfB,
  roundOfC,
} from '../../../../sdk/src/domain/contracts/records.testing.ts'
import { openEmbeddedStore } from '../../store/embedded/open.ts'
import { createTempFolder } from '../../store/embedded/temp-folder.testing.ts'
import { VENUE_KEY } from '../../rows/index.ts'
import type { AppendBatch, Store } from '../../store/store.ts'

export { CLOSES, OPENS, roundOfA, roundOfB, roundOfC }

/** The contract of the three rounds. */
export const ROUND_ID = 'btc-15m-up-down-20261117T174500Z'

/** A time in seconds after the round began. */
export function after(seconds: number): Micros {
  return (OPENS + Math.round(seconds * 1_000_000)) as Micros
}

// Levels of one side, best first.
type Side = readonly (readonly [price: string, size: string])[]

/** A book of a venue at a time in seconds after the round began. */
export type ScriptedBook = {
  readonly seconds: number
  readonly bids: Side
  readonly asks: Side
  /** The time of the venue; a millisecond before by default, null for none. */
  readonly source?: number | null
}

/** What is recorded of one market. */
export type ScriptedMarket = {
  readonly record: MarketRecord
  readonly books?: readonly ScriptedBook[]
  /** Spans in seconds in which its book was not observed. */
  readonly gaps?: readonly { readonly from: number; readonly to?: number }[]
}

/** The three rounds with few books; that of venue B has a gap from second 30 to second 40. */
export const THREE_ROUNDS: readonly ScriptedMarket[] = [
  {
    record: roundOfA(),
    books: [
      {
        seconds: 1,
        bids: [
          ['0.48', '10.5'],
          ['0.47', '20'],
        ],
        asks: [
          ['0.52', '5'],
          ['0.55', '100'],
        ],
      },
    ],
  },
  {
    record: roundOfB(),
    books: [
      { seconds: 10, bids: [['0.40', '10']], asks: [['0.45', '20']] },
      { seconds: 30, bids: [['0.40', '9']], asks: [['0.45', '20']] },
      {
        seconds: 40,
        bids: [['0.41', '10']],
        asks: [
          ['0.44', '1'],
          ['0.45', '2'],
          ['0.46', '3.33'],
        ],
      },
    ],
    gaps: [{ from: 30, to: 40 }],
  },
  {
    record: roundOfC(),
    books: [
      { seconds: 5, bids: [['0.5', '100']], asks: [['0.6', '50.123456']] },
      { seconds: 60, bids: [['0.4', '100']], asks: [['0.6', '50.123456']] },
    ],
  },
]

/** A store with these markets; closed with the test. */
export async function createContractStore(
  markets: readonly ScriptedMarket[] = THREE_ROUNDS,
): Promise<Store> {
  const store = openEmbeddedStore({ file: join(createTempFolder(), 'tape.db') })
  onTestFinished(() => store.close())
  for (const venue of new Set(markets.map(({ record }) => record.venue))) {
    const own = markets.filter(({ record }) => record.venue === venue)
    await store.append({
      venue,
      position: 1_000_000,
      origin: 'emulator',
      recorder: 'r1',
      normalizer: 1,
      revisions: own.map(({ record }, index) => ({
        kind: 'market',
        record,
        received: after(-600),
        journal: index + 1,
      })),
      observations: own.flatMap(toObservations),
      gaps: own.flatMap(toGaps),
      facts: { [`capture_started:${venue}`]: after(-3600) },
    })
  }
  return store
}

/** Goes on in a store with rows, trades and gaps of one market, one commit each. */
export class MarketWriter {
  readonly instrument: Instrument
  readonly #store: Store
  readonly #assembler: BookAssembler
  #journal: number
  #trades = 0

  /** `journal` is the last record of the journal that the store knows. */
  constructor(store: Store, record: MarketRecord, journal = 2_000_000) {
    this.#journal = journal
    const { venue, marketId: market } = record
    this.instrument = { venue, market, key: keyOf(record) }
    this.#store = store
    this.#assembler = new BookAssembler(this.instrument)
  }

  /** Appends the record of the market. */
  async record(record: MarketRecord, seconds: number): Promise<void> {
    const at = this.#next(seconds)
    await this.#append({ revisions: [{ kind: 'market', record, ...at }] })
  }

  async book(seconds: number, bids: Side, asks: Side): Promise<void> {
    const { venue } = this.instrument
    const taken = this.#assembler.take({
      kind: 'snapshot',
      instrument: this.instrument,
      bids: toLevels(venue, bids),
      asks: toLevels(venue, asks),
      ...this.#next(seconds),
    })
    if (!('received' in taken)) throw new Error(taken.detail)
    await this.#append({ observations: [taken] })
  }

  async trade(seconds: number, price: string, size: string): Promise<void> {
    const { priceDecimals, sizeDecimals } = VENUES[this.instrument.venue]
    const trade = {
      kind: 'trade',
      instrument: this.instrument,
      tradeId: `t${++this.#trades}`,
      price: parsePrice(price, priceDecimals),
      size: parseSize(size, sizeDecimals),
      taker: 'buy',
    } as const
    await this.#append({ trades: [{ ...trade, ...this.#next(seconds) }] })
  }

  /** Appends a gap of the book, or of the whole venue. */
  async gap(
    scope: 'instrument' | 'venue',
    from: number,
    to: number | undefined,
    afterSequence: number,
  ): Promise<void> {
    const { venue, key } = this.instrument
    const { journal } = this.#next(from)
    const gap: Gap = {
      venue,
      scope,
      key: scope === 'venue' ? VENUE_KEY : key,
      reason: 'disconnected',
      start: after(from),
      ...(to === undefined ? {} : { end: after(to) }),
      afterSequence,
      journal,
    }
    await this.#append({ gaps: [gap] })
  }

  #next(seconds: number): { readonly received: Micros; readonly journal: number } {
    return { received: after(seconds), journal: ++this.#journal }
  }

  async #append(rows: Partial<AppendBatch>): Promise<void> {
    const { venue } = this.instrument
    const made = { origin: 'emulator', recorder: 'r1', normalizer: 1 } as const
    await this.#store.append({ venue, position: this.#journal, ...made, ...rows })
  }
}

// The key of the book of the first outcome.
function keyOf({ venue, marketId, outcomes }: MarketRecord): string {
  return VENUES[venue].booksPer === 'token' ? outcomes[0]!.tokenId! : marketId
}

function toObservations({ record, books = [], gaps = [] }: ScriptedMarket): Observation[] {
  const { venue, marketId: market } = record
  const assembler = new BookAssembler({ venue, market, key: keyOf(record) })
  return books.map(({ seconds, bids, asks, source = seconds - 0.001 }, index) => {
    if (gaps.some(({ to }) => to === seconds)) {
      assembler.close()
      assembler.markGap()
    }
    const taken = assembler.take({
      kind: 'snapshot',
      instrument: assembler.instrument,
      bids: toLevels(venue, bids),
      asks: toLevels(venue, asks),
      received: after(seconds),
      ...(source === null ? {} : { source: after(source) }),
      journal: 100 + index,
    })
    if (!('received' in taken)) throw new Error(taken.detail)
    return taken
  })
}

function toLevels(venue: VenueId, side: Side) {
  const { priceDecimals, sizeDecimals } = VENUES[venue]
  return side.map(([price, size]) => ({
    price: parsePrice(price, priceDecimals),
    size: parseSize(size, sizeDecimals),
  }))
}

function toGaps({ record, books = [], gaps = [] }: ScriptedMarket): Gap[] {
  return gaps.map(({ from, to }) => ({
    venue: record.venue,
    scope: 'instrument',
    key: keyOf(record),
    reason: 'disconnected',
    start: after(from),
    ...(to === undefined ? {} : { end: after(to) }),
    afterSequence: books.filter(({ seconds }) => seconds <= from).length,
    journal: 500,
  }))
}
