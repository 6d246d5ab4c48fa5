import type { Phase, Proposition, World, WorldEvent } from '../../core/upstream.ts'

/** When a market changed, by the venue's clock, and which services show it. */
export interface Memory {
  note(event: WorldEvent): void
  /** When its book changed last. */
  changedAt(proposition: Proposition): number
  /** When anything of it changed last. */
  updatedAt(proposition: Proposition): number
  /** When it entered a phase; undefined where it never did. */
  enteredAt(proposition: Proposition, phase: Phase): number | undefined
  /** Whether the order-book service shows it: a new market is only in the catalogue at first. */
  traded(proposition: Proposition): boolean
  /** Whether it has a book: a closed market has none. */
  hasBook(proposition: Proposition): boolean
}

/** How long the order-book service hides a new market, at speed 1; at most until it opens. */
const UNKNOWN_MS = 60_000

type Times = { changed?: number; updated?: number; entered: Map<Phase, number> }

/** Creates the memory of one venue. */
export function createMemory(world: World, speed: number): Memory {
  const times = new WeakMap<Proposition, Times>()

  function traded({ phase, listTime }: Proposition): boolean {
    return phase !== 'listed' || world.now('venuec') >= listTime + UNKNOWN_MS / speed
  }

  return {
    note({ kind, at, proposition }) {
      const known: Times = times.get(proposition) ?? { entered: new Map() }
      known.updated = at
      if (kind === 'book') known.changed = at
      if (kind === 'phase') known.entered.set(proposition.phase, at)
      times.set(proposition, known)
    },
    changedAt: (proposition) => times.get(proposition)?.changed ?? proposition.listTime,
    updatedAt: (proposition) => times.get(proposition)?.updated ?? proposition.listTime,
    enteredAt: (proposition, phase) => times.get(proposition)?.entered.get(phase),
    traded,
    hasBook: (proposition) => traded(proposition) && BOOKED.has(proposition.phase),
  }
}

const BOOKED: ReadonlySet<Phase> = new Set(['listed', 'open', 'paused'])
