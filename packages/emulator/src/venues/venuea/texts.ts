import type { RoundProposition } from '../../core/upstream.ts'
import { titleOf, toClock } from '../../world/round-texts.ts'

/** The texts that people read about a round. */
type RoundTexts = {
  readonly slug: string
  readonly title: string
  readonly question: string
  readonly description: string
  readonly symbol: string
  readonly imageUrl: string
}

/** Writes the texts of a round, in New York time as the venue does. */
export function textsOf(proposition: RoundProposition): RoundTexts {
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
    imageUrl: `https://cdn.example.com/prediction/${lower}-${window}.png`,
  }
}

// `3AM` and `2:55AM`: the full hour has no minutes.
const shortClock = (time: number): string => toClock(time).replace(':00', '')
