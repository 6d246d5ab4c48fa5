import type { Phase, Proposition, TopicSeries, World, WorldEvent } from '../../core/upstream.ts'
import { createNames, ROUND_SERIES, type Names } from './names.ts'

/** The venue's markets by their names, with the times of their phases. */
export interface Markets {
  /** In order of listing. */
  all(): readonly Proposition[]
  find(ticker: string): Proposition | undefined
  /** The markets of an event or of a series, in order of listing. */
  ofEvent(ticker: string): readonly Proposition[]
  ofSeries(ticker: string): readonly Proposition[]
  /** Every series of topics by its ticker. */
  topicSeries(): ReadonlyMap<string, TopicSeriesFacts>
  readonly names: (market: Proposition) => Names
  readonly times: (market: Proposition) => PhaseTimes
  /** When anything but its book changed last. */
  updatedAt(market: Proposition): number
  /** Counts all that happened to a market: at equal revisions it is shown in the same way. */
  revision(market: Proposition): number
  note(event: WorldEvent): void
  /** The venue's clock. */
  now(): number
}

/** When a market entered its phases; the venue shows some of them. */
export type PhaseTimes = ReadonlyMap<Phase, number>

/** A series with what its topics have in common. */
export type TopicSeriesFacts = TopicSeries & {
  readonly ticker: string
  readonly category: string
  readonly tags: readonly string[]
}

/** Creates the directory. It indexes the markets of the world now, and later ones when it is asked. */
export function createMarkets(world: World, speed: number): Markets {
  return new Directory(world, speed)
}

const NONE: readonly Proposition[] = []
const NO_TIMES: PhaseTimes = new Map()

class Directory implements Markets {
  readonly names: (market: Proposition) => Names
  private readonly world: World
  private readonly byTicker = new Map<string, Proposition>()
  private readonly byEvent = new Map<string, Proposition[]>()
  private readonly bySeries = new Map<string, Proposition[]>()
  private readonly series = new Map<string, TopicSeriesFacts>()
  private readonly phaseTimes = new Map<Proposition, Map<Phase, number>>()
  private readonly updates = new Map<Proposition, number>()
  private readonly revisions = new Map<Proposition, number>()
  private indexed = 0

  constructor(world: World, speed: number) {
    this.world = world
    this.names = createNames(world, speed)
    this.catchUp()
  }

  now(): number {
    return this.world.now('venueb')
  }

  all(): readonly Proposition[] {
    return this.world.propositions('venueb')
  }

  find(ticker: string): Proposition | undefined {
    this.catchUp()
    return this.byTicker.get(ticker)
  }

  ofEvent(ticker: string): readonly Proposition[] {
    this.catchUp()
    return this.byEvent.get(ticker) ?? NONE
  }

  ofSeries(ticker: string): readonly Proposition[] {
    this.catchUp()
    return this.bySeries.get(ticker) ?? NONE
  }

  topicSeries(): ReadonlyMap<string, TopicSeriesFacts> {
    this.catchUp()
    return this.series
  }

  readonly times = (market: Proposition): PhaseTimes => this.phaseTimes.get(market) ?? NO_TIMES

  updatedAt(market: Proposition): number {
    return this.updates.get(market) ?? market.listTime
  }

  revision(market: Proposition): number {
    return this.revisions.get(market) ?? 0
  }

  note(event: WorldEvent): void {
    const { proposition, kind, at } = event
    this.revisions.set(proposition, this.revision(proposition) + 1)
    if (kind === 'book' || kind === 'tick') return
    this.updates.set(proposition, Math.max(this.updatedAt(proposition), at))
    if (kind === 'moved') return
    const own = this.phaseTimes.get(proposition) ?? new Map<Phase, number>()
    this.phaseTimes.set(proposition, own.set(proposition.phase, at))
  }

  private catchUp(): void {
    const all = this.all()
    for (; this.indexed < all.length; this.indexed++) {
      const market = all[this.indexed]!
      const { series, event, ticker } = this.names(market)
      this.byTicker.set(ticker, market)
      add(this.byEvent, event, market)
      add(this.bySeries, series, market)
      const { topic } = market
      if (topic === undefined || topic.kind === 'combo' || this.series.has(series)) continue
      const { category, tags } = topic
      this.series.set(series, { ...topic.series, ticker: series, category, tags })
    }
  }
}

function add(map: Map<string, Proposition[]>, key: string, market: Proposition): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [market])
  else list.push(market)
}

/** Every series of rounds. */
export const ALL_ROUND_SERIES = Object.values(ROUND_SERIES)
