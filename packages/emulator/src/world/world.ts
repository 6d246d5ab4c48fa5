import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import type { Proposition, World, WorldEvent } from '../core/upstream.ts'
import { WINDOW_MS, familiesOf, type Family } from './families.ts'
import { Market, type MarketPlan, type MarketRates } from './market.ts'
import { createPast } from './past.ts'
import { toHex } from './random.ts'
import { ASSETS, createUnderlying, type Underlying } from './underlying.ts'

/** The nominal length of a step; at speed n a step takes this / n. */
export const STEP_MS = 20

/** How a world is made. */
export type WorldOptions = {
  readonly seed: string
  /** The venues' clock at step 0, in whole milliseconds. */
  readonly start: number
  readonly speed: number
  /** Markets open at a time, of every venue that takes part. */
  readonly markets: Readonly<Partial<Record<VenueId, number>>>
  /** Rounds listed ahead of the open one. */
  readonly rounds: number
  /** Rounds of every family that were resolved before the start. */
  readonly history?: number
  readonly rates: Readonly<Record<VenueId, MarketRates>>
  /** The clock that `now` reads. */
  clock(): number
}

/** A world that is moved from outside, step by step. */
export interface SteppedWorld extends World {
  /** Does every step up to this time; what happens goes to `onEvent` in order. */
  advance(to: number, onEvent: (event: WorldEvent) => void): void
  /** Makes the venue's clock wrong by so many milliseconds. */
  skew(venue: VenueId, ms: number): void
  /** Changes one level of each open market of a venue in turn, `count` times; for floods. */
  flip(venue: VenueId, count: number, at: number, onEvent: (event: WorldEvent) => void): void
  readonly step: number
}

type Line = {
  readonly family: Family
  readonly windowMs: number
  /** The next round to list. */
  round: number
  /** Where its strikes were laid. */
  readonly strikeStep: number
}

