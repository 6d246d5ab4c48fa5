import { createRandom } from '../lib/random.testing.ts'
import {
  FLAGS,
  POW10,
  VENUES,
  type BookChange,
  type BookSnapshot,
  type Gap,
  type GapReason,
  type Instrument,
  type Level,
  type MarketRecord,
  type MarketRevision,
  type Micros,
  type PriceTicks,
  type Sample,
  type Side,
  type SizeUnits,
  type TradeNative,
  type Trade,
  type VenueId,
} from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import type { AppendBatch, Quarantined } from './store.ts'

/** A book as plain as can be: size by `price × 2 + side`, the price in the venue's ticks. */
export type PlainBook = ReadonlyMap<number, number>

/** The venues of the script, one for each way to keep books; a new venue need not be among them. */
export const SCRIPTED_VENUES = ['venuea', 'venueb', 'venuec'] as const

/** The name of one of them. */
export type ScriptedVenue = (typeof SCRIPTED_VENUES)[number]

/** One market of A, two of B, and both tokens of one of C. */
export const INSTRUMENTS: readonly (Instrument & { readonly venue: ScriptedVenue })[] = [
  { venue: 'venuea', market: '5001', key: '5001' },
  { venue: 'venueb', market: 'KXBTC-26AUG05-T1.5', key: 'KXBTC-26AUG05-T1.5' },
  { venue: 'venueb', market: 'KXETH-26AUG05', key: 'KXETH-26AUG05' },
  { venue: 'venuec', market: '0xc0ffee', key: '71321045679252212594626385532706912750' },
  { venue: 'venuec', market: '0xc0ffee', key: '52114319501245915516055106046884209969' },
]

// A market is described by one frame once; its second token keeps silent about it.
const SECOND_TOKEN = INSTRUMENTS[4]!.key

/** The metrics that venue A's markets have. */
export const METRICS = ['chance', 'price', 'last_trade'] as const

/** Five to midnight UTC: days change early. */
export const BEGIN = Date.UTC(2026, 7, 5, 23, 55) * 1000

/** How lively a script is. */
export type ScriptOptions = {
  readonly instruments?: readonly Instrument[]
  /** The instrument that is never interrupted, so that its chunks end by number alone. */
  readonly calm?: string
  /** How likely a change brings finer ticks. */
  readonly finer?: number
  /** One normalizer all the time: a new one would end chunks. */
  readonly steady?: boolean
  /** The most frames in one batch. */
  readonly frames?: number
}

/**
 * What a recorder would hand to a store, seeded: snapshots and changes of several instruments, with
 * gaps, restarts, closing books, tied times, clock steps, finer ticks, trades, samples, revisions,
 * refused messages. The books are kept beside it as plain maps.
 */
export class Script {
  /** The book that each observation made. */
  readonly books = new WeakMap<Observation, PlainBook>()
  readonly random: () => number
  readonly finer: number
  now = BEGIN
  private readonly tracks: readonly InstrumentScript[]
  private readonly frames: number
  private readonly steady: boolean
  private readonly journals = new Map<VenueId, number>()
  private normalizer = 1

  constructor(seed: number, options: ScriptOptions = {}) {
    this.random = createRandom(seed)
    this.frames = options.frames ?? 8
    this.steady = options.steady ?? false
    this.finer = options.finer ?? 0.004
    const instruments = options.instruments ?? INSTRUMENTS
    this.tracks = instruments.map(
      (instrument) => new InstrumentScript(this, instrument, instrument.key === options.calm),
    )
  }

  /** A whole number in [from, to]. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from + 1))
  }

  /** True with a probability. */
  chance(probability: number): boolean {
    return this.random() < probability
  }

  /** The next batch of one venue; `frames` sets how many upstream messages it covers. */
  next(frames: number = this.whole(1, this.frames)): AppendBatch {
    const { venue } = this.tracks[this.whole(0, this.tracks.length - 1)]!.instrument
    const own = this.tracks.filter((track) => track.instrument.venue === venue)
    const rows = new Rows()
    let journal = this.journals.get(venue) ?? 0
    for (let frame = 0; frame < frames; frame++) {
      this.tick()
      journal++
      // A frame of C can be about both tokens: two observations of one journal record.
      const told =
        venue === 'venuec' && this.chance(0.3) ? own : [own[this.whole(0, own.length - 1)]!]
      for (const track of told) track.tell(journal, rows)
    }
    this.journals.set(venue, journal)
    if (this.chance(0.01) && !this.steady) this.normalizer++
    return {
      venue,
      position: journal,
      origin: 'live',
      recorder: 'r1',
      normalizer: this.normalizer,
      ...rows.filled(),
      ...(this.chance(0.1) ? { facts: { [`seen:${venue}`]: journal } } : {}),
    }
  }

