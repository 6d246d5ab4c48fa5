import type { TopicKind } from '../../core/upstream.ts'
import { createRandom } from '../random.ts'
import { planAward, planElection } from './elections.ts'
import { matchPlanner, type MatchStyle } from './matches.ts'
import { planCombo, planQuestion } from './questions.ts'
import { planRange, planThreshold } from './ranges.ts'
import { dayCode, type Calendar, type PlanTopic, type TopicPlan } from './topic-plan.ts'

const DAY_MS = 86_400_000
/**
 * Topics have the same names for so long, whenever the emulator starts. They close in the second period
 * after that or later.
 */
const PERIOD_MS = 28 * DAY_MS
/** Topics close in the afternoon. */
const HOUR_MS = 15 * 3_600_000

/** What part of the markets each kind of topic has. */
const SHARES: readonly (readonly [TopicKind, number])[] = [
  ['election', 0.28],
  ['award', 0.07],
  ['range', 0.2],
  ['threshold', 0.08],
  ['match', 0.15],
  ['question', 0.22],
]

/** How the n-th topic of each kind is planned at a venue. */
export type Planners = Readonly<Record<TopicKind, PlanTopic>>

/** The planners of a venue. */
export function plannersOf(matches: MatchStyle): Planners {
  return {
    election: planElection,
    award: planAward,
    range: planRange,
    threshold: planThreshold,
    match: matchPlanner(matches),
    question: planQuestion,
    combo: planCombo,
  }
}

/** When the topics that stand at the start were listed at the latest. */
export function standingSince(start: number): number {
  return Math.floor(start / PERIOD_MS) * PERIOD_MS
}

/** Topics that stand for weeks or years, with `count` markets in all, then combinations. */
export function* planStanding(
  seed: string,
  start: number,
  planners: Planners,
  count: number,
  combos: number,
): Generator<TopicPlan> {
  const base = standingSince(start) + 2 * PERIOD_MS + HOUR_MS
  const calendar: Calendar = {
    closeOf: (ordinal, stepDays, offsetDays = 0) =>
      base + (ordinal * stepDays + offsetDays) * DAY_MS,
    codeOf: dayCode,
  }
  const made = new Map<TopicKind, { topics: number; markets: number }>()
  const plan = (kind: TopicKind, most: number): TopicPlan | undefined => {
    const own = made.get(kind) ?? { topics: 0, markets: 0 }
    const random = createRandom(`${seed}/topic/${kind}/${own.topics}`)
    const planned = planners[kind](own.topics, calendar, random)
    if (planned.answers.length > most) return undefined
    made.set(kind, {
      topics: own.topics + 1,
      markets: own.markets + planned.answers.length,
    })
    return planned
  }
  for (let left = count; left > 0;) {
    const behind = ([kind, share]: (typeof SHARES)[number]): number =>
      (made.get(kind)?.markets ?? 0) / share
    const [kind] = SHARES.reduce((a, b) => (behind(b) < behind(a) ? b : a))
    const planned = plan(kind, left) ?? plan('question', left)!
    left -= planned.answers.length
    yield planned
  }
  for (let combo = 0; combo < combos; combo++) yield plan('combo', 1)!
}
