import type { Proposition } from '../../core/upstream.ts'

/** The fees of a market that has any: a taker pays rate × price × (1 − price) per share. */
export type Fees = {
  readonly type: string
  readonly rate: number
  /** The share of the fee that goes to makers. */
  readonly rebateRate: number
}

const CRYPTO: Fees = { type: 'crypto_fees_v2', rate: 0.07, rebateRate: 0.2 }
const SPORTS: Fees = { type: 'sports_fees_v2', rate: 0.03, rebateRate: 0.25 }

/** The fees of a market; rounds and matches have some. */
export function feesOf({ topic }: Proposition): Fees | undefined {
  if (topic === undefined) return CRYPTO
  return topic.kind === 'match' ? SPORTS : undefined
}

/** The fee of a market before it is scaled by the price, in hundredths of a percent. */
export function baseFeeOf(proposition: Proposition): number {
  return feesOf(proposition) === undefined ? 0 : 1000
}
