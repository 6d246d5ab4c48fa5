import {
  eventIdOf,
  printRowId,
  settlementFeed,
  type Gap,
  type MarketRecord,
} from '@priorbook/sdk/domain'
import { printSampleValue } from '@priorbook/sdk/tape'
import { decimalJson, timeJson, type PanelRowJson, type ValueStyle } from '@priorbook/sdk/wire'
import { Yielder } from '../../lib/yielder.ts'
import { readBookAt, type BookAt } from '../books/book-at.ts'
import { instrumentsOf, type MarketInstrument } from '../markets/instruments.ts'
import { readReferencesAt, removedReference, type ReferenceAt } from '../markets/reference-at.ts'
import { listReferences, type ReferenceSeries } from '../markets/references.ts'
import type { ApiContext } from '../route.ts'
import { BestPriceReader, NO_PRICES } from './best-prices.ts'
import type { Round } from './rounds.ts'

const SECOND = 1_000_000

/** What every row says of its round. */
type RoundFacts = Pick<
  PanelRowJson,
  | 'venue'
  | 'market_id'
  | 'event_id'
  | 'asset'
  | 'window'
  | 'open_time'
  | 'close_time'
  | 'strike'
  | 'outcome'
  | 'resolution_state'
  | 'winning_outcome'
  | 'settlement_value'
  | 'end_price'
>

type BookFacts = Pick<
  PanelRowJson,
  keyof typeof NO_PRICES | 'book_id' | 'book_time' | 'age_ms' | 'gap'
>

type ReferenceFacts = Pick<
  PanelRowJson,
  'reference_feed' | 'reference_price' | 'reference_age_ms' | 'reference_gap'
>

/** Makes the rows of rounds at some offsets. One serves one request: it remembers reference prices. */
export class PanelReader {
  private readonly context: ApiContext
  private readonly window: number
  private readonly style: ValueStyle
  private readonly prices: BestPriceReader
  private readonly yielder = new Yielder()
  private series: readonly ReferenceSeries[] | undefined
  // Rounds of several strikes close together, and so do those of one venue after another.
  private readonly references = new Map<string, ReferenceFacts>()

  /** `window` is the start of what the plan may read. */
  constructor(context: ApiContext, window: number, style: ValueStyle) {
    this.context = context
    this.window = window
    this.style = style
    this.prices = new BestPriceReader(style)
  }

  /** The rows of a round, in the order of the offsets (seconds). */
  async rowsOf(round: Round, offsets: readonly number[]): Promise<PanelRowJson[]> {
    const { record, closeTime } = round
    const instruments = await instrumentsOf(this.context, record)
    const first = instruments.find(({ index }) => index === 0) ?? instruments[0]
    const { outcome, ...facts } = this.factsOf(round, first)
    const rows: PanelRowJson[] = []
    const instants = offsets.map((offset) => closeTime + offset * SECOND)
    const references = await this.referencesOf(record, instants)
    for (const [index, at] of instants.entries()) {
      rows.push({
        venue: facts.venue,
        market_id: facts.market_id,
        event_id: facts.event_id,
        asset: facts.asset,
        window: facts.window,
        open_time: facts.open_time,
        close_time: facts.close_time,
        strike: facts.strike,
        offset_s: offsets[index]!,
        at: timeJson(at, this.style)!,
        outcome,
        ...(await this.bookAt(record, first, at)),
        ...references[index]!,
        resolution_state: facts.resolution_state,
        winning_outcome: facts.winning_outcome,
        settlement_value: facts.settlement_value,
        end_price: facts.end_price,
      })
      await this.yielder.yieldIfDue()
    }
    return rows
  }

  private factsOf({ record, closeTime }: Round, first: MarketInstrument | undefined): RoundFacts {
    const { style } = this
    const { resolution, outcomes } = record
    const { reference, payouts, state } = resolution ?? {}
    const paid =
      state === 'final' ? payouts?.[outcomes.findIndex(({ index }) => index === 0)] : undefined
    return {
      venue: record.venue,
      market_id: record.marketId,
      event_id: eventIdOf(record) ?? null,
      asset: record.asset ?? null,
      window: record.window ?? null,
      open_time: timeJson(record.openTime, style),
      close_time: timeJson(closeTime, style)!,
      strike: decimalJson(record.strike ?? reference?.startPrice, style),
      outcome: first?.outcome ?? null,
      resolution_state: state ?? null,
      winning_outcome: record.winningOutcome ?? null,
      settlement_value: decimalJson(paid, style),
      end_price: decimalJson(reference?.endPrice, style),
    }
  }

