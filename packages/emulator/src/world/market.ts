import type { VenueId } from '@priorbook/sdk/domain'
import type { Book, Fill, Outcome, Phase, RoundProposition } from '../core/upstream.ts'
import type { Family, MarketStyle } from './families.ts'
import { changeBook, openBook, trade, type Depth, type FlowStep, type Place } from './flow.ts'
import { createLadder, type Ladder, type LevelChange } from './ladder.ts'
import { createRandom, type Random } from './random.ts'
import { fairPrice, type Underlying } from './underlying.ts'

/** Rates of orders and trades per market and second at speed 1, and shares of unusual markets. */
export type MarketRates = {
  /** Orders placed, changed and cancelled. */
  readonly changes: number
  readonly trades: number
  /** Share of markets that pause once. */
  readonly pauses: number
  /** Share of markets whose result is disputed. */
  readonly disputes: number
  /** Share of rounds that end exactly where they began. */
  readonly ties: number
}

/** The identity and times of a market. */
export type MarketPlan = {
  readonly venue: VenueId
  readonly style: MarketStyle
  readonly family: Family
  readonly index: number
  readonly round: number
  /** The strike's number within the round, from 0. */
  readonly strikeNumber: number
  readonly strike: string | undefined
  readonly listTime: number
  readonly openTime: number
  readonly closeTime: number
  /** Milliseconds of the wall clock per nominal second. */
  readonly secondMs: number
}

/** Max volume of a market of the past, in millionths of a share. */
const MOST_TRADED = 50_000_000_000

const DEPTH: Depth = { min: 20, max: 60 }

/** One emulated market: its public state and its order flow. */
export class Market implements RoundProposition {
  readonly venue: VenueId
  readonly index: number
  readonly asset: RoundProposition['asset']
  readonly window: RoundProposition['window']
  readonly listTime: number
  readonly openTime: number
  readonly closeTime: number
  readonly strike?: string
  readonly averageSeconds?: number
  startPrice = ''
  tick = 100
  grain = 100
  phase: Phase = 'listed'
  outcome: Outcome | undefined
  lastTrade: number | undefined
  volume = 0
  participants = 0
  version = 0

  /** Its activity relative to the average market. */
  readonly activity: number
  /** The steps at which its next change and its next trade are due. */
  nextChange = Infinity
  nextTrade = Infinity
  readonly random: Random
  readonly ladder: Ladder = createLadder()
  /** Phases still to come, by time. */
  readonly schedule: readonly { readonly at: number; readonly phase: Phase }[]
  scheduled = 0
  readonly #style: MarketStyle
  readonly #ties: boolean
  readonly #secondMs: number
  #endPrice = ''

  constructor(plan: MarketPlan, seed: string, rates: MarketRates) {
    const { family, venue } = plan
    this.venue = venue
    this.#style = plan.style
    this.index = plan.index
    this.asset = family.asset
    this.window = family.window
    this.listTime = plan.listTime
    this.openTime = plan.openTime
    this.closeTime = plan.closeTime
    if (plan.strike !== undefined) this.strike = plan.strike
    const averageSeconds = plan.style.averageSeconds?.(family.window, plan.openTime)
    if (averageSeconds !== undefined) this.averageSeconds = averageSeconds
    const round = `${seed}/round/${family.asset}/${family.window}/${plan.round}`
    this.random = createRandom(`${round}/${venue}/${plan.strikeNumber}`)
    this.activity = Math.exp(0.4 * this.random.normal())
    // Venues agree on where a round ended, so the round decides, not the market.
    this.#ties = plan.strike === undefined && createRandom(`${round}/tie`).chance(rates.ties)
    this.#secondMs = plan.secondMs
    this.schedule = planPhases(plan, this.random, rates)
  }

  get book(): Book {
    return this.ladder.book()
  }

  /** Records the start price; a market that reopens keeps it. */
  start(underlying: Pick<Underlying, 'text'>): void {
    if (this.startPrice === '') this.startPrice = this.#settlingPrice(underlying)
  }

  /** Records the price at the close, which decides. */
  end(underlying: Pick<Underlying, 'text'>): void {
    this.#endPrice = this.#settlingPrice(underlying)
  }

