import { POW10, VENUES, type Json } from '../domain/index.ts'
import { ABSENT } from '../tape/index.ts'
import type { InstrumentBook, MarketState } from './market-state.ts'
import type { BookView, LevelView, MarketView } from './strategy.ts'

/** A market as strategies see it: read-only, without a way to the engine. */
export class FrozenMarket implements MarketView {
  readonly #state: MarketState

  constructor(state: MarketState) {
    this.#state = state
    Object.freeze(this)
  }

  get id(): string {
    return this.#state.name
  }
  get venue(): MarketView['venue'] {
    return this.#state.venue
  }
  get marketId(): string {
    return this.#state.marketId
  }
  get title(): string | undefined {
    return this.#state.record?.title
  }
  get status(): MarketView['status'] {
    return this.#state.record?.status
  }
  get outcomes(): readonly string[] {
    return this.#state.record?.outcomes.map(({ label }) => label) ?? []
  }
  get openTime(): number | undefined {
    return this.#state.record?.openTime
  }
  get closeTime(): number | undefined {
    return this.#state.record?.closeTime
  }
  get asset(): string | undefined {
    return this.#state.record?.asset
  }
  get window(): string | undefined {
    return this.#state.record?.window
  }
  get series(): string | undefined {
    return this.#state.record?.seriesTicker
  }
  get event(): string | undefined {
    const { record } = this.#state
    return record?.eventTicker ?? record?.eventId ?? record?.topicId
  }
  get inGap(): boolean {
    return this.#state.inGap
  }
  get native(): Json {
    return structuredClone(this.#state.record?.native ?? {})
  }
}

/** A book as strategies see it: of the recorded outcome, or of the other one as its complement. */
export class FrozenBook implements BookView {
  readonly #book: InstrumentBook
  readonly #flip: boolean
  readonly #market: MarketView
  readonly #outcome: number
  readonly #unit: number

  constructor(book: InstrumentBook, outcome: number, market: MarketView) {
    this.#book = book
    this.#outcome = outcome
    this.#flip = outcome !== book.outcome
    this.#market = market
    this.#unit = POW10[VENUES[book.market.venue].sizeDecimals]!
    Object.freeze(this)
  }

  get market(): MarketView {
    return this.#market
  }
  get outcome(): number {
    return this.#outcome
  }
  get bestBid(): number | null {
    const { ladder } = this.#book
    if (this.#flip) {
      return ladder.bestAsk === ladder.one ? null : this.#book.shown(ladder.one - ladder.bestAsk)
    }
    return ladder.bestBid === 0 ? null : this.#book.shown(ladder.bestBid)
  }
  get bestAsk(): number | null {
    const { ladder } = this.#book
    if (this.#flip) {
      return ladder.bestBid === 0 ? null : this.#book.shown(ladder.one - ladder.bestBid)
    }
    return ladder.bestAsk === ladder.one ? null : this.#book.shown(ladder.bestAsk)
  }
  get bidSize(): number {
    const { ladder } = this.#book
    return (this.#flip ? askSize(ladder) : bidSize(ladder)) / this.#unit
  }
  get askSize(): number {
    const { ladder } = this.#book
    return (this.#flip ? bidSize(ladder) : askSize(ladder)) / this.#unit
  }
  get mid(): number | null {
    const { ladder } = this.#book
    if (ladder.bestBid === 0 || ladder.bestAsk === ladder.one) return null
    const mid = (ladder.bestBid + ladder.bestAsk) / 2
    return this.#book.shown(this.#flip ? ladder.one - mid : mid)
  }
  get spread(): number | null {
    const { ladder } = this.#book
    if (ladder.bestBid === 0 || ladder.bestAsk === ladder.one) return null
    return this.#book.shown(ladder.bestAsk - ladder.bestBid)
  }
  get bidLevels(): number {
    const { ladder } = this.#book
    return this.#flip ? ladder.askLevels : ladder.bidLevels
  }
  get askLevels(): number {
    const { ladder } = this.#book
    return this.#flip ? ladder.bidLevels : ladder.askLevels
  }
  get time(): number {
    return this.#book.at
  }
  get sourceTime(): number | undefined {
    const { source } = this.#book
    return source === ABSENT ? undefined : source
  }
  get sequence(): number {
    return this.#book.sequence
  }
  get microprice(): number | null {
    const { ladder } = this.#book
    if (ladder.bestBid === 0 || ladder.bestAsk === ladder.one) return null
    const bids = bidSize(ladder)
    const asks = askSize(ladder)
    const price = (ladder.bestBid * asks + ladder.bestAsk * bids) / (bids + asks)
    return this.#book.shown(this.#flip ? ladder.one - price : price)
  }
  imbalance(depth = 1): number | null {
    const { ladder } = this.#book
    const bids = depthOf(ladder, 0, depth)
    const asks = depthOf(ladder, 1, depth)
    if (bids + asks === 0) return null
    const share = (bids - asks) / (bids + asks)
    return this.#flip ? 0 - share : share
  }
  vwap(side: 'buy' | 'sell', size: number): number | null {
    const { ladder } = this.#book
    const isAsk = (side === 'buy') !== this.#flip
    const end = isAsk ? ladder.one : 0
    let left = size * this.#unit
    if (!(left > 0)) return null
    let value = 0
    for (
      let tick = isAsk ? ladder.bestAsk : ladder.bestBid;
      tick !== end && left > 0;
      tick = isAsk ? ladder.nextAsk(tick) : ladder.nextBid(tick)
    ) {
      const taken = Math.min(left, ladder.sizeAt(tick * 2 + (isAsk ? 1 : 0)))
      value += taken * (this.#flip ? ladder.one - tick : tick)
      left -= taken
    }
    return left > 0 ? null : this.#book.shown(value / (size * this.#unit))
  }
  bids(depth = Infinity): readonly LevelView[] {
    return this.#levels(this.#flip ? 1 : 0, depth)
  }
  asks(depth = Infinity): readonly LevelView[] {
    return this.#levels(this.#flip ? 0 : 1, depth)
  }

  #levels(side: 0 | 1, depth: number): readonly LevelView[] {
    const { ladder } = this.#book
    const { price, size } = side === 0 ? ladder.bids(depth) : ladder.asks(depth)
    return Object.freeze(
      price.map((ticks, index) =>
        Object.freeze({
          price: this.#book.shown(this.#flip ? ladder.one - ticks : ticks),
          size: size[index]! / this.#unit,
        }),
      ),
    )
  }
}

// Otherwise a strategy could change the methods of all views.
for (const shared of [FrozenMarket, FrozenBook]) {
  Object.freeze(shared.prototype)
  Object.freeze(shared)
}

function depthOf(ladder: InstrumentBook['ladder'], side: 0 | 1, depth: number): number {
  const end = side === 0 ? 0 : ladder.one
  let tick = side === 0 ? ladder.bestBid : ladder.bestAsk
  let sum = 0
  for (let level = 0; tick !== end && level < depth; level++) {
    sum += ladder.sizeAt(tick * 2 + side)
    tick = side === 0 ? ladder.nextBid(tick) : ladder.nextAsk(tick)
  }
  return sum
}

function bidSize(ladder: InstrumentBook['ladder']): number {
  return ladder.bestBid === 0 ? 0 : ladder.sizeAt(ladder.bestBid * 2)
}

function askSize(ladder: InstrumentBook['ladder']): number {
  return ladder.bestAsk === ladder.one ? 0 : ladder.sizeAt(ladder.bestAsk * 2 + 1)
}
