import type { Proposition } from '../../core/upstream.ts'

/** The texts that people read about a round. */
export type RoundTexts = {
  readonly slug: string
  readonly title: string
  readonly question: string
  readonly description: string
  readonly symbol: string
  readonly imageUrl: string
}

/** Writes the texts of a round, in New York time as the venue does. */
export function textsOf({ asset, window, openTime, closeTime }: Proposition): RoundTexts {
  const lower = asset.toLowerCase()
  const title = `${COINS[asset]} Up or Down - ${DAY.format(openTime)}, ${clock(openTime)}-${clock(closeTime)} ET`
  return {
    slug: `${lower}-updown-${window}-${Math.floor(openTime / 1000)}`,
    title,
    question: `Will the ${asset} price go up or down within this ${window} round?`,
    description:
      `Resolves to "Up" if the ${asset}/USDT price at the end of the round is greater than at its ` +
      `beginning and to "Down" if it is lower. If both are equal, it resolves 50-50.`,
    symbol: `${asset}USDT`,
    imageUrl: `https://cdn.example.com/prediction/${lower}-${window}.png`,
  }
}

const COINS = { BTC: 'Bitcoin', ETH: 'Ethereum', BNB: 'BNB' } as const

const ZONE = 'America/New_York'
const DAY = new Intl.DateTimeFormat('en-US', { timeZone: ZONE, month: 'long', day: 'numeric' })
const CLOCK = new Intl.DateTimeFormat('en-US', {
  timeZone: ZONE,
  hour: 'numeric',
  minute: '2-digit',
})

// `3AM` and `2:55AM`: the full hour has no minutes.
function clock(time: number): string {
  return CLOCK.format(time).replace(/\s/gu, '').replace(':00', '')
}
