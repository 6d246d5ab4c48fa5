import type { VenueId } from '@priorbook/sdk/domain'
import type { Answer, Book, Outcome, Phase, Topic, TopicProposition } from '../../core/upstream.ts'
import { changeBook, openBook, trade, type Depth, type FlowStep, type Place } from '../flow.ts'
import { createLadder, type Ladder, type LevelChange } from '../ladder.ts'
import { createRandom, type Random } from '../random.ts'

/** What the markets of a venue share. */
export type Trading = {
  readonly venue: VenueId
  readonly seed: string
  /** The step of sizes, in millionths of a share. */
  readonly lot: number
  /** True where the tick becomes finer near prices of 0 and 1. */
  readonly refinesTick: boolean
  /** Of the order flow; the first ladder of a market has a source of its own. */
  readonly random: Random
}

/** The identity and times of a market. */
export type TopicMarketPlan = {
  readonly topic: Topic
  readonly answer: Answer
  readonly index: number
  readonly listTime: number
  readonly openTime: number
  readonly closeTime: number
  /** Its first value, in ten-thousandths. */
  readonly chance: number
  readonly tick: number
}

const ONE = 10_000
const DEPTH: Depth = { min: 3, max: 15 }
/** How far the value moves with an order at most times, in ten-thousandths. */
const DRIFT = 8
const NEAR_END = 400
const SHARE = 1_000_000

/** A market of the broad world. Its ladder is made when something reads or changes it. */
export class TopicMarket implements TopicProposition {
  readonly venue: VenueId
  readonly index: number
  readonly topic: Topic
  readonly answer: Answer
  readonly listTime: number
  readonly openTime: number
  closeTime: number
  tick: number
  grain: number
  phase: Phase = 'listed'
  outcome: Outcome | undefined
  lastTrade: number | undefined
  volume = 0
  participants = 0
  version = 0
  readonly #trading: Trading
  #ladder: Ladder | undefined
  /** True for a market that was open before the start and has resting orders. */
  #isQuoted = false
  #fair: number

  constructor(plan: TopicMarketPlan, trading: Trading) {
    this.venue = trading.venue
    this.index = plan.index
    this.topic = plan.topic
    this.answer = plan.answer
    this.listTime = plan.listTime
    this.openTime = plan.openTime
    this.closeTime = plan.closeTime
    this.tick = this.grain = plan.tick
    this.#fair = Math.min(ONE - 30, Math.max(30, plan.chance))
    this.#trading = trading
  }

  get book(): Book {
    return this.#ladder === undefined && !this.#isQuoted ? EMPTY : this.#orders().book()
  }

  /** Makes it a market that has been open for long: what it traded so far follows from its rank. */
  stand(rank: number | undefined, isQuoted: boolean): void {
    this.phase = 'open'
    this.#isQuoted = isQuoted
    if (rank === undefined) return
    const { lot } = this.#trading
    this.lastTrade = Math.min(ONE - this.tick, Math.max(this.tick, this.#onTick()))
    this.volume = Math.ceil((4_000_000 * SHARE) / (20 + rank) / lot) * lot
    this.participants = 2 + Math.floor(20_000 / (20 + rank))
  }

  /** Places the first ladder. */
  open(): readonly LevelChange[] {
    this.#ladder ??= createLadder()
    return this.#apply(openBook(this.#place(this.#ladder, this.#trading.random))).levels
  }

  /** One order; the trade that it made, if any. */
  change(): FlowStep {
    const { random } = this.#trading
    const ladder = this.#orders()
    const fair = this.#fair + DRIFT * random.normal()
    this.#fair = Math.min(ONE - 30, Math.max(30, fair))
    return this.#apply(changeBook(this.#place(ladder, random)))
  }

  /** One trade. */
  trade(): FlowStep {
    return this.#apply(trade(this.#place(this.#orders(), this.#trading.random)))
  }

  /** Removes every level. */
  clear(): readonly LevelChange[] {
    return this.#apply({ levels: this.#orders().clear() }).levels
  }

  /** Makes the tick finer near prices of 0 and 1 where the venue does; true where it became finer. */
  refineTick(): boolean {
    if (!this.#trading.refinesTick || this.tick !== 100) return false
    const price = this.lastTrade ?? this.#fair
    const isNearEnd = price > ONE - NEAR_END || price < NEAR_END
    if (isNearEnd) this.tick = this.grain = 10
    return isNearEnd
  }

  // The first ladder depends on the market alone, so it does not matter when it is made.
  #orders(): Ladder {
    if (this.#ladder === undefined) {
      this.#ladder = createLadder()
      const { topic, answer } = this
      const name = `${this.#trading.seed}/${this.venue}/${topic.name}/${answer.code}/orders`
      if (this.#isQuoted) openBook(this.#place(this.#ladder, createRandom(name)))
    }
    return this.#ladder
  }

  #place(ladder: Ladder, random: Random): Place {
    const { tick, grain } = this
    return { ladder, random, tick, grain, lot: this.#trading.lot, fair: this.#fair, depth: DEPTH }
  }

  #onTick(): number {
    return Math.round(this.#fair / this.tick) * this.tick
  }

  #apply(step: FlowStep): FlowStep {
    const { levels, fill } = step
    if (levels.length > 0) this.version++
    if (fill !== undefined) {
      this.lastTrade = fill.price
      this.volume += fill.size
      if (this.#trading.random.chance(0.3)) this.participants++
    }
    return step
  }
}

const EMPTY: Book = { bids: [], asks: [] }
