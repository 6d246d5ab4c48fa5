import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import type { Proposition, WorldEvent } from '../core/upstream.ts'
import { EMULATED_VENUES, emulatedVenue } from '../venues/registry.ts'
import { venueMarkets } from './families.ts'
import type { MarketRates } from './market.ts'
import { SteppedWorld } from './world.ts'

const START = 1_790_000_000_123
const RATES: MarketRates = { changes: 6, trades: 1, pauses: 0.2, disputes: 0.2, ties: 0.1 }

function worldOf(
  seed: string,
  more: { speed?: number; rates?: MarketRates; history?: number } = {},
): SteppedWorld {
  const rates = more.rates ?? RATES
  return new SteppedWorld({
    seed,
    start: START,
    speed: more.speed ?? 60,
    venues: EMULATED_VENUES.map((venue) => venueMarkets(venue, emulatedVenue(venue).style)),
    rounds: 2,
    history: more.history ?? 0,
    rates: () => rates,
    clock: () => START,
  })
}

/** A digest of everything that happened, books included. */
function digest(world: SteppedWorld, to: number, stride: number): string {
  const hash = createHash('sha256')
  for (let at = START; at <= to; at += stride) {
    world.advance(at, ({ proposition, ...event }) => {
      const { venue, index, phase, book, startPrice, strike, outcome } = proposition
      hash.update(JSON.stringify({ ...event, venue, index, phase, startPrice, strike, outcome }))
      hash.update(JSON.stringify(book))
    })
  }
  return hash.digest('hex')
}

/** Whether a side shows exactly the levels of a fold, best first. */
function isFoldOf(
  fold: ReadonlyMap<number, number>,
  levels: readonly { readonly price: number; readonly size: number }[],
  sign: number,
): boolean {
  return (
    levels.length === fold.size &&
    levels.every(
      ({ price, size }, at) =>
        fold.get(price) === size && (at === 0 || sign * (price - levels[at - 1]!.price) > 0),
    )
  )
}

