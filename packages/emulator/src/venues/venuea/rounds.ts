import type { Proposition, TopicProposition, World } from '../../core/upstream.ts'
import { RoundNumbers, type RoundNumber } from '../../world/round-number.ts'

/** One emulated market with the names that venue A gives it; a round is the only market of its topic. */
export type Round = {
  readonly proposition: Proposition
  readonly topicId: number
  readonly marketId: number
  /** The market's id at the vendor; as at the venue, it is not valid as a market id. */
  readonly externalId: string
  readonly conditionId: string
  /** Of its two outcomes. */
  readonly tokens: readonly [string, string]
}

/** The markets of the world by each of their names. */
export interface Rounds {
  all(): readonly Round[]
  of(proposition: Proposition): Round
  byMarket(marketId: number): Round | undefined
  /** The markets of a topic, in order. */
  byTopic(topicId: number): readonly Round[]
  /** The rounds of the same asset and window, in order of listing; none for other markets. */
  family(round: Round): readonly Round[]
}

// Ids of the three kinds are disjoint: an id of the wrong kind must be unknown, not another market.
const KINDS = 3

/** Names the rounds of a world; the same seed and start of a round give the same names. */
export function createRounds(world: World): Rounds {
  const rounds: Round[] = []
  const byMarket = new Map<number, Round>()
  const byTopic = new Map<number, Round[]>()
  const families = new Map<string, Round[]>()
  const numbers = new RoundNumbers(world, 'venuea')

  function name(proposition: Proposition): Round {
    const { number, topic, hex } = numberOf(proposition)
    return {
      proposition,
      topicId: topic * KINDS,
      marketId: number * KINDS + 1,
      externalId: String(number * KINDS + 2),
      conditionId: `0x${hex('condition', 64)}`,
      tokens: [toToken(hex('up', 64)), toToken(hex('down', 64))],
    }
  }

  function numberOf(proposition: Proposition): RoundNumber & { readonly topic: number } {
    if (proposition.topic === undefined) {
      const named = numbers.next(proposition)
      return { ...named, topic: named.number }
    }
    return numberInTopic(world, proposition)
  }

  function catchUp(): void {
    const propositions = world.propositions('venuea')
    while (rounds.length < propositions.length) {
      const round = name(propositions[rounds.length]!)
      rounds.push(round)
      byMarket.set(round.marketId, round)
      const group = byTopic.get(round.topicId)
      if (group === undefined) byTopic.set(round.topicId, [round])
      else group.push(round)
      const key = familyOf(round)
      if (key === undefined) continue
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
      return byTopic.get(topicId) ?? []
    },
    family(round) {
      catchUp()
      return families.get(familyOf(round) ?? '') ?? []
    },
  }
}

function familyOf({ proposition }: Round): string | undefined {
  return proposition.topic === undefined ? `${proposition.asset}/${proposition.window}` : undefined
}

// Numbers of rounds count tenths of seconds since 2024 and are far above these.
const TOPICS = 100_000_000
const MARKETS_PER_TOPIC = 128

function numberInTopic(
  world: World,
  { topic, answer }: TopicProposition,
): RoundNumber & { readonly topic: number } {
  const first = (topic.number % TOPICS) * MARKETS_PER_TOPIC
  const place = topic.markets.findIndex((market) => market.answer === answer)
  const hex: RoundNumber['hex'] = (what, digits) =>
    world.hex(`venuea/${topic.name}/${answer.code}/${what}`, digits)
  return { number: first + place, topic: first, hex }
}

// Outcome tokens are 256-bit numbers, written in decimal.
function toToken(hex: string): string {
  return BigInt(`0x${hex}`).toString()
}
