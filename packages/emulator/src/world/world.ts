import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import type { Proposition, RoundProposition, World, WorldEvent } from '../core/upstream.ts'
import { Breadth, type BreadthPlan } from './breadth/breadth.ts'
import { WINDOW_MS, type Family, type VenueMarkets } from './families.ts'
import { Market, type MarketPlan, type MarketRates } from './market.ts'
import { ASSETS, createPast, createUnderlying, type Underlying } from './underlying.ts'
import { toHex } from './random.ts'

/** The nominal length of a step; at speed n a step takes this / n. */
export const STEP_MS = 20

/** How to create a world. */
export type WorldOptions = {
  readonly seed: string
  /** The venues' clock at step 0, in whole milliseconds. */
  readonly start: number
  readonly speed: number
  readonly venues: readonly VenueMarkets[]
  /** Rounds listed ahead of the open one. */
  readonly rounds: number
  /** Rounds of every family that were resolved before the start. */
  readonly history?: number
  /** Markets of many kinds beside the rounds. */
  readonly breadth?: readonly BreadthPlan[]
  rates(venue: VenueId): MarketRates
  /** The clock that `now` reads. */
  clock(): number
}

type Line = Omit<VenueMarkets, 'families'> & {
  readonly family: Family
  readonly windowMs: number
  /** The next round to list. */
  round: number
  /** The distance between strikes, in dollars. */
  readonly strikeStep: number
}

/**
 * A world that its caller advances step by step. Its content is a function of the seed, the start and the
 * number of the step.
 */
export class SteppedWorld implements World {
  private readonly options: WorldOptions
  private readonly seed: string
  private readonly start: number
  private readonly speed: number
  private readonly rounds: number
  private readonly underlying: Underlying
  private readonly listed = new Map<VenueId, Proposition[]>(VENUE_IDS.map((venue) => [venue, []]))
  private readonly skews = new Map<VenueId, number>()
  private readonly secondMs: number
  private readonly lines: readonly Line[]
  /** The broad worlds of the venues that have one. */
  readonly breadths: readonly Breadth[]
  private living: Market[] = []
  private untold: Market[] = []
  private steps = -1
  private flipped = 0

  constructor(options: WorldOptions) {
    const { seed, start, speed, rounds } = options
    this.options = options
    this.seed = seed
    this.start = start
    this.speed = speed
    this.rounds = rounds
    this.secondMs = 1000 / speed
    this.underlying = createUnderlying(seed, STEP_MS / 1000)
    this.lines = linesOf(options)
    this.breadths = (options.breadth ?? []).map(
      (plan) => new Breadth(plan, { seed, start, speed }, this.listed.get(plan.venue)!),
    )
    this.listHistory(options.history ?? 0)
  }

  get step(): number {
    return this.steps
  }

  now(venue: VenueId): number {
    return Math.floor(this.options.clock()) + (this.skews.get(venue) ?? 0)
  }

  propositions(venue: VenueId): readonly Proposition[] {
    return this.listed.get(venue)!
  }

  hex(name: string, digits: number): string {
    return toHex(`${this.seed}/${name}`, digits)
  }

  price(asset: RoundProposition['asset']): number {
    return this.underlying.exact(asset)
  }

  average(asset: RoundProposition['asset'], seconds: number): number {
    return this.underlying.average(asset, seconds)
  }

  /** Runs every step up to this time and passes its events to `onEvent` in order, then its end to `onStep`. */
  advance(
    to: number,
    onEvent: (event: WorldEvent) => void,
    onStep?: (timeOf: (venue: VenueId) => number) => void,
  ): void {
    for (let at = this.timeOf(this.steps + 1); at <= to; at = this.timeOf(this.steps + 1)) {
      this.doStep(onEvent)
      const time = at
      onStep?.((venue) => time + (this.skews.get(venue) ?? 0))
    }
  }

  /** Sets the error of the venue's clock in milliseconds. */
  skew(venue: VenueId, ms: number): void {
    this.skews.set(venue, ms)
  }

  /** Changes one level of each open market of a venue in turn, `count` times; for floods. */
  flip(venue: VenueId, count: number, at: number, onEvent: (event: WorldEvent) => void): void {
    const open = this.living.filter((market) => market.venue === venue && market.phase === 'open')
    for (let i = 0; i < count && open.length > 0; i++) {
      const market = open[this.flipped++ % open.length]!
      const levels = market.flip()
      if (levels.length === 0) continue
      onEvent({ kind: 'book', at, proposition: market, levels, fill: undefined })
    }
  }

  /** The markets of one round, with strikes around the given prices. */
  private plansOf(line: Line, round: number, prices: Prices): Omit<MarketPlan, 'index'>[] {
    const { venue, style, family, windowMs } = line
    const openTime = round * windowMs
    return Array.from({ length: Math.max(1, family.strikes) }, (_, strikeNumber) => ({
      venue,
      style,
      family,
      round,
      strikeNumber,
      strike: family.strikes === 0 ? undefined : strikeOf(line, strikeNumber, prices),
      listTime: openTime - this.rounds * windowMs,
      openTime,
      closeTime: openTime + windowMs,
      secondMs: this.secondMs,
    }))
  }

  private create(plan: Omit<MarketPlan, 'index'>): Market {
    const { venue } = plan
    const markets = this.listed.get(venue)!
    const rates = this.options.rates(venue)
    const market = new Market({ ...plan, index: markets.length }, this.seed, rates)
    markets.push(market)
    return market
  }

  private list(line: Line, at: number, emit: (event: WorldEvent) => void): void {
    for (const plan of this.plansOf(line, line.round, this.underlying)) {
      const market = this.create(plan)
      this.living.push(market)
      emit({ kind: 'listed', at, proposition: market })
    }
    line.round++
  }

