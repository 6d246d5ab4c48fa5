import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import type { Phase, Proposition, Topic, WorldEvent } from '../../core/upstream.ts'
import type { MarketStyle } from '../families.ts'
import { createRandom, type Random } from '../random.ts'
import { Activity } from './activity.ts'
import { DueHeap } from './due-heap.ts'
import { planStanding, plannersOf, standingSince } from './standing.ts'
import type { TopicPlan } from './topic-plan.ts'
import { TopicMarket, type Trading } from './topic-market.ts'
import { endingOf, LONGEST_S, Turnover, type Act } from './turnover.ts'

/** The broad world of one venue. */
export type BreadthPlan = {
  readonly venue: VenueId
  readonly style: MarketStyle
  /** Markets that are open from the start on. */
  readonly markets: number
  /** Orders and trades of all markets in a nominal second. */
  readonly rate: number
  /** Topics listed in a nominal minute. */
  readonly turnover: number
}

/** When a world begins and how fast it runs. */
type Setting = { readonly seed: string; readonly start: number; readonly speed: number }

/** A topic with what is still to happen to it. */
type LivingTopic = {
  readonly topic: Topic
  readonly markets: readonly TopicMarket[]
  readonly chances: readonly number[]
  readonly acts: readonly Act[]
  done: number
}

type Emit = (event: WorldEvent) => void

/** Topics of many kinds beside a venue's rounds. A market without orders costs nothing per step. */
export class Breadth {
  readonly venue: VenueId
  /** Orders, phases and listings so far: all work that was done since the start. */
  work = 0
  readonly #setting: Setting
  readonly #trading: Trading
  /** All markets of the venue, rounds too. */
  readonly #listed: Proposition[]
  readonly #random: Random
  readonly #due = new DueHeap<LivingTopic>()
  readonly #activity: Activity<TopicMarket>
  readonly #turnover: Turnover | undefined
  readonly #perMs: number
  #topics = FIRST_NUMBER
  #nextPassing = Infinity
  #nextOrder: number

  constructor(plan: BreadthPlan, setting: Setting, listed: Proposition[]) {
    const { venue, style, rate } = plan
    const { seed, start, speed } = setting
    const { breadth } = style
    if (!Number.isInteger(plan.markets) || plan.markets < 1) {
      throw new PriorbookError('invalid_argument', `${plan.markets} is not a number of markets`)
    }
    this.venue = venue
    this.#setting = setting
    this.#listed = listed
    const name = `${seed}/${venue}/breadth`
    this.#random = createRandom(name)
    const { lot, refinesTick } = style
    this.#trading = { venue, seed, lot, refinesTick, random: this.#random }
    const planners = plannersOf(breadth.matches)
    const combos = Math.round(plan.markets * breadth.combos)
    const standing: TopicMarket[] = []
    for (const topic of planStanding(name, start, planners, plan.markets, combos)) {
      standing.push(...this.#stand(topic))
    }
    this.#activity = new Activity(standing, createRandom(`${name}/ranks`))
    for (const market of standing) {
      const rank = this.#activity.rankOf(market)
      market.stand(rank, rank !== undefined || this.#random.chance(QUOTED_SHARE))
    }
    if (plan.turnover > 0) {
      this.#turnover = new Turnover(name, speed, planners, plan.turnover)
      this.#resume(this.#turnover)
    }
    this.#perMs = (rate * speed) / 1000
    this.#nextOrder = start + this.#gap()
  }

  /** Runs everything that is due at this time. */
  step(at: number, emit: Emit): void {
    for (let k = this.#nextPassing; this.#turnover !== undefined; k = ++this.#nextPassing) {
      if (this.#turnover.listTimeOf(k) > at) break
      this.#list(this.#turnover, k, at, emit)
    }
    for (let topic = this.#due.shiftDue(at); topic !== undefined; topic = this.#due.shiftDue(at)) {
      this.#act(topic, at, emit)
    }
    while (this.#nextOrder <= at) {
      this.#nextOrder += this.#gap()
      this.#order(at, emit)
    }
  }

  // Exponential: orders come independently of each other.
  #gap(): number {
    return this.#perMs > 0 ? -Math.log(1 - this.#random.next()) / this.#perMs : Infinity
  }

  #order(at: number, emit: Emit): void {
    this.work++
    const market = this.#activity.pick(this.#random)
    if (market?.phase !== 'open') return
    const { levels, fill } = this.#random.chance(TRADE_SHARE) ? market.trade() : market.change()
    if (levels.length === 0) return
    emit({ kind: 'book', at, proposition: market, levels, fill })
    if (market.refineTick()) emit({ kind: 'tick', at, proposition: market, before: 100 })
  }

  // Listed before the start, to close long after it.
  #stand(plan: TopicPlan): readonly TopicMarket[] {
    const { seed, start, speed } = this.#setting
    const random = createRandom(`${seed}/${this.venue}/${plan.series.code}-${plan.code}/life`)
    const listTime = standingSince(start) - random.int(60) * DAY_MS
    const openTime = listTime + HOUR_MS
    const acts = endingOf(plan.closeTime, 1000 / speed, random)
    const living = this.#create({ ...plan, number: this.#topics++, listTime, openTime, acts })
    this.#due.add(acts[0]!.at, living)
    if (plan.kind !== 'combo') return living.markets
    for (const market of living.markets) market.stand(undefined, false)
    return []
  }

