import type { Proposition, RoundProposition, TopicProposition } from '../../core/upstream.ts'
import { titleOf, toClock } from '../../world/round-texts.ts'

/** The texts that people read about a market and its topic. */
type MarketTexts = {
  readonly slug: string
  readonly title: string
  readonly question: string
  readonly description: string
  /** The underlying; absent for markets about anything else. */
  readonly symbol?: string
  /** The names of its outcomes. */
  readonly outcomes: readonly [string, string]
  readonly imageUrl: string
}

/** Writes the texts of a market. */
export function textsOf(proposition: Proposition): MarketTexts {
  return proposition.topic === undefined ? textsOfRound(proposition) : textsInTopic(proposition)
}

function textsInTopic({ topic, answer }: TopicProposition): MarketTexts {
  const { title, name } = topic
  const isAlone = topic.markets.length === 1
  return {
    slug: name.toLowerCase(),
    title: isAlone ? title : answer.label,
    question: answer.question,
    description: `Resolves to "${answer.outcomes[0]}" if the answer to "${title}" is ${answer.label}.`,
    imageUrl: 'https://cdn.example.com/prediction/topic.png',
    outcomes: answer.outcomes,
  }
}

// In New York time, as the venue does.
function textsOfRound(proposition: RoundProposition): MarketTexts {
  const { asset, window, openTime } = proposition
  const lower = asset.toLowerCase()
  return {
    slug: `${lower}-updown-${window}-${Math.floor(openTime / 1000)}`,
    title: titleOf(proposition, shortClock),
    question: `Will the ${asset} price go up or down within this ${window} round?`,
    description:
      `Resolves to "Up" if the ${asset}/USDT price at the end of the round is greater than at its ` +
      `beginning and to "Down" if it is lower. If both are equal, it resolves 50-50.`,
    symbol: `${asset}USDT`,
    outcomes: ['Up', 'Down'],
    imageUrl: `https://cdn.example.com/prediction/${lower}-${window}.png`,
  }
}

// `3AM` and `2:55AM`: the full hour has no minutes.
const shortClock = (time: number): string => toClock(time).replace(':00', '')
