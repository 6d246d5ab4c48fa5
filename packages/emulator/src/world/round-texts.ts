import type { RoundProposition } from '../core/upstream.ts'

/** The names of the assets. */
export const COINS = { BTC: 'Bitcoin', ETH: 'Ethereum', BNB: 'BNB' } as const

/** The title of a round in New York time; `clockText` writes a time of the day. */
export function titleOf(
  { asset, openTime, closeTime }: RoundProposition,
  clockText = toClock,
): string {
  const times = `${clockText(openTime)}-${clockText(closeTime)}`
  return `${COINS[asset]} Up or Down - ${DAY.format(openTime)}, ${times} ET`
}

/** A time of the day such as `2:55AM`. */
export function toClock(time: number): string {
  return CLOCK.format(time).replace(/\s/gu, '')
}

const ZONE = 'America/New_York'
const DAY = new Intl.DateTimeFormat('en-US', { timeZone: ZONE, month: 'long', day: 'numeric' })
const CLOCK = new Intl.DateTimeFormat('en-US', {
  timeZone: ZONE,
  hour: 'numeric',
  minute: '2-digit',
})
