import type { Proposition, WorldEvent } from '../../core/upstream.ts'
import { toGrain } from '../../world/grain.ts'

/** What the venue keeps about a market beside its book. */
export interface Memory {
  /** Must see every event before any answer shows its effect. */
  note(event: WorldEvent): void
  /** When the book changed last, by the venue's clock. */
  changedAt(proposition: Proposition): number
  /** The price of the first outcome, in ten-thousandths: the middle of the book. */
  price(proposition: Proposition): number
  /** Its chance, in ten-thousandths: the price smoothed, so that it lags behind. */
  chance(proposition: Proposition): number
}

/** The smoothed value moves by this part of its distance with every change of the book. */
const SMOOTHING = 16
/** Fraction digits of the smoothed value below a ten-thousandth. */
const FINE = 10_000

const HALF = 5_000

/** Creates the memory of one venue. */
export function createMemory(): Memory {
  const changed = new WeakMap<Proposition, number>()
  const smoothed = new WeakMap<Proposition, number>()

  return {
    note({ kind, at, proposition }) {
      if (kind !== 'book') return
      changed.set(proposition, at)
      const target = middle(proposition) * FINE
      const before = smoothed.get(proposition) ?? HALF * FINE
      smoothed.set(proposition, before + Math.trunc((target - before) / SMOOTHING))
    },
    changedAt(proposition) {
      return changed.get(proposition) ?? proposition.listTime
    },
    price(proposition) {
      return settled(proposition) ?? middle(proposition)
    },
    chance(proposition) {
      const known = smoothed.get(proposition) ?? HALF * FINE
      return settled(proposition) ?? Math.round(known / FINE)
    },
  }
}

// After resolution both are what a share pays; a tie pays half to either outcome.
function settled({ phase, outcome }: Proposition): number | undefined {
  if (phase !== 'resolved' || outcome === undefined) return undefined
  return { first: 10_000, second: 0, tie: HALF }[outcome.winner]
}

function middle({ book, lastTrade, grain }: Proposition): number {
  const bid = book.bids[0]?.price
  const ask = book.asks[0]?.price
  if (bid !== undefined && ask !== undefined) {
    const middle = (bid + ask) / 2
    return grain < 1 ? toGrain(middle) : Math.floor(middle)
  }
  return bid ?? ask ?? lastTrade ?? HALF
}