  // Rounds that ended before the start: in the catalogue from the beginning, in order of listing.
  private listHistory(history: number): void {
    const past = createPast(this.seed, this.start, this.speed, this.underlying)
    const plans = this.lines.flatMap((line) =>
      Array.from({ length: history }, (_, back) => line.round - history + back).flatMap((round) =>
        this.plansOf(line, round, past((round - this.rounds) * line.windowMs)),
      ),
    )
    plans.sort((a, b) => a.listTime - b.listTime)
    this.untold = plans.map((plan) => {
      const market = this.create(plan)
      market.conclude(past(plan.openTime), past(plan.closeTime))
      return market
    })
  }

  private emitHistory(emit: (event: WorldEvent) => void): void {
    for (const market of this.untold) {
      const { at } = market.schedule.at(-1)!
      emit({ kind: 'listed', at: market.listTime, proposition: market })
      emit({ kind: 'phase', at: Math.min(at, this.start), proposition: market })
    }
    this.untold = []
  }

  private enter(market: Market, at: number, emit: (event: WorldEvent) => void): void {
    const { phase } = market.schedule[market.scheduled++]!
    const before = market.phase
    const tell = (levels: readonly Level[]): void => {
      if (levels.length > 0) {
        emit({ kind: 'book', at, proposition: market, levels, fill: undefined })
      }
    }
    if (phase === 'closed') {
      market.phase = phase
      market.end(this.underlying)
      tell(market.clear())
    } else if (phase === 'open' && before === 'paused') {
      tell(market.clear())
    } else if (phase === 'determined' && before === 'closed') {
      market.determine()
    }
    market.phase = phase
    if (phase === 'open') market.start(this.underlying)
    emit({ kind: 'phase', at, proposition: market })
    if (phase !== 'open') return
    tell(market.open(this.underlying, at))
    this.schedule(market)
  }

  private schedule(market: Market): void {
    const { changes, trades } = this.options.rates(market.venue)
    const per = (STEP_MS / 1000) * market.activity
    market.nextChange = this.steps + gap(market, changes * per)
    market.nextTrade = this.steps + gap(market, trades * per)
  }

  private flow(market: Market, at: number, emit: (event: WorldEvent) => void): void {
    const { changes, trades } = this.options.rates(market.venue)
    const per = (STEP_MS / 1000) * market.activity
    market.refineGrain(at)
    while (market.nextChange <= this.steps || market.nextTrade <= this.steps) {
      const first = market.nextChange <= market.nextTrade
      const { levels, fill } = first
        ? market.change(this.underlying, at)
        : market.trade(this.underlying, at)
      if (first) market.nextChange += gap(market, changes * per)
      else market.nextTrade += gap(market, trades * per)
      if (levels.length === 0) continue
      emit({ kind: 'book', at, proposition: market, levels, fill })
      if (market.refineTick()) emit({ kind: 'tick', at, proposition: market, before: 100 })
    }
  }

  private doStep(onEvent: (event: WorldEvent) => void): void {
    this.steps++
    this.underlying.step()
    const at = this.timeOf(this.steps)
    const emit = (event: WorldEvent): void => {
      const skew = this.skews.get(event.proposition.venue) ?? 0
      onEvent(skew === 0 ? event : { ...event, at: event.at + skew })
    }
    this.emitHistory(emit)
    for (const line of this.lines) {
      while ((line.round - this.rounds) * line.windowMs <= at) this.list(line, at, emit)
    }
    let ended = false
    for (const market of this.living) {
      while ((market.schedule[market.scheduled]?.at ?? Infinity) <= at) this.enter(market, at, emit)
      if (market.phase === 'open') this.flow(market, at, emit)
      else if (market.phase === 'resolved') ended = true
    }
    if (ended) this.living = this.living.filter((market) => market.phase !== 'resolved')
    for (const breadth of this.breadths) breadth.step(at, emit)
  }

  private timeOf(number: number): number {
    return this.start + Math.floor((number * STEP_MS) / this.speed)
  }
}

type Prices = Pick<Underlying, 'price'>
type Level = Extract<WorldEvent, { kind: 'book' }>['levels'][number]

function linesOf({ venues, start, speed }: WorldOptions): readonly Line[] {
  return venues.flatMap(({ venue, style, families }) =>
    families.map((family): Line => {
      const windowMs = Math.max(1, Math.round(WINDOW_MS[family.window] / speed))
      const strikeStep = family.asset === 'BTC' ? 100 : family.asset === 'ETH' ? 5 : 1
      return { venue, style, family, windowMs, round: Math.floor(start / windowMs), strikeStep }
    }),
  )
}

// Around the rounded price at listing, so that most strikes stay near the price for the hour.
function strikeOf({ family, strikeStep }: Line, number: number, prices: Prices): string {
  const base = Math.round(prices.price(family.asset) / strikeStep) * strikeStep
  const offset = (number - (family.strikes - 1) / 2) * spacing(family, strikeStep)
  return (base + offset - 0.01).toFixed(2)
}

// Exponential: orders come independently of each other.
function gap(market: Market, perStep: number): number {
  return perStep <= 0 ? Infinity : -Math.log(1 - market.random.next()) / perStep
}

// At most 2 % of the price on each side, so that a few hundred strikes still trade.
function spacing({ asset, strikes }: Family, strikeStep: number): number {
  const widest = (ASSETS[asset] * 0.04) / strikes
  return widest >= strikeStep ? strikeStep : Math.max(0.01, Math.round(widest * 100) / 100)
}
