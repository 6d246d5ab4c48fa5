import { printScaled } from '@priorbook/sdk/domain'
import { ONE } from '../../core/books.ts'
import type { Fill, Payload, Phase, Proposition, World, WorldEvent } from '../../core/upstream.ts'
import type { Condition } from './conditions.ts'
import { complementOf } from './token-book.ts'

/** When a market changed, by the venue's clock, and which services show it. */
export interface Memory {
  note(event: WorldEvent): void
  /** When its book changed last. */
  changedAt(proposition: Proposition): number
  /** When anything of it changed last. */
  updatedAt(proposition: Proposition): number
  /** Counts all that happened to it: at equal revisions it is shown in the same way. */
  revision(proposition: Proposition): number
  /** When it entered a phase; undefined where it never did. */
  enteredAt(proposition: Proposition, phase: Phase): number | undefined
  /** What the taker of the last trade did with the first outcome; undefined before any. */
  lastTaker(proposition: Proposition): Fill['taker'] | undefined
  /** Whether the order-book service shows it: a new market is only in the catalogue at first. */
  traded(proposition: Proposition): boolean
  /** Whether it has a book: a closed market has none. */
  hasBook(proposition: Proposition): boolean
}

/** How long the order-book service hides a new market, at speed 1; at most until it opens. */
const UNKNOWN_MS = 60_000

type Times = {
  changed?: number
  updated?: number
  taker?: Fill['taker']
  revision: number
  entered: Map<Phase, number>
}

/** Creates the memory of one venue. */
export function createMemory(world: World, speed: number): Memory {
  const times = new WeakMap<Proposition, Times>()

  function traded({ phase, listTime }: Proposition): boolean {
    return phase !== 'listed' || world.now('venuec') >= listTime + UNKNOWN_MS / speed
  }

  return {
    note(event) {
      const { kind, at, proposition } = event
      const known: Times = times.get(proposition) ?? { revision: 0, entered: new Map() }
      known.revision++
      known.updated = at
      if (kind === 'book') known.changed = at
      if (kind === 'book' && event.fill !== undefined) known.taker = event.fill.taker
      if (kind === 'phase') known.entered.set(proposition.phase, at)
      times.set(proposition, known)
    },
    changedAt: (proposition) => times.get(proposition)?.changed ?? proposition.listTime,
    updatedAt: (proposition) => times.get(proposition)?.updated ?? proposition.listTime,
    revision(proposition) {
      const counted = times.get(proposition)?.revision ?? 0
      return 2 * counted + (traded(proposition) ? 1 : 0)
    },
    lastTaker: (proposition) => times.get(proposition)?.taker,
    enteredAt: (proposition, phase) => times.get(proposition)?.entered.get(phase),
    traded,
    hasBook: (proposition) => traded(proposition) && BOOKED.has(proposition.phase),
  }
}

const BOOKED: ReadonlySet<Phase> = new Set(['listed', 'open', 'paused'])

/** Converts an exact count of 10^-decimals to a JSON number. */
export function toNumber(units: number, decimals: number): number {
  return Number(printScaled(units, decimals))
}

const CLOSED: ReadonlySet<Phase> = new Set(['closed', 'determined', 'disputed', 'resolved'])

/** True from the close on; Gamma hides such markets by default. */
export function isClosed(phase: Phase): boolean {
  return CLOSED.has(phase)
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
