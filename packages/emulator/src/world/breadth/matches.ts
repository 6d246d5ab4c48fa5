import type { Answer } from '../../core/upstream.ts'
import { dayText, YES_NO, type PlanTopic } from './topic-plan.ts'
import { CITIES } from './words.ts'

/** How a venue lists a match with two possible results: one market, or one for each side. */
export type MatchStyle = 'one' | 'each'

/** Matches of two teams: two results, or three where a draw is one. */
export function matchPlanner(style: MatchStyle): PlanTopic {
  return (n, calendar, random) => {
    const league = LEAGUES[n % LEAGUES.length]!
    const ordinal = Math.floor(n / LEAGUES.length)
    const day = Math.floor(ordinal / PER_DAY)
    const closeTime = calendar.closeOf(day, 1)
    const [home, away] = pairing(day, ordinal % PER_DAY)
    const on = dayText(closeTime)
    const first = 1_500 + random.int(7_000)
    const draw = league.hasDraw ? Math.round((10_000 - first) * 0.4) : 0
    const wins = ([code, name]: Team): Answer => ({
      code,
      label: name,
      question: `${league.series.title}: will ${name} win on ${on}?`,
      outcomes: YES_NO,
    })
    const title = `${home[1]} vs ${away[1]}: ${league.series.title}, ${on}`
    const both = [wins(home), wins(away)]
    const isOne = style === 'one' && !league.hasDraw
    const one: Answer = { ...both[0]!, question: title, outcomes: [home[1], away[1]] }
    const tie: Answer = {
      code: 'TIE',
      label: 'Draw',
      question: `${league.series.title}: will ${home[1]} vs ${away[1]} be a draw on ${on}?`,
      outcomes: YES_NO,
    }
    return {
      kind: 'match',
      category: 'Sports',
      tags: ['Sports', 'Games', league.series.title],
      series: league.series,
      code: `${calendar.codeOf(closeTime)}${home[0]}${away[0]}`,
      title,
      isExclusive: !isOne,
      answers: isOne ? [one] : league.hasDraw ? [...both, tie] : both,
      chances: isOne
        ? [first]
        : league.hasDraw
          ? [first, 10_000 - first - draw, draw]
          : [first, 10_000 - first],
      closeTime,
    }
  }
}

type Team = readonly [code: string, name: string]

const TEAMS: readonly Team[] = CITIES.slice(0, CITIES.length - (CITIES.length % 2))
const PER_DAY = TEAMS.length / 2

const LEAGUES = (
  [
    ['NBAGAME', 'Pro Basketball', false],
    ['NFLGAME', 'Pro Football', false],
    ['MLBGAME', 'Pro Baseball', false],
    ['NHLGAME', 'Pro Hockey', false],
    ['EPLGAME', 'Premier League', true],
    ['LALIGAGAME', 'La Liga', true],
    ['UCLGAME', 'Champions League', true],
    ['ATPMATCH', 'Tennis', false],
    ['CS2GAME', 'Counter-Strike', false],
  ] as const
).map(([code, title, hasDraw]) => ({ series: { code, title, frequency: 'custom' }, hasDraw }))

// Round robin: each team plays at most once a day.
function pairing(day: number, slot: number): readonly [Team, Team] {
  const ring = TEAMS.length - 1
  const at = (place: number): Team => TEAMS[((place % ring) + ring) % ring]!
  return slot === 0 ? [TEAMS[ring]!, at(day)] : [at(day + slot), at(day - slot)]
}