  // At its start and at its end alike: the price then, or the average of the seconds before.
  #settlingPrice(underlying: Pick<Underlying, 'text'>): string {
    return underlying.text(this.asset, this.averageSeconds)
  }

  /** Places the first ladder. */
  open(underlying: Underlying, at: number): readonly LevelChange[] {
    return this.#apply(openBook(this.#place(underlying, at)))
  }

  /** One order; the trade that it made, if any. */
  change(underlying: Underlying, at: number): FlowStep {
    const step = changeBook(this.#place(underlying, at))
    this.#apply(step)
    return step
  }

  /** One trade. */
  trade(underlying: Underlying, at: number): FlowStep {
    const step = trade(this.#place(underlying, at))
    this.#apply(step)
    return step
  }

  /** Removes every level. */
  clear(): readonly LevelChange[] {
    return this.#apply({ levels: this.ladder.clear() })
  }

  /** One level grows and shrinks in turn: the cheapest real change, for floods. */
  flip(): readonly LevelChange[] {
    const turn = this.version & 2 ? 'bid' : 'ask'
    // Far from the strike one side may have no room; then only the other side moves.
    const side = this.ladder.best(turn) === undefined ? (turn === 'bid' ? 'ask' : 'bid') : turn
    const level = this.ladder.side(side).at(-1)
    if (level === undefined) return []
    const shrinks = (this.version & 1) === 1 && level.size > 1_000_000
    const size = level.size + (shrinks ? -1_000_000 : 1_000_000)
    const change = this.ladder.set(side, level.price, size)
    return change === undefined ? [] : this.#apply({ levels: [change] })
  }

  /** Decides the outcome. */
  determine(): void {
    const strike = this.strike ?? this.startPrice
    const endPrice = this.#ties ? this.startPrice : this.#endPrice
    const difference = Number(endPrice) - Number(strike)
    this.outcome = {
      winner: difference > 0 ? 'first' : difference < 0 ? 'second' : this.#style.tieWinner,
      endPrice,
    }
  }

  /** Resolves it before the world begins, from the prices at its start and end. */
  conclude(start: Pick<Underlying, 'text'>, end: Pick<Underlying, 'text'>): void {
    const { random } = this
    const { lot } = this.#style
    this.start(start)
    this.end(end)
    this.determine()
    this.volume = (1 + random.int(MOST_TRADED / lot)) * lot
    this.participants = 1 + random.int(400)
    this.lastTrade =
      (this.outcome!.winner === 'second' ? 1 + random.int(20) : 99 - random.int(20)) * 100
    this.phase = 'resolved'
    this.scheduled = this.schedule.length
  }

  /** Makes the tick finer near prices of 0 and 1 where the venue does; true where it became finer. */
  refineTick(): boolean {
    if (!this.#style.refinesTick || this.tick !== 100) return false
    const price = this.lastTrade ?? this.ladder.best('bid')?.price ?? 5_000
    const isNearEnd = price > 9_600 || price < 400
    if (isNearEnd) this.tick = this.grain = 10
    return isNearEnd
  }

  /** Allows finer prices from the middle of the window on where the style does. */
  refineGrain(at: number): void {
    const { finestGrain } = this.#style
    const middle = (this.openTime + this.closeTime) / 2
    if (finestGrain !== undefined && at >= middle) this.grain = finestGrain
  }

  #place(underlying: Underlying, at: number): Place {
    const strike = Number(this.strike ?? this.startPrice)
    const secondsLeft = (this.closeTime - at) / this.#secondMs
    const fair = fairPrice(underlying.price(this.asset), strike, secondsLeft)
    const { ladder, random, tick, grain } = this
    return { ladder, random, tick, grain, lot: this.#style.lot, fair, depth: DEPTH }
  }

  #apply(step: FlowStep): readonly LevelChange[] {
    if (step.levels.length > 0) this.version++
    if (step.fill !== undefined) this.#count(step.fill)
    return step.levels
  }

  #count(fill: Fill): void {
    this.lastTrade = fill.price
    this.volume += fill.size
    if (this.random.chance(0.3)) this.participants++
  }
}

function planPhases(
  plan: MarketPlan,
  random: Random,
  rates: MarketRates,
): readonly { readonly at: number; readonly phase: Phase }[] {
  const { openTime, closeTime, secondMs } = plan
  const phases: { at: number; phase: Phase }[] = [{ at: openTime, phase: 'open' }]
  if (random.chance(rates.pauses)) {
    const length = closeTime - openTime
    const at = openTime + Math.floor(length * (0.2 + 0.5 * random.next()))
    phases.push({ at, phase: 'paused' }, { at: at + Math.ceil(length * 0.05), phase: 'open' })
  }
  phases.push({ at: closeTime, phase: 'closed' })
  // Recorded settlements came 4 to 11 s after the close.
  let at = closeTime + Math.ceil((2 + 5 * random.next()) * secondMs)
  phases.push({ at, phase: 'determined' })
  if (random.chance(rates.disputes)) {
    phases.push({ at: (at += Math.ceil(2 * secondMs)), phase: 'disputed' })
    phases.push({ at: (at += Math.ceil(20 * secondMs)), phase: 'determined' })
  }
  phases.push({ at: at + Math.ceil((2 + 3 * random.next()) * secondMs), phase: 'resolved' })
  return phases
}
