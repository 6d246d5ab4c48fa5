import type { Proposition } from '../../core/upstream.ts'
import { COINS } from '../../world/round-texts.ts'

/** The labels of the outcomes, in the order of their tokens. */
export const OUTCOMES = ['Up', 'Down'] as const

/** The rule of a market. */
export function descriptionOf({ asset }: Proposition): string {
  const coin = COINS[asset]
  return (
    `This market resolves to "Up" if the ${coin} price at the end of its window is greater than or ` +
    `equal to the price at its beginning. Otherwise it resolves to "Down".\n` +
    `The source is the Chainlink data stream ${asset}/USD, ${sourceOf(asset)}.`
  )
}

/** Where the price comes from. */
export function sourceOf(asset: Proposition['asset']): string {
  return `https://data.chain.link/streams/${asset.toLowerCase()}-usd`
}

/** The picture of an asset. */
export function imageOf(asset: Proposition['asset']): string {
  return `https://cdn.example.com/${asset}+fullsize.png`
}

/** A time in ISO form; whole seconds have no fraction. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}

/** The date alone. */
export function isoDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** The form of `closedTime`: a blank for the T, whole seconds, a short offset. */
export function blankTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')}+00`
}