  // Passing topics that were listed before the start and are not over.
  #resume(turnover: Turnover): void {
    const { start, speed } = this.#setting
    const back = Math.ceil((LONGEST_S * 1000) / speed / turnover.intervalMs)
    const last = Math.floor(start / turnover.intervalMs)
    for (let k = last - back; k <= last; k++) {
      const plan = turnover.plan(k)
      const next = plan.acts.findIndex(({ at }) => at > start)
      const before = plan.acts.slice(0, next)
      if (next < 0 || before.some((act) => 'phase' in act && act.phase === 'closed')) continue
      const living = this.#create(plan)
      for (const act of before) {
        for (const market of living.markets) {
          if ('closeTime' in act) market.closeTime = act.closeTime
          else market.phase = act.phase
        }
      }
      living.done = next
      for (const market of living.markets) {
        if (market.phase === 'listed') continue
        this.#activity.join(market)
        const { phase } = market
        market.stand(this.#activity.rankOf(market), true)
        market.phase = phase
      }
      this.#due.add(plan.acts[next]!.at, living)
    }
    this.#nextPassing = last + 1
  }

  #list(turnover: Turnover, k: number, at: number, emit: Emit): void {
    this.work++
    const living = this.#create(turnover.plan(k))
    this.#due.add(living.acts[0]!.at, living)
    for (const proposition of living.markets) emit({ kind: 'listed', at, proposition })
  }

  #create(plan: LivingPlan): LivingTopic {
    const { listTime, openTime, closeTime, answers, chances, acts } = plan
    const markets: TopicMarket[] = []
    const topic: Topic = {
      kind: plan.kind,
      name: `${plan.series.code}-${plan.code}`,
      number: plan.number,
      category: plan.category,
      tags: plan.tags,
      series: plan.series,
      code: plan.code,
      title: plan.title,
      isExclusive: plan.isExclusive,
      markets,
    }
    const tick = answers.length > MOST_IN_CENTS ? 10 : 100
    for (const [place, answer] of answers.entries()) {
      const index = this.#listed.length
      const times = { listTime, openTime, closeTime }
      const chance = chances[place]!
      const market = new TopicMarket(
        { topic, answer, index, ...times, chance, tick },
        this.#trading,
      )
      markets.push(market)
      this.#listed.push(market)
    }
    return { topic, markets, chances, acts, done: 0 }
  }

  #act(living: LivingTopic, at: number, emit: Emit): void {
    this.work++
    const { acts, markets } = living
    const act = acts[living.done++]!
    if ('closeTime' in act) {
      for (const market of markets) {
        const before = market.closeTime
        market.closeTime = act.closeTime
        emit({ kind: 'moved', at, proposition: market, before })
      }
    } else {
      if (act.phase === 'determined') this.#determine(living)
      for (const market of markets) this.#enter(market, act.phase, at, emit)
    }
    const next = acts[living.done]
    if (next !== undefined) this.#due.add(next.at, living)
  }

  #enter(market: TopicMarket, phase: Phase, at: number, emit: Emit): void {
    const before = market.phase
    if (phase === 'closed') market.phase = phase
    if (phase === 'closed' || (phase === 'open' && before === 'paused')) {
      const levels = market.clear()
      if (levels.length > 0)
        emit({ kind: 'book', at, proposition: market, levels, fill: undefined })
    }
    if (phase === 'closed') this.#activity.leave(market)
    market.phase = phase
    emit({ kind: 'phase', at, proposition: market })
    if (phase !== 'open') return
    if (before === 'listed') this.#activity.join(market)
    const levels = market.open()
    if (levels.length > 0) emit({ kind: 'book', at, proposition: market, levels, fill: undefined })
  }

  // One answer of several wins; of thresholds, all that the value passes.
  #determine({ topic, markets, chances }: LivingTopic): void {
    const { seed } = this.#setting
    const drawn = createRandom(`${seed}/${this.venue}/${topic.name}/end`).next()
    const sum = topic.isExclusive ? chances.reduce((total, chance) => total + chance, 0) : 10_000
    let left = drawn * sum
    let result = ''
    for (const [place, market] of markets.entries()) {
      const isWinner = left >= 0 && left < chances[place]!
      if (topic.isExclusive) left -= chances[place]!
      if (isWinner) result = market.answer.label
      market.outcome = { winner: isWinner ? 'first' : 'second', endPrice: '' }
    }
    // All markets of a topic tell the same result.
    for (const market of markets) market.outcome = { ...market.outcome!, endPrice: result }
  }
}

type LivingPlan = TopicPlan & {
  readonly number: number
  readonly listTime: number
  readonly openTime: number
  readonly acts: readonly Act[]
}

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** Numbers of the standing topics begin here. */
const FIRST_NUMBER = 20_000
/** Topics of more answers have prices of tenths of a cent. */
const MOST_IN_CENTS = 12
/** Share of the markets that never trade that have resting orders all the same. */
const QUOTED_SHARE = 0.7
/** Share of trades in the order flow. */
const TRADE_SHARE = 0.06
