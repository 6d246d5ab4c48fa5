import type { Phase, TopicKind } from '../../core/upstream.ts'
import { createRandom, type Random } from '../random.ts'
import type { Planners } from './standing.ts'
import { dayCode, type Calendar, type TopicPlan } from './topic-plan.ts'

/** Something that a topic does at a time: its markets enter a phase, or their close is moved. */
export type Act =
  | { readonly at: number; readonly phase: Phase }
  | { readonly at: number; readonly closeTime: number }

/** A topic that comes and goes during a run. */
export type PassingPlan = TopicPlan & {
  readonly number: number
  readonly listTime: number
  readonly openTime: number
  readonly acts: readonly Act[]
}

/** Passing topics have numbers above all others. */
const FIRST_NUMBER = 1e12
/** Nominal seconds from the opening to the close, at least and on top of that. */
const LIFE_S = { least: 60, more: 540 } as const
/** Shares of what may happen to a passing topic. */
const PAUSES = 0.4
const MOVES = 0.4
const DISPUTES = 0.05
/** Nominal seconds after which every passing topic is over, with delays and disputes. */
export const LONGEST_S = 1_200

/** Passing topics: number k is listed at k times the interval, whenever the emulator starts. */
export class Turnover {
  readonly intervalMs: number
  readonly #seed: string
  readonly #secondMs: number
  readonly #planners: Planners

  /** `perMinute`: topics listed in a nominal minute. */
  constructor(seed: string, speed: number, planners: Planners, perMinute: number) {
    this.intervalMs = 60_000 / (perMinute * speed)
    this.#seed = seed
    this.#secondMs = 1_000 / speed
    this.#planners = planners
  }

  /** When topic k is listed. */
  listTimeOf(k: number): number {
    return Math.ceil(k * this.intervalMs)
  }

  plan(k: number): PassingPlan {
    const random = createRandom(`${this.#seed}/passing/${k}`)
    const kind = kindOf(random)
    const secondMs = this.#secondMs
    const listTime = this.listTimeOf(k)
    const openTime = listTime + Math.ceil((5 + 10 * random.next()) * secondMs)
    const lifeMs = Math.ceil((LIFE_S.least + LIFE_S.more * random.next()) * secondMs)
    const closeTime = openTime + lifeMs
    const acts: Act[] = [{ at: openTime, phase: 'open' }]
    if (kind === 'match' && random.chance(PAUSES)) {
      const at = openTime + Math.ceil(lifeMs * (0.1 + 0.2 * random.next()))
      acts.push({ at, phase: 'paused' }, { at: at + Math.ceil(lifeMs * 0.1), phase: 'open' })
    }
    let end = closeTime
    if (random.chance(MOVES)) {
      const at = openTime + Math.ceil(lifeMs * (0.5 + 0.3 * random.next()))
      // A match is delayed; any other question may be answered early.
      end = kind === 'match' ? closeTime + Math.ceil(lifeMs * 0.3) : at + Math.ceil(5 * secondMs)
      acts.push({ at, closeTime: end })
    }
    acts.push(...endingOf(end, secondMs, random))
    const plan = this.#planners[kind](k, this.#calendarOf(k, closeTime), random)
    return { ...plan, number: FIRST_NUMBER + k, listTime, openTime, closeTime, acts }
  }

  #calendarOf(k: number, closeTime: number): Calendar {
    const clock = new Date(closeTime).toISOString().slice(11, 16).replace(':', '')
    const suffix = (k % 46_656).toString(36).toUpperCase().padStart(3, '0')
    return { closeOf: () => closeTime, codeOf: (time) => `${dayCode(time)}${clock}${suffix}` }
  }
}

/** From the close to the resolution. */
export function endingOf(closeTime: number, secondMs: number, random: Random): Act[] {
  const acts: Act[] = [{ at: closeTime, phase: 'closed' }]
  let at = closeTime + Math.ceil((2 + 6 * random.next()) * secondMs)
  acts.push({ at, phase: 'determined' })
  if (random.chance(DISPUTES)) {
    acts.push({ at: (at += Math.ceil(2 * secondMs)), phase: 'disputed' })
    acts.push({ at: (at += Math.ceil(20 * secondMs)), phase: 'determined' })
  }
  acts.push({ at: at + Math.ceil((2 + 3 * random.next()) * secondMs), phase: 'resolved' })
  return acts
}

function kindOf(random: Random): TopicKind {
  const drawn = random.next()
  if (drawn < 0.5) return 'match'
  if (drawn < 0.65) return 'range'
  return drawn < 0.7 ? 'threshold' : 'question'
}
