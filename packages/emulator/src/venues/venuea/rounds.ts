import type { Proposition, World } from '../../core/upstream.ts'

/** One emulated round with the names that venue A gives it: a topic with exactly one market. */
export type Round = {
  readonly proposition: Proposition
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

// The three number ranges are disjoint: an id of the wrong kind must be unknown, not another market.
const TOPIC_BASE = 4_000_000
const MARKET_BASE = 8_000_000
const EXTERNAL_BASE = 300_000
const MARKET_STRIDE = 3

/** Names the rounds of a world; the same seed gives the same names. */
export function createRounds(world: World): Rounds {
  const rounds: Round[] = []
  const byMarket = new Map<number, Round>()
  const byTopic = new Map<number, Round>()
  const families = new Map<string, Round[]>()
  const start = number(world, 'venuea/start', 4)

  function name(proposition: Proposition): Round {
    const { index } = proposition
    const own = (what: string): string => `venuea/${index}/${what}`
    const step = number(world, own('step'), 2) % MARKET_STRIDE
    return {
      proposition,
      topicId: TOPIC_BASE + start + index,
      marketId: MARKET_BASE + start + index * MARKET_STRIDE + step,
      externalId: String(EXTERNAL_BASE + start + index),
      conditionId: `0x${world.hex(own('condition'), 64)}`,
      tokens: [token(world, own('up')), token(world, own('down'))],
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
      return rounds[proposition.index] ?? name(proposition)
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

function number(world: World, name: string, digits: number): number {
  return Number.parseInt(world.hex(name, digits), 16)
}

// Outcome tokens are 256-bit numbers, written in decimal.
function token(world: World, name: string): string {
  return BigInt(`0x${world.hex(name, 64)}`).toString()
}