  private async bookAt(
    record: MarketRecord,
    instrument: MarketInstrument | undefined,
    at: number,
  ): Promise<BookFacts> {
    const { context, window, style } = this
    const { venue } = record
    if (instrument === undefined) return noBook('before_capture')
    const { key } = instrument
    const found = await readBookAt(context, record, { venue, key }, { at, window })
    if (found.kind !== 'book') return noBook(reasonOf(found))
    const { run } = found
    const received = run.columns.received[run.from]!
    return {
      ...this.prices.read(venue, run),
      book_id: printRowId({ venue, key, sequence: run.firstSequence + run.from }),
      book_time: timeJson(received, style),
      age_ms: (at - received) / 1000,
      gap: null,
    }
  }

  // The reference prices of a round, by instant.
  private async referencesOf(
    record: MarketRecord,
    instants: readonly number[],
  ): Promise<readonly ReferenceFacts[]> {
    const { venue, window, openTime: open } = record
    const isRound = window !== undefined && open !== undefined
    const feed = isRound ? settlementFeed(venue, { window, open })?.feed : undefined
    if (feed === undefined) return instants.map(() => noPrice(null, 'no_feed'))
    const nameOf = (at: number): string => `${feed} ${record.asset} ${at}`
    const missing = instants.filter((at) => !this.references.has(nameOf(at)))
    if (missing.length > 0) {
      if (this.references.size >= MAX_REMEMBERED) this.references.clear()
      const read = await this.readReferences(record, feed, instants)
      for (const [index, at] of instants.entries()) this.references.set(nameOf(at), read[index]!)
    }
    return instants.map((at) => this.references.get(nameOf(at))!)
  }

  private async readReferences(
    { venue, asset }: MarketRecord,
    feed: string,
    instants: readonly number[],
  ): Promise<readonly ReferenceFacts[]> {
    const { context, window } = this
    this.series ??= await listReferences(context)
    const series = this.series.find(
      (one) => one.venue === venue && one.feed === feed && one.asset === asset,
    )
    const found =
      series === undefined ? [] : await readReferencesAt(context, series, instants, { window })
    // A series of which every price was removed is not listed.
    const removed =
      series !== undefined || asset === undefined
        ? undefined
        : await removedReference(context, venue, { feed, asset })
    return instants.map((at, index) => {
      const price = found[index]
      if (at < window) return noPrice(feed, 'plan_window')
      if (price !== undefined) return this.toReference(feed, price, at)
      if (removed !== undefined && removed.start <= at) return noPrice(feed, 'retention')
      const isOlder = series !== undefined && series.extent.firstReceived <= at
      return noPrice(feed, isOlder ? 'plan_window' : 'before_capture')
    })
  }

  private toReference(feed: string, found: ReferenceAt, at: number): ReferenceFacts {
    if ('gap' in found) return noPrice(feed, found.gap.reason)
    const { rows, row, received } = found
    return {
      reference_feed: feed,
      reference_price: decimalJson(printSampleValue(rows, row), this.style),
      reference_age_ms: (at - received) / 1000,
      reference_gap: null,
    }
  }
}

// Max instants whose reference price is remembered; a page has no more.
const MAX_REMEMBERED = 1000

function reasonOf(found: Exclude<BookAt, { kind: 'book' }>): NonNullable<BookFacts['gap']> {
  switch (found.kind) {
    case 'gap':
      return found.gap.reason
    case 'before_first':
      return found.reason
    case 'plan_window':
      return 'plan_window'
    case 'in_the_future':
      throw new Error('a round that has closed has no instant in the future')
  }
}

function noBook(gap: NonNullable<BookFacts['gap']>): BookFacts {
  return { ...NO_PRICES, book_id: null, book_time: null, age_ms: null, gap }
}

function noPrice(
  feed: string | null,
  reason: Gap['reason'] | 'plan_window' | 'no_feed',
): ReferenceFacts {
  return {
    reference_feed: feed,
    reference_price: null,
    reference_age_ms: null,
    reference_gap: reason,
  }
}