describe('the emulated world', () => {
  it('is a function of seed, start and step, however often it is asked to move', () => {
    const to = START + 1_500
    const first = digest(worldOf('7'), to, 1_500)
    expect(digest(worldOf('7'), to, 50)).toBe(first)
    expect(digest(worldOf('8'), to, 50)).not.toBe(first)
  })

  it('folds: every book is exactly its events, never crossed, on the tick and in whole lots', () => {
    for (const seed of ['a', 'b']) {
      const folds = new Map<Proposition, { bid: Map<number, number>; ask: Map<number, number> }>()
      let seen = 0
      const wrong: string[] = []
      worldOf(seed).advance(START + 2_500, (event) => {
        const { proposition: market } = event
        const fold = folds.get(market) ?? { bid: new Map(), ask: new Map() }
        folds.set(market, fold)
        const lot = market.venue === 'venuea' ? 1 : 10_000
        const check = (holds: boolean, rule: string): void => {
          if (!holds) wrong.push(`${market.venue} ${market.index} v${market.version}: ${rule}`)
        }
        if (event.kind === 'book') {
          seen++
          check(event.levels.length > 0, 'an event without levels')
          for (const { side, price, size, delta } of event.levels) {
            check(size === (fold[side].get(price) ?? 0) + delta, 'size is not before + delta')
            check(size >= 0 && size % lot === 0, 'size is not a whole number of lots')
            check(price > 0 && price < 10_000 && price % market.tick === 0, 'off the tick')
            if (size === 0) fold[side].delete(price)
            else fold[side].set(price, size)
          }
        }
        const { bids, asks } = market.book
        check(isFoldOf(fold.bid, bids, -1), 'bids differ')
        check(isFoldOf(fold.ask, asks, 1), 'asks differ')
        check((bids[0]?.price ?? 0) < (asks[0]?.price ?? 10_000), 'crossed')
      })
      expect(wrong).toEqual([])
      expect(seen).toBeGreaterThan(1_000)
    }
  })

  it('leads every market through its life, with pauses, disputes and ties', () => {
    const lives = new Map<Proposition, string[]>()
    const ticks = new Set<VenueId>()
    worldOf('life').advance(START + 60_000, (event: WorldEvent) => {
      const life = lives.get(event.proposition) ?? []
      lives.set(event.proposition, life)
      if (event.kind === 'listed' || event.kind === 'phase') life.push(event.proposition.phase)
      if (event.kind === 'tick') ticks.add(event.proposition.venue)
    })
    const whole = [...lives].filter(([market]) => market.phase === 'resolved')
    expect(whole.length).toBeGreaterThan(100)
    for (const [market, life] of whole) {
      expect(life.join(' ')).toMatch(
        /^listed open (paused open )?closed determined (disputed determined )?resolved$/,
      )
      expect(market.outcome).toBeDefined()
      expect(market.book).toEqual({ bids: [], asks: [] })
    }
    expect(whole.some(([, life]) => life.includes('paused'))).toBe(true)
    expect(whole.some(([, life]) => life.includes('disputed'))).toBe(true)
    const winners = (venue: VenueId): Set<string> =>
      new Set(whole.filter(([m]) => m.venue === venue).map(([m]) => m.outcome!.winner))
    expect(winners('venuea')).toEqual(new Set(['first', 'second', 'tie']))
    expect(winners('venueb')).toEqual(new Set(['first', 'second']))
    expect(winners('venuec')).toEqual(new Set(['first', 'second']))
    expect(ticks).toEqual(new Set(['venuec']))
  })

  it('keeps believable ladders: 20 to 60 levels a side while the outcome is open', () => {
    const world = worldOf('depth', { speed: 10 })
    const counts: number[] = []
    world.advance(START + 20_000, ({ proposition }) => {
      const { bids, asks } = proposition.book
      const bid = bids[0]?.price ?? 0
      if (proposition.phase === 'open' && bid > 3_500 && bid < 6_500) {
        counts.push(bids.length, asks.length)
      }
    })
    counts.sort((a, b) => a - b)
    expect(counts[Math.floor(counts.length * 0.05)]).toBeGreaterThanOrEqual(15)
    expect(counts.at(-1)).toBeLessThanOrEqual(61)
  })

  it('lists rounds ahead, and as many markets of venue B as asked for', () => {
    const calm = { ...RATES, pauses: 0 }
    const world = new SteppedWorld({
      seed: 'many',
      start: START,
      speed: 1,
      venues: [venueMarkets('venueb', emulatedVenue('venueb').style, 300)],
      rounds: 1,
      rates: () => calm,
      clock: () => START,
    })
    world.advance(START + 1_000, () => {})
    const all = world.propositions('venueb')
    expect(all.filter(({ phase }) => phase === 'open').length).toBe(300)
    expect(all.filter(({ phase }) => phase === 'listed').length).toBe(300)
    expect(new Set(all.map((m) => `${m.asset}${m.window}${m.openTime}${m.strike}`)).size).toBe(600)
    for (const venue of VENUE_IDS.filter((id) => id !== 'venueb')) {
      expect(world.propositions(venue)).toEqual([])
    }
  })

  it('has a past: resolved rounds of every family without a hole up to the open one', () => {
    const world = worldOf('past', { history: 60 })
    const told: Proposition[] = []
    world.advance(START, ({ kind, proposition }) => {
      if (kind === 'phase' && proposition.phase === 'resolved') told.push(proposition)
    })
    const families = new Map<string, Proposition[]>()
    for (const market of world.propositions('venuea')) {
      expect(world.propositions('venuea')[market.index]).toBe(market)
      const name = `${market.asset} ${market.window}`
      families.set(name, [...(families.get(name) ?? []), market])
    }
    expect(families.size).toBe(6)
    for (const markets of families.values()) {
      for (const [index, market] of markets.slice(1).entries()) {
        expect(market.openTime).toBe(markets[index]!.closeTime)
      }
      const past = markets.filter(({ phase }) => phase === 'resolved')
      expect(past).toHaveLength(60)
      expect(markets[60]).toMatchObject({ phase: 'open' })
      expect(markets[60]!.openTime).toBeLessThanOrEqual(START)
      for (const { startPrice, outcome, volume, participants, book } of past) {
        const difference = Number(outcome!.endPrice) - Number(startPrice)
        const winner = difference > 0 ? 'first' : difference < 0 ? 'second' : 'tie'
        expect(outcome!.winner).toBe(winner)
        expect(Math.min(volume, participants)).toBeGreaterThan(0)
        expect(book).toEqual({ bids: [], asks: [] })
      }
    }
    const winners = world.propositions('venuea').map(({ outcome }) => outcome?.winner)
    expect(new Set(winners)).toEqual(new Set(['first', 'second', 'tie', undefined]))
    expect(told).toHaveLength(60 * (6 + 12 + 6))
    const again = worldOf('past', { history: 60 }).propositions('venueb')
    const same = world.propositions('venueb').slice(0, again.length)
    expect(JSON.stringify(again)).toBe(JSON.stringify(same))
  })

  it('makes the times of a skewed venue wrong and no others', () => {
    const world = worldOf('skew')
    world.skew('venueb', -5_000)
    expect(world.now('venueb')).toBe(START - 5_000)
    expect(world.now('venuec')).toBe(START)
    world.advance(START + 100, ({ at, proposition }) => {
      expect(at).toBeGreaterThanOrEqual(proposition.venue === 'venueb' ? START - 5_000 : START)
      expect(at).toBeLessThanOrEqual(START + 100 - (proposition.venue === 'venueb' ? 5_000 : 0))
    })
  })
})

