import type { Phase, Proposition, World, WorldEvent } from '../../core/upstream.ts'
import type { PhaseTimes } from './objects.ts'
import { createNames, type Names } from './tickers.ts'

/** The venue's markets by their names, with the times of their phases. */
export interface Markets {
  /** In order of listing. */
  all(): readonly Proposition[]
  find(ticker: string): Proposition | undefined
  readonly names: (market: Proposition) => Names
  readonly times: (market: Proposition) => PhaseTimes
  note(event: WorldEvent): void
  /** The venue's clock. */
  now(): number
}

/** Creates the directory; `note` adds markets to it. */
export function createMarkets(world: World, speed: number): Markets {
  const names = createNames(world, speed)
  const byTicker = new Map<string, Proposition>()
  const times = new Map<Proposition, Map<Phase, number>>()
  const none: PhaseTimes = new Map()

  return {
    names,
    now: () => world.now('venueb'),
    all: () => world.propositions('venueb'),
    find: (ticker) => byTicker.get(ticker),
    times: (market) => times.get(market) ?? none,
    note(event) {
      const { proposition } = event
      if (event.kind === 'listed') byTicker.set(names(proposition).ticker, proposition)
      if (event.kind !== 'listed' && event.kind !== 'phase') return
      const own = times.get(proposition) ?? new Map<Phase, number>()
      times.set(proposition, own.set(proposition.phase, event.at))
    },
  }
}
