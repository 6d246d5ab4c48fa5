import { createHash } from 'node:crypto'
import type { VenueId } from '@priorbook/sdk/domain'
import type {
  Fill,
  Outcome,
  Payload,
  Phase,
  Proposition,
  RoundProposition,
  Wire,
  World,
  WorldEvent,
} from '../../core/upstream.ts'

/** A change of one level: its new size, 0 to remove it. */
export type Change = { readonly side: 'bid' | 'ask'; readonly price: number; readonly size: number }

type RoundFacts = Pick<RoundProposition, 'asset' | 'window' | 'openTime' | 'tick'>

/** A world without generator: a test says what happens, and listeners hear of it. */
export interface TestWorld extends World {
  at: number
  listen(onEvent: (event: WorldEvent) => void): void
  list(facts?: Partial<RoundFacts>): RoundProposition
  phase(proposition: Proposition, phase: Phase, outcome?: Outcome): void
  change(proposition: Proposition, changes: readonly Change[], fill?: Fill): void
  tick(proposition: Proposition, tick: number): void
}

/** A Tuesday in August 2026, on a full five minutes. */
export const START = Date.UTC(2026, 7, 25, 12, 0, 0)

const WINDOW_MS = { '5m': 300_000, '15m': 900_000, '1h': 3_600_000 } as const

/** Creates an empty world of one venue. */
export function createTestWorld(venue: VenueId, seed = 'seed'): TestWorld {
  const propositions: RoundProposition[] = []
  const listeners: ((event: WorldEvent) => void)[] = []
  const tell = (event: WorldEvent): void => {
    for (const listener of listeners) listener(event)
  }

  const world: TestWorld = {
    at: START - 600_000,
    now: () => world.at,
    price: () => 63_123.54,
    average: (_, seconds) => 63_000 + seconds,
    propositions: () => propositions,
    hex(name, digits) {
      let text = ''
      for (let part = 0; text.length < digits; part++) {
        text += createHash('sha256').update(`${seed}/${name}/${part}`).digest('hex')
      }
      return text.slice(0, digits)
    },
    listen(onEvent) {
      listeners.push(onEvent)
    },
    list({ asset = 'BTC', window = '5m', openTime = START, tick = 100 } = {}) {
      const proposition: RoundProposition = {
        venue,
        index: propositions.length,
        asset,
        window,
        listTime: world.at,
        openTime,
        closeTime: openTime + WINDOW_MS[window],
        startPrice: '63123.54',
        tick,
        grain: tick,
        phase: 'listed',
        outcome: undefined,
        book: { bids: [], asks: [] },
        lastTrade: undefined,
        volume: 0,
        participants: 0,
        version: 0,
      }
      propositions.push(proposition)
      tell({ kind: 'listed', at: world.at, proposition })
      return proposition
    },
    phase(proposition, phase, outcome) {
      proposition.phase = phase
      if (outcome !== undefined) proposition.outcome = outcome
      tell({ kind: 'phase', at: world.at, proposition })
    },
    change(proposition, changes, fill) {
      const { book } = proposition
      const sides = { bid: [...book.bids], ask: [...book.asks] }
      const levels = changes.map(({ side, price, size }) => {
        const before = sides[side].find((level) => level.price === price)?.size ?? 0
        sides[side] = sides[side].filter((level) => level.price !== price)
        if (size > 0) sides[side].push({ price, size })
        return { side, price, size, delta: size - before }
      })
      sides.bid.sort((a, b) => b.price - a.price)
      sides.ask.sort((a, b) => a.price - b.price)
      proposition.book = { bids: sides.bid, asks: sides.ask }
      proposition.version++
      if (fill !== undefined) {
        proposition.lastTrade = fill.price
        proposition.volume += fill.size
        proposition.participants++
      }
      tell({ kind: 'book', at: world.at, proposition, levels, fill })
    },
    tick(proposition, tick) {
      const before = proposition.tick
      proposition.tick = tick
      tell({ kind: 'tick', at: world.at, proposition, before })
    },
  }
  return world
}

/** A wire that keeps what is sent to it. */
export function createTestWire(): Wire & {
  readonly sent: { readonly text: string; readonly payloads: readonly Payload[] }[]
  /** The sent texts as JSON, and forgets them. */
  take(): unknown[]
} {
  const sent: { text: string; payloads: readonly Payload[] }[] = []
  return {
    sent,
    take: () => sent.splice(0).map(({ text }) => JSON.parse(text) as unknown),
    send: (text, payloads = []) => void sent.push({ text, payloads }),
    ping: () => undefined,
    close: () => undefined,
  }
}

/** Levels of a plain two-sided book around a middle, in ten-thousandths. */
export function ladder(middle: number, depth: number, tick = 100): Change[] {
  const changes: Change[] = []
  for (let step = 1; step <= depth; step++) {
    const size = step * 12_345_678
    changes.push({ side: 'bid', price: middle - step * tick, size })
    changes.push({ side: 'ask', price: middle + step * tick, size: size + 1_000_000 })
  }
  return changes.filter(({ price }) => price > 0 && price < 10_000)
}