  /** Several batches one after the other. */
  take(count: number, frames?: number): AppendBatch[] {
    return Array.from({ length: count }, () => this.next(frames))
  }

  private tick(): void {
    const kind = this.random()
    if (kind < 0.15) return
    if (kind < 0.25) this.now += 1
    else if (kind < 0.85) this.now += this.whole(1, 2_000_000)
    else if (kind < 0.96) this.now += this.whole(1, 60_000_000)
    else if (kind < 0.995) this.now += this.whole(1, 3_600_000_000)
    else this.now += this.whole(1, 80 * 3_600_000_000)
  }
}

/** One batch that covers what several consecutive ones of a venue cover. */
export function mergeBatches(batches: readonly AppendBatch[]): AppendBatch {
  const last = batches.at(-1)!
  return {
    ...last,
    observations: batches.flatMap((batch) => batch.observations ?? []),
    trades: batches.flatMap((batch) => batch.trades ?? []),
    samples: batches.flatMap((batch) => batch.samples ?? []),
    revisions: batches.flatMap((batch) => batch.revisions ?? []),
    gaps: batches.flatMap((batch) => batch.gaps ?? []),
    quarantine: batches.flatMap((batch) => batch.quarantine ?? []),
    facts: Object.assign({}, ...batches.map((batch) => batch.facts ?? {})) as Record<
      string,
      number
    >,
  }
}

/** The rows of a batch while it is written. */
class Rows {
  readonly observations: Observation[] = []
  readonly trades: Trade[] = []
  readonly samples: Sample[] = []
  readonly revisions: MarketRevision[] = []
  readonly gaps: Gap[] = []
  readonly quarantine: Quarantined[] = []

  /** Only the lists that hold something: absent ones must work too. */
  filled(): Partial<AppendBatch> {
    return Object.fromEntries(Object.entries(this).filter(([, list]) => (list as []).length > 0))
  }
}

/** The life of one instrument. */
class InstrumentScript {
  readonly instrument: Instrument
  private readonly script: Script
  private readonly calm: boolean
  private readonly assembler: BookAssembler
  private book = new Map<number, number>()
  private middle = 5000
  // Cents first; finer ticks appear later, as venues introduce them.
  private step = 100
  private sequence = 0
  private gap: Gap | undefined
  private lastTrade = 0
  private lastSample = 0
  private volume = 0
  private readonly unit: number

  constructor(script: Script, instrument: Instrument, calm: boolean) {
    this.script = script
    this.instrument = instrument
    this.calm = calm
    this.assembler = new BookAssembler(instrument)
    this.unit = 10 ** VENUES[instrument.venue].sizeDecimals
  }

  /** Says what one frame says. */
  tell(journal: number, rows: Rows): void {
    const { script } = this
    const kind = script.random()
    const rare = this.calm ? 0 : 1
    if (!this.assembler.open || kind < 0.06) this.tellFull(journal, rows, this.createBook())
    else if (kind < 0.1) this.tellFull(journal, rows, new Map(this.book))
    else if (kind < 0.1 + 0.02 * rare) this.interrupt('disconnected', journal, rows)
    else if (kind < 0.1 + 0.03 * rare) this.tellAfterSilence(journal, rows)
    else if (kind < 0.1 + 0.04 * rare) {
      this.assembler.close()
      this.tellFull(journal, rows, this.createBook())
    } else if (kind < 0.1 + 0.05 * rare) this.tellFull(journal, rows, new Map())
    else if (kind < 0.1 + 0.06 * rare) this.tellCrossed(journal, rows)
    else this.tellChange(journal, rows)
    if (this.instrument.venue !== 'venuea' && script.chance(0.3)) this.tellTrade(journal, rows)
    if (this.instrument.venue === 'venuea' && script.chance(0.5)) this.tellSamples(journal, rows)
    if (script.chance(0.1) && this.instrument.key !== SECOND_TOKEN) this.tellMarket(journal, rows)
  }

  private provenance(journal: number): {
    received: Micros
    journal: number
    source?: Micros
    venueSeq?: number
    channel?: number
  } {
    const { script } = this
    const stepsBack = this.gap === undefined && script.chance(0.02)
    const back = stepsBack ? script.whole(1, 3_000_000) : 0
    const numbered = this.instrument.venue === 'venueb'
    return {
      received: (script.now - back) as Micros,
      journal,
      ...(script.chance(0.8)
        ? { source: (script.now - script.whole(-50_000, 7_000_000)) as Micros }
        : {}),
      ...(numbered ? { venueSeq: journal + 17, channel: 3 } : {}),
    }
  }

