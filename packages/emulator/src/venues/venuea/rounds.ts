import type { Proposition, RoundProposition, World } from '../../core/upstream.ts'
import { RoundNumbers } from '../../world/round-number.ts'

/** One emulated round with the names that venue A gives it: a topic with exactly one market. */
export type Round = {
  readonly proposition: RoundProposition
  readonly topicId: number
  readonly marketId: number
  /** The market's id at the vendor; as at the venue, it is not valid as a market id. */
  readonly externalId: string
  readonly conditionId: string
  /** Up and Down. */
  readonly tokens: readonly [string, string]
}

/** The rounds of the world by each of their names. */
export interface Rounds {
  all(): readonly Round[]
  of(proposition: Proposition): Round
  byMarket(marketId: number): Round | undefined
  byTopic(topicId: number): Round | undefined
  /** The rounds of the same asset and window, in order of listing. */
  family(round: Round): readonly Round[]
}

// Ids of the three kinds are disjoint: an id of the wrong kind must be unknown, not another market.
const KINDS = 3

/** Names the rounds of a world; the same seed and start of a round give the same names. */
export function createRounds(world: World): Rounds {
  const rounds: Round[] = []
  const byMarket = new Map<number, Round>()
  const byTopic = new Map<number, Round>()
  const families = new Map<string, Round[]>()
  const numbers = new RoundNumbers(world, 'venuea')

  function name(proposition: RoundProposition): Round {
    const { number, hex } = numbers.next(proposition)
    return {
      proposition,
      topicId: number * KINDS,
      marketId: number * KINDS + 1,
      externalId: String(number * KINDS + 2),
      conditionId: `0x${hex('condition', 64)}`,
      tokens: [toToken(hex('up', 64)), toToken(hex('down', 64))],
    }
  }

  function catchUp(): void {
    const propositions = world.propositions('venuea')
    while (rounds.length < propositions.length) {
      const round = name(propositions[rounds.length]!)
      rounds.push(round)
      byMarket.set(round.marketId, round)
      byTopic.set(round.topicId, round)
      const key = familyOf(round)
      const family = families.get(key)
      if (family === undefined) families.set(key, [round])
      else family.push(round)
    }
  }

  return {
    all() {
      catchUp()
      return rounds
    },
    of(proposition) {
      catchUp()
      return rounds[proposition.index] ?? name(proposition as RoundProposition)
    },
    byMarket(marketId) {
      catchUp()
      return byMarket.get(marketId)
    },
    byTopic(topicId) {
      catchUp()
      return byTopic.get(topicId)
    },
    family(round) {
      catchUp()
      return families.get(familyOf(round)) ?? []
    },
  }
}

function familyOf({ proposition }: Round): string {
  return `${proposition.asset}/${proposition.window}`
}

// Outcome tokens are 256-bit numbers, written in decimal.
function toToken(hex: string): string {
  return BigInt(`0x${hex}`).toString()
}
