import { createRandom } from '../../lib/random.testing.ts'
import {
  toMicros,
  VENUES,
  type BookChange,
  type BookSnapshot,
  type Gap,
  type Instrument,
  type Level,
  type MarketRevision,
  type PriceTicks,
  type Sample,
  type SizeUnits,
  type Trade,
  type VenueId,
} from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import type { AppendBatch, Quarantined } from '../store.ts'

/** The instruments that the generated batches are about, by venue. */
export const INSTRUMENTS = {
  venuea: [{ venue: 'venuea', market: '812', key: '812' }],
  venueb: [
    { venue: 'venueb', market: 'KXALPHA-26', key: 'KXALPHA-26' },
    { venue: 'venueb', market: 'KXBETA-26', key: 'KXBETA-26' },
  ],
  venuec: [
    { venue: 'venuec', market: '0xfeed', key: '7001' },
    { venue: 'venuec', market: '0xfeed', key: '7002' },
  ],
} as const satisfies Readonly<Partial<Record<VenueId, readonly Instrument[]>>>

/** The metrics of the generated samples. */
const METRICS = ['chance', 'price'] as const

/** The received time before the first generated row; batch `n` lies in the n-th second after it. */
export const START = 1_786_410_000_000_000

/** The last journal record of a batch; batches of all venues share one numbering. */
export function positionOf(batch: number): number {
  return batch * 1000 + 999
}

/** The batch that ends at a journal record, 0 for none. */
export function batchAt(position: number): number {
  return position === 0 ? 0 : (position - 999) / 1000
}

/** The venue of a batch. */
export function venueOf(batch: number): keyof typeof INSTRUMENTS {
  return (['venueb', 'venuec', 'venuea'] as const)[batch % 3]!
}

// Books restart here, so that a writer can continue anywhere without generating everything again.
const BLOCK = 240

/**
 * Batches that a seed determines, without end, from any number on: books with gaps and restarts,
 * finer ticks, ties, absent times; trades; samples; revisions; gaps that open in one batch and close
 * in a later one; quarantined messages.
 */
export function* makeBatches(
  seed: number,
  from = 1,
  maxRows = 50,
): Generator<AppendBatch, never, undefined> {
  let makers = new Map<string, BookMaker>()
  for (let batch = from - ((from - 1) % BLOCK); ; batch++) {
    if ((batch - 1) % BLOCK === 0) makers = new Map()
    const made = makeBatch(createRandom(seed * 1_000_003 + batch), batch, makers, maxRows)
    if (batch >= from) yield made
  }
}

function makeBatch(
  random: () => number,
  batch: number,
  makers: Map<string, BookMaker>,
  maxRows: number,
): AppendBatch {
  const venue = venueOf(batch)
  const pen = new Pen(random, batch)
  const observations: Observation[] = []
  const gaps: Gap[] = []
  const trades: Trade[] = []
  const samples: Sample[] = []
  for (const instrument of INSTRUMENTS[venue]) {
    const maker = makers.get(instrument.key) ?? new BookMaker(instrument)
    makers.set(instrument.key, maker)
    pen.rewind()
    const count = pen.whole(maxRows + 1)
    for (let row = 0; row < count; row++) observations.push(maker.next(pen, gaps))
    if (batch % BLOCK < BLOCK - 30) maker.end(pen, gaps)
    pen.rewind()
    for (let row = pen.whole(4); row > 0; row--) {
      if (venue !== 'venuea') trades.push(makeTrade(pen, instrument))
      for (const metric of METRICS) {
        if (venue === 'venuea') samples.push(makeSample(pen, instrument, metric))
      }
    }
  }
  if (batch % 37 === 5) gaps.push(pen.outage(venue))
  return {
    venue,
    position: positionOf(batch),
    origin: 'live',
    // Another recorder ends the chunk.
    recorder: `r${Math.floor(batch / 211) % 2}`,
    normalizer: 1,
    observations,
    trades,
    samples,
    revisions: pen.whole(3) === 0 ? [makeRevision(pen, INSTRUMENTS[venue][0])] : [],
    gaps,
    quarantine: batch % 5 === 0 ? [makeQuarantined(pen, INSTRUMENTS[venue][0])] : [],
    facts: { [`batch:${venue}`]: batch },
  }
}

/** Draws numbers, times and journal records of one batch. */
class Pen {
  readonly random: () => number
  readonly batch: number
  private record = 0
  private time: number

  constructor(random: () => number, batch: number) {
    this.random = random
    this.batch = batch
    this.time = START + batch * 1_000_000
  }

  /** The next instrument begins at the start of the batch's second. */
  rewind(): void {
    this.time = START + this.batch * 1_000_000
  }

  whole(below: number): number {
    return Math.floor(this.random() * below)
  }

  chance(share: number): boolean {
    return this.random() < share
  }

  /** Where and when the next event was received; a third of them tie. */
  arrival(): Pick<BookChange, 'received' | 'source' | 'venueSeq' | 'channel' | 'journal'> {
    this.time += this.chance(0.33) ? 0 : 1 + this.whole(9000)
    this.record++
    const source = this.time - 20_000 + this.whole(30_000) - (this.chance(0.01) ? 6_000_000 : 0)
    return {
      received: toMicros(this.time),
      ...(this.chance(0.9) ? { source: toMicros(source) } : {}),
      ...(this.chance(0.9) ? { venueSeq: this.batch * 1000 + this.record, channel: 3 } : {}),
      journal: this.batch * 1000 + this.record,
    }
  }