  private tellFull(journal: number, rows: Rows, book: Map<number, number>): void {
    const side = (wanted: number): Level[] =>
      [...book]
        .filter(([key]) => (key & 1) === wanted)
        .map(([key, size]) => ({ price: this.ticksOf(key >> 1), size: size as SizeUnits }))
    const event: BookSnapshot = {
      kind: 'snapshot',
      instrument: this.instrument,
      ...this.provenance(journal),
      ...(this.script.chance(0.1) ? { flags: FLAGS.truncated_upstream } : {}),
      bids: side(0),
      asks: side(1),
    }
    this.take(event, book, rows)
  }

  private tellChange(journal: number, rows: Rows): void {
    const { script } = this
    if (script.chance(script.finer) && this.step > 1) this.step /= 10
    const book = new Map(this.book)
    const changes: (Level & { side: Side })[] = []
    let lastKey = 0
    const signed = this.instrument.venue === 'venueb' && script.chance(0.5)
    const set = (key: number, size: number): void => {
      const before = book.get(key) ?? 0
      const said = signed ? size - before : size
      lastKey = key
      changes.push({
        price: this.ticksOf(key >> 1),
        side: (key & 1) === 0 ? 'bid' : 'ask',
        size: said as SizeUnits,
      })
      if (size === 0) book.delete(key)
      else book.set(key, size)
    }
    if (script.chance(0.3)) {
      this.moveMiddle()
      for (const key of this.book.keys()) if (this.isCrossing(key)) set(key, 0)
    }
    const count = script.whole(1, 4)
    for (let index = 0; index < count; index++) {
      set(this.pickKey(), script.chance(0.4) ? 0 : this.pickSize())
      // A level can move twice in one message.
      if (script.chance(0.05)) set(lastKey, this.pickSize())
    }
    const event: BookChange = {
      kind: 'change',
      instrument: this.instrument,
      ...this.provenance(journal),
      changes,
      signed,
    }
    this.take(event, book, rows)
  }

  private take(event: BookSnapshot | BookChange, book: Map<number, number>, rows: Rows): void {
    if (this.gap !== undefined) this.assembler.markGap()
    const taken = this.assembler.take(event)
    if ('violation' in taken) throw new Error(`the script is wrong: ${taken.detail}`)
    this.book = book
    this.sequence++
    this.script.books.set(taken, book)
    rows.observations.push(taken)
    if (this.gap === undefined) return
    rows.gaps.push({
      ...this.gap,
      end: taken.received as Micros,
      ...(taken.source < 0 ? {} : { sourceEnd: taken.source as Micros }),
      journal: event.journal,
      detail: 'closed by a full book',
    })
    this.gap = undefined
  }

  // A gap that closes the book; the next frame of the instrument is a full one and ends it.
  private interrupt(reason: GapReason, journal: number, rows: Rows): void {
    this.gap = this.gapFrom(reason, journal)
    rows.gaps.push(this.gap)
    this.assembler.close()
  }

  // A silence after which the book goes on as it was.
  private tellAfterSilence(journal: number, rows: Rows): void {
    this.gap = this.gapFrom('venue_silent', journal)
    this.script.now += this.script.whole(20_000_000, 600_000_000)
    this.tellChange(journal, rows)
  }

  private gapFrom(reason: GapReason, journal: number): Gap {
    const { venue, key } = this.instrument
    const start = this.assembler.lastReceived as Micros
    // Two gaps never start at one time here: a store may know them by start and reason.
    if (this.script.now <= start) this.script.now = start + 1
    return { venue, scope: 'instrument', key, reason, start, afterSequence: this.sequence, journal }
  }

  /** Prices are drawn in ten-thousandths; events have ticks of the venue. */
  private ticksOf(price: number): PriceTicks {
    return (price * POW10[VENUES[this.instrument.venue].priceDecimals - 4]!) as PriceTicks
  }

  private tellCrossed(journal: number, rows: Rows): void {
    const level = { price: this.ticksOf(9900), size: this.unit as SizeUnits }
    const ask = { price: this.ticksOf(100), size: this.unit as SizeUnits }
    const event: BookChange = {
      kind: 'change',
      instrument: this.instrument,
      ...this.provenance(journal),
      changes: [
        { ...level, side: 'bid' },
        { ...ask, side: 'ask' },
      ],
      signed: false,
    }
    const refusal = this.assembler.take(event)
    if (!('violation' in refusal)) throw new Error('a crossed book was taken')
    const { venue, key } = this.instrument
    rows.quarantine.push({
      venue,
      key,
      journal,
      received: event.received,
      code: refusal.violation,
      detail: refusal.detail,
      raw: new TextEncoder().encode(`{"journal":${journal}}`),
    })
    this.interrupt('rejected', journal, rows)
  }

