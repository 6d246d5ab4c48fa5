import { printScaled } from '@priorbook/sdk/domain'
import type { Payload, Proposition } from '../../core/upstream.ts'
import type { Condition } from './conditions.ts'
import { complementOf } from './token-book.ts'

/** Converts an exact count of 10^-decimals to a JSON number. */
export function toNumber(units: number, decimals: number): number {
  return Number(printScaled(units, decimals))
}

/** The outcome that won, by its index; a tie is Up. Undefined until the market is resolved. */
export function winnerOf({ phase, outcome }: Proposition): 0 | 1 | undefined {
  if (phase !== 'resolved' || outcome === undefined) return undefined
  return outcome.winner === 'second' ? 1 : 0
}

/** The prices of both tokens in ten-thousandths: what they pay, or the middle of the book. */
export function pricesOf(proposition: Proposition): readonly [number, number] {
  const winner = winnerOf(proposition)
  if (winner !== undefined) return winner === 0 ? [ONE, 0] : [0, ONE]
  const { book, lastTrade } = proposition
  const bid = book.bids[0]?.price
  const ask = book.asks[0]?.price
  const middle = bid !== undefined && ask !== undefined ? Math.floor((bid + ask) / 2) : undefined
  const first = middle ?? lastTrade ?? ONE / 2
  return [first, complementOf(first)]
}

/** Money resting in the book, in millionths of a dollar. */
export function liquidityOf({ book }: Proposition): number {
  let money = 0
  for (const { price, size } of book.bids) money += Math.round((price * size) / ONE)
  for (const { price, size } of book.asks) money += Math.round(((ONE - price) * size) / ONE)
  return money
}

/** The truth-log payload of a market as Gamma shows it. */
export function claimOf({ conditionId, proposition }: Condition): Payload {
  const winner = winnerOf(proposition)
  return { kind: 'market', key: conditionId, phase: proposition.phase, ...winnerClaim(winner) }
}

/** The winner in the world's terms, as part of a truth-log payload. */
export function winnerClaim(winner: 0 | 1 | undefined): { winner?: 'first' | 'second' } {
  if (winner === undefined) return {}
  return { winner: winner === 0 ? 'first' : 'second' }
}

const ONE = 10_000