  size(): SizeUnits {
    const size = this.chance(0.01) ? 3e12 * this.random() : 1e6 * this.random() ** 3
    return (1 + Math.floor(size)) as SizeUnits
  }

  // Bids up to 0.5, asks from 0.5 on: books lock now and then and never cross.
  price(side: 'bid' | 'ask'): PriceTicks {
    const cents = this.whole(50) * 100
    const finer = this.chance(0.03) ? this.whole(10) * 10 : 0
    const finest = this.chance(0.005) ? this.whole(10) : 0
    const away = Math.min(4999, cents + finer + finest)
    return (side === 'bid' ? 5000 - away : 5000 + away) as PriceTicks
  }

  outage(venue: VenueId): Gap {
    const start = START + this.batch * 1_000_000 - 300_000
    return {
      venue,
      scope: 'venue',
      key: '',
      reason: 'recorder_down',
      start: toMicros(start),
      end: toMicros(start + 100_000),
      afterSequence: 0,
      journal: this.batch * 1000 + 998,
    }
  }
}

/** Makes the observations of one instrument. */
class BookMaker {
  private readonly assembler: BookAssembler
  private gap: Gap | undefined

  constructor(instrument: Instrument) {
    this.assembler = new BookAssembler(instrument)
  }

  next(pen: Pen, gaps: Gap[]): Observation {
    const { assembler } = this
    if (assembler.open && pen.chance(0.0003)) this.disconnect(pen, gaps)
    const event = assembler.open && pen.chance(0.95) ? this.change(pen) : this.full(pen)
    const taken = assembler.take(event)
    if ('violation' in taken) throw new Error(`${taken.violation}: ${taken.detail}`)
    if (this.gap !== undefined) {
      gaps.push({ ...this.gap, end: toMicros(taken.received), journal: taken.journal })
      this.gap = undefined
    }
    return taken
  }

  /** Now and then a batch ends inside a gap, which a later one closes. */
  end(pen: Pen, gaps: Gap[]): void {
    if (this.assembler.open && pen.chance(0.02)) this.disconnect(pen, gaps)
  }

  private disconnect(pen: Pen, gaps: Gap[]): void {
    const { assembler } = this
    assembler.close()
    assembler.markGap()
    const { venue, key } = assembler.instrument
    this.gap = {
      venue,
      scope: 'instrument',
      key,
      reason: 'disconnected',
      start: toMicros(assembler.lastReceived),
      afterSequence: pen.batch,
      detail: `batch ${pen.batch}`,
      journal: pen.arrival().journal,
    }
    gaps.push(this.gap)
  }

  private change(pen: Pen): BookChange {
    const changes = Array.from({ length: pen.whole(4) }, () => {
      const side = pen.chance(0.5) ? 'bid' : 'ask'
      const size = pen.chance(0.4) ? (0 as SizeUnits) : pen.size()
      return { side, price: pen.price(side), size } as const
    })
    const { instrument } = this.assembler
    return { kind: 'change', instrument, ...pen.arrival(), changes, signed: false }
  }

  // Most full books are new, a few are empty: the market closed.
  private full(pen: Pen): BookSnapshot {
    const empty = this.assembler.open && pen.chance(0.005)
    const side = (name: 'bid' | 'ask'): Level[] => {
      const prices = new Set(
        Array.from({ length: empty ? 0 : 5 + pen.whole(25) }, () => pen.price(name)),
      )
      return [...prices].map((price) => ({ price, size: pen.size() }))
    }
    const { instrument } = this.assembler
    const levels = { bids: side('bid'), asks: side('ask') }
    return { kind: 'snapshot', instrument, ...pen.arrival(), ...levels }
  }
}

function makeTrade(pen: Pen, instrument: Instrument): Trade {
  const taker = ([undefined, 'buy', 'sell'] as const)[pen.whole(3)]
  return {
    kind: 'trade',
    instrument,
    ...pen.arrival(),
    tradeId: `t-${pen.batch}-${pen.whole(1e9)}`,
    price: pen.price('bid'),
    size: pen.size(),
    ...(taker === undefined ? {} : { taker }),
  }
}

function makeSample(pen: Pen, instrument: Instrument, metric: string): Sample {
  const value = `0.${String(pen.whole(10_000)).padStart(4, '0')}`
  return { kind: 'sample', instrument, ...pen.arrival(), metric, value }
}

// Volumes repeat for a while: such a revision says nothing new and is not kept.
function makeRevision(pen: Pen, { venue, market }: Instrument): MarketRevision {
  const { received, journal } = pen.arrival()
  return {
    kind: 'market',
    received,
    journal,
    record: {
      venue,
      marketId: market,
      title: `Will ${market} be above its mark at noon?`,
      status: pen.batch % 90 < 60 ? 'open' : 'paused',
      openTime: toMicros(START),
      asset: 'btc',
      volume: String(Math.floor(pen.batch / 12) * 25),
      outcomes: [
        { label: 'Yes', index: 0 },
        { label: 'No', index: 1 },
      ],
      units: VENUES[venue].units,
      native: { ticker: market, rules: 'If it is, then Yes; otherwise No. '.repeat(5) },
    },
  }
}

function makeQuarantined(pen: Pen, { venue, key }: Instrument): Quarantined {
  const { received, journal } = pen.arrival()
  const raw = Uint8Array.from({ length: pen.whole(2000) }, () => pen.whole(256))
  return { venue, key, journal, received, code: 'invalid_message', detail: 'made up', raw }
}