/** Creates a world. Its content is a function of the seed, the start and the number of the step. */
export function createWorld(options: WorldOptions): SteppedWorld {
  const { seed, start, speed, rounds, rates } = options
  const underlying = createUnderlying(seed, STEP_MS / 1000)
  const listed = new Map<VenueId, Market[]>(VENUE_IDS.map((venue) => [venue, []]))
  const skews = new Map<VenueId, number>()
  const secondMs = 1000 / speed
  let living: Market[] = []
  let untold: Market[] = []
  let step = -1
  let flipped = 0

  const lines = VENUE_IDS.flatMap((venue) => {
    const markets = options.markets[venue]
    return markets === undefined ? [] : familiesOf(venue, markets)
  }).map((family): Line => {
    const windowMs = Math.max(1, Math.round(WINDOW_MS[family.window] / speed))
    const strikeStep = family.asset === 'BTC' ? 100 : family.asset === 'ETH' ? 5 : 1
    return { family, windowMs, round: Math.floor(start / windowMs), strikeStep }
  })

  /** The markets of one round, around the prices given. */
  function plansOf(line: Line, round: number, prices: Prices): Omit<MarketPlan, 'index'>[] {
    const { family, windowMs } = line
    const openTime = round * windowMs
    return Array.from({ length: Math.max(1, family.strikes) }, (_, strikeNumber) => ({
      family,
      round,
      strikeNumber,
      strike: family.strikes === 0 ? undefined : strikeOf(line, strikeNumber, prices),
      listTime: openTime - rounds * windowMs,
      openTime,
      closeTime: openTime + windowMs,
      secondMs,
    }))
  }

  function create(plan: Omit<MarketPlan, 'index'>): Market {
    const { venue } = plan.family
    const markets = listed.get(venue)!
    const market = new Market({ ...plan, index: markets.length }, seed, rates[venue])
    markets.push(market)
    return market
  }

  function list(line: Line, at: number, emit: (event: WorldEvent) => void): void {
    for (const plan of plansOf(line, line.round, underlying)) {
      const market = create(plan)
      living.push(market)
      emit({ kind: 'listed', at, proposition: market })
    }
    line.round++
  }

  // What was over before the start: in the catalogue from the beginning, in order of listing.
  function listHistory(history: number): void {
    const past = createPast(seed, start, speed, underlying)
    const plans = lines.flatMap((line) =>
      Array.from({ length: history }, (_, back) => line.round - history + back).flatMap((round) =>
        plansOf(line, round, past((round - rounds) * line.windowMs)),
      ),
    )
    plans.sort((a, b) => a.listTime - b.listTime)
    untold = plans.map((plan) => {
      const market = create(plan)
      market.conclude(past(plan.openTime), past(plan.closeTime))
      return market
    })
  }

  function tellHistory(emit: (event: WorldEvent) => void): void {
    for (const market of untold) {
      const { at } = market.schedule.at(-1)!
      emit({ kind: 'listed', at: market.listTime, proposition: market })
      emit({ kind: 'phase', at: Math.min(at, start), proposition: market })
    }
    untold = []
  }

  // Around the price of the listing, rounded, so that most strikes stay in play for the hour.
  function strikeOf({ family, strikeStep }: Line, number: number, prices: Prices): string {
    const base = Math.round(prices.price(family.asset) / strikeStep) * strikeStep
    const offset = (number - (family.strikes - 1) / 2) * spacing(family, strikeStep)
    return (base + offset - 0.01).toFixed(2)
  }

  function enter(market: Market, at: number, emit: (event: WorldEvent) => void): void {
    const { phase } = market.schedule[market.scheduled++]!
    const before = market.phase
    const tell = (levels: readonly Level[]): void => {
      if (levels.length > 0) {
        emit({ kind: 'book', at, proposition: market, levels, fill: undefined })
      }
    }
    if (phase === 'closed') {
      market.phase = phase
      tell(market.clear())
    } else if (phase === 'open' && before === 'paused') {
      tell(market.clear())
    } else if (phase === 'determined' && before === 'closed') {
      market.determine(underlying)
    }
    market.phase = phase
    if (phase === 'open') market.start(underlying)
    emit({ kind: 'phase', at, proposition: market })
    if (phase !== 'open') return
    tell(market.open(underlying, at))
    schedule(market)
  }

  function schedule(market: Market): void {
    const { changes, trades } = rates[market.venue]
    const per = (STEP_MS / 1000) * market.activity
    market.nextChange = step + gap(market, changes * per)
    market.nextTrade = step + gap(market, trades * per)
  }

  function flow(market: Market, at: number, emit: (event: WorldEvent) => void): void {
    const { changes, trades } = rates[market.venue]
    const per = (STEP_MS / 1000) * market.activity
    while (market.nextChange <= step || market.nextTrade <= step) {
      const first = market.nextChange <= market.nextTrade
      const { levels, fill } = first ? market.change(underlying, at) : market.trade(underlying, at)
      if (first) market.nextChange += gap(market, changes * per)
      else market.nextTrade += gap(market, trades * per)
      if (levels.length === 0) continue
      emit({ kind: 'book', at, proposition: market, levels, fill })
      if (market.venue === 'venuec' && market.tick === 100 && market.nearEnd) {
        market.tick = 10
        emit({ kind: 'tick', at, proposition: market, before: 100 })
      }
    }
  }

  function doStep(onEvent: (event: WorldEvent) => void): void {
    step++
    underlying.step()
    const at = timeOf(step)
    const emit = (event: WorldEvent): void => {
      const skew = skews.get(event.proposition.venue) ?? 0
      onEvent(skew === 0 ? event : { ...event, at: event.at + skew })
    }
    tellHistory(emit)
    for (const line of lines) {
      while ((line.round - rounds) * line.windowMs <= at) list(line, at, emit)
    }
    let ended = false
    for (const market of living) {
      while ((market.schedule[market.scheduled]?.at ?? Infinity) <= at) enter(market, at, emit)
      if (market.phase === 'open') flow(market, at, emit)
      else if (market.phase === 'resolved') ended = true
    }
    if (ended) living = living.filter((market) => market.phase !== 'resolved')
  }

  function timeOf(number: number): number {
    return start + Math.floor((number * STEP_MS) / speed)
  }

  listHistory(options.history ?? 0)

  return {
    now: (venue) => Math.floor(options.clock()) + (skews.get(venue) ?? 0),
    propositions: (venue): readonly Proposition[] => listed.get(venue)!,
    hex: (name, digits) => toHex(`${seed}/${name}`, digits),
    advance(to, onEvent) {
      while (timeOf(step + 1) <= to) doStep(onEvent)
    },
    skew(venue, ms) {
      skews.set(venue, ms)
    },
    flip(venue, count, at, onEvent) {
      const open = living.filter((market) => market.venue === venue && market.phase === 'open')
      for (let i = 0; i < count && open.length > 0; i++) {
        const market = open[flipped++ % open.length]!
        const levels = market.flip()
        if (levels.length === 0) continue
        onEvent({ kind: 'book', at, proposition: market, levels, fill: undefined })
      }
    },
    get step() {
      return step
    },
  }
}

type Prices = Pick<Underlying, 'price'>
type Level = Extract<WorldEvent, { kind: 'book' }>['levels'][number]

// Exponential: orders come independently of each other.
function gap(market: Market, perStep: number): number {
  return perStep <= 0 ? Infinity : -Math.log(1 - market.random.next()) / perStep
}

// At most 2 % of the price on each side, so that a few hundred strikes still trade.
function spacing({ asset, strikes }: Family, strikeStep: number): number {
  const widest = (ASSETS[asset] * 0.04) / strikes
  return widest >= strikeStep ? strikeStep : Math.max(0.01, Math.round(widest * 100) / 100)
}
