import type { Fill, World } from '../../core/upstream.ts'
import type { Condition } from './conditions.ts'
import { complementOf } from './token-book.ts'

/** A trade in the terms of the token that was traded, and its transaction. */
export type Traded = { readonly index: 0 | 1; readonly fill: Fill; readonly hash: string }

/** The trade of a market in the terms of the traded token, which is pseudo-random. */
export function tradedOf(
  world: World,
  { proposition, conditionId }: Condition,
  fill: Fill,
  at: number,
): Traded {
  const { version } = proposition
  const hex = world.hex(`venuec/${conditionId}/trade/${version}/${at}`, 64)
  const hash = `0x${hex}`
  if (Number.parseInt(hex.slice(-1), 16) < 8) return { index: 0, fill, hash }
  const taker = fill.taker === 'buy' ? 'sell' : 'buy'
  return { index: 1, fill: { price: complementOf(fill.price), size: fill.size, taker }, hash }
}