  private tellTrade(journal: number, rows: Rows): void {
    const { script } = this
    const taker = script.whole(0, 2)
    this.lastTrade = Math.max(this.lastTrade, script.now)
    rows.trades.push({
      kind: 'trade',
      instrument: this.instrument,
      ...this.provenance(journal),
      received: this.lastTrade as Micros,
      tradeId: script.chance(0.5)
        ? `0x${Math.floor(script.random() * 2 ** 52).toString(16)}`
        : String(script.whole(1, 1e9)),
      price: script.whole(1, 9999) as PriceTicks,
      size: this.pickSize() as SizeUnits,
      ...(taker === 0 ? {} : { taker: taker === 1 ? 'buy' : 'sell' }),
      ...(script.chance(0.3) ? {} : { native: this.pickNative() }),
    })
  }

  private pickNative(): TradeNative {
    const { script } = this
    return {
      taker_side: script.chance(0.5) ? 'yes' : 'no',
      ...(script.chance(0.5) ? {} : { is_block_trade: script.chance(0.5) }),
      ...(script.chance(0.5) ? {} : { transaction_hash: `0x${script.whole(1, 1e9)}` }),
    }
  }

  // One poll brings several metrics, which stay apart.
  private tellSamples(journal: number, rows: Rows): void {
    const { script } = this
    this.lastSample = Math.max(this.lastSample, script.now)
    const values: Record<(typeof METRICS)[number], string> = {
      chance: String(script.whole(1, 99) / 100),
      price: `${script.whole(60_000, 70_000)}.${script.whole(1, 9999)}5`,
      last_trade: script.chance(0.1) ? '-0.5' : '0.12345678',
    }
    for (const metric of METRICS) {
      if (script.chance(0.3)) continue
      rows.samples.push({
        kind: 'sample',
        instrument: this.instrument,
        ...this.provenance(journal),
        received: this.lastSample as Micros,
        metric,
        value: values[metric],
      })
    }
  }

  private tellMarket(journal: number, rows: Rows): void {
    const { script } = this
    if (script.chance(0.7)) this.volume += script.whole(1, 1000)
    rows.revisions.push({
      kind: 'market',
      received: script.now as Micros,
      journal,
      record: createRecord(this.instrument, String(this.volume)),
    })
  }

  private createBook(): Map<number, number> {
    const book = new Map<number, number>()
    this.moveMiddle()
    const levels = this.script.whole(1, 24)
    for (let index = 0; index < levels; index++) book.set(this.pickKey(), this.pickSize())
    return book
  }

  private moveMiddle(): void {
    const moved = this.middle + this.script.whole(-5, 5) * this.step
    this.middle = Math.min(9800, Math.max(200, moved))
  }

  // Bids at or below the middle, asks at or above it: a book may be locked, never crossed.
  private pickKey(): number {
    const distance = this.script.whole(0, 15) * this.step
    const base = this.middle - (this.middle % this.step)
    const side = this.script.whole(0, 1)
    const price =
      side === 0 ? base - distance : base + this.step + distance - this.step * this.lock()
    return Math.min(10_000 - this.step, Math.max(this.step, price)) * 2 + side
  }

  private lock(): number {
    return this.script.chance(0.1) && this.middle % this.step === 0 ? 1 : 0
  }

  private isCrossing(key: number): boolean {
    const price = key >> 1
    return (key & 1) === 0 ? price > this.middle : price < this.middle
  }

  private pickSize(): number {
    const { script } = this
    if (script.chance(0.01)) return Number.MAX_SAFE_INTEGER
    if (script.chance(0.5)) return script.whole(1, 50) * 100 * this.unit
    return script.whole(1, 5000 * this.unit)
  }
}

/** A full book of one bid and one ask, which restarts a stream. */
export function createWholeBook(
  instrument: Instrument,
  received: Micros,
  journal: number,
): Observation {
  return {
    instrument,
    received,
    journal,
    source: -1,
    venueSeq: -1,
    channel: -1,
    flags: FLAGS.restart | FLAGS.full_book,
    priceDecimals: 2,
    keys: [100, 103],
    sizes: [5, 6],
  }
}

/** A market record with a volume. */
export function createRecord(
  instrument: { venue: VenueId; market: string },
  volume: string,
  more: Partial<MarketRecord> = {},
): MarketRecord {
  return {
    venue: instrument.venue,
    marketId: instrument.market,
    title: `Will ${instrument.market} be higher?`,
    status: 'open',
    openTime: BEGIN as Micros,
    closeTime: (BEGIN + 86_400_000_000) as Micros,
    volume,
    outcomes: [
      { label: 'Yes', index: 0, tokenId: '71321045679252212594626385532706912750' },
      { label: 'No', index: 1, tokenId: '52114319501245915516055106046884209969' },
    ],
    units: VENUES[instrument.venue].units,
    native: { rules: 'Resolves to “Yes” — or not.', nested: { list: [1, 2.5, null, 'é'] } },
    ...more,
  }
}