describe('a round', () => {
  // At this speed a step takes a third of a millisecond: each time has its own steps, in order.
  function settled(start: number) {
    const world = new SteppedWorld({
      seed: 'settle',
      start,
      speed: 60,
      venues: EMULATED_VENUES.map((venue) => venueMarkets(venue, emulatedVenue(venue).style)),
      rounds: 2,
      rates: () => ({ changes: 0, trades: 0, pauses: 0, disputes: 0, ties: 0 }),
      clock: () => start,
    })
    const prices: number[] = []
    const noted = new Map<Proposition, { start?: string; end?: string }>()
    const mean = (steps: number): string => {
      const last = prices.slice(-steps)
      return (last.reduce((sum, price) => sum + price, 0) / last.length).toFixed(2)
    }
    const due: (() => void)[] = []
    world.advance(
      start + 40_000,
      ({ kind, proposition }) => {
        if (kind !== 'phase' || proposition.asset !== 'BTC' || proposition.venue !== 'venuec')
          return
        const { phase, window } = proposition
        const steps = { '5m': 30, '15m': 60, '1h': 0 }[window] * 50
        const note = noted.get(proposition) ?? {}
        noted.set(proposition, note)
        if (phase === 'open') due.push(() => (note.start = `${mean(1)} ${mean(steps)}`))
        if (phase === 'closed') due.push(() => (note.end = `${mean(1)} ${mean(steps)}`))
      },
      () => {
        prices.push(world.price('BTC'))
        for (const take of due.splice(0)) take()
      },
    )
    return [...noted].filter(([{ outcome }]) => outcome !== undefined)
  }

  it.each([
    ['the average of its last seconds', Date.UTC(2026, 7, 8, 12), 1],
    ['the price of that time, before 2026-08-07', Date.UTC(2026, 7, 6, 12), 0],
  ])('of venue C settles on %s', (_, start, which) => {
    const rounds = settled(start)
    expect(rounds.length).toBeGreaterThan(8)
    for (const [{ startPrice, outcome }, noted] of rounds) {
      expect([startPrice, outcome!.endPrice]).toEqual([
        noted.start!.split(' ')[which],
        noted.end!.split(' ')[which],
      ])
      const isUp = Number(outcome!.endPrice) >= Number(startPrice)
      expect(outcome!.winner).toBe(isUp ? 'first' : 'second')
    }
    const differing = rounds.filter(([, { end }]) => new Set(end!.split(' ')).size === 2)
    expect(differing.length).toBeGreaterThan(5)
  })
})
