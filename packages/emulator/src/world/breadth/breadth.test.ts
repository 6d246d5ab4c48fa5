import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Phase, Proposition, TopicKind, WorldEvent } from '../../core/upstream.ts'
import {
  BROAD_START,
  createBroadVenue,
  createBroadWorld,
  type BroadOptions,
} from '../../venues/broad.testing.ts'
import { createRandom } from '../random.ts'
import { Activity } from './activity.ts'
import { DueHeap } from './due-heap.ts'

/** A digest of everything that happened, books included. */
function digest(options: BroadOptions, strideMs: number, isRead: boolean): string {
  const { world } = createBroadWorld('venuec', options)
  const hash = createHash('sha256')
  const note = ({ proposition, ...event }: WorldEvent): void => {
    const { index, phase, closeTime, outcome, book } = proposition
    hash.update(JSON.stringify({ ...event, index, phase, closeTime, outcome, book }))
  }
  for (let ms = 0; ms <= 60_000; ms += strideMs) {
    world.advance(BROAD_START + ms, note)
    // Reading a book makes its ladder, which must not change what follows.
    if (isRead)
      for (const { book } of world.propositions('venuec'))
        hash.update(book.bids.length > 99 ? 'x' : '')
  }
  for (const { book } of world.propositions('venuec')) hash.update(JSON.stringify(book))
  return hash.digest('hex')
}

describe('the broad world', () => {
  it('depends on the seed and the start alone, not on its readers or the length of its steps', () => {
    const options = { markets: 200, rate: 40, turnover: 30 }
    const first = digest({ ...options, seed: '7' }, 60_000, false)
    expect(digest({ ...options, seed: '7' }, 500, true)).toBe(first)
    expect(digest({ ...options, seed: '8' }, 60_000, false)).not.toBe(first)
  })

  it('has as many open markets as asked for, of all kinds, and combinations beside them', () => {
    const venue = createBroadVenue('venueb', { markets: 1_000, turnover: 0 })
    const markets = venue.topics()
    const kinds = new Map<TopicKind, number>()
    for (const { topic } of markets) kinds.set(topic.kind, (kinds.get(topic.kind) ?? 0) + 1)
    expect(markets.filter(({ phase }) => phase === 'open')).toHaveLength(1_100)
    expect(kinds.get('combo')).toBe(100)
    for (const kind of ['election', 'award', 'range', 'threshold', 'match', 'question'] as const) {
      expect(kinds.get(kind)).toBeGreaterThan(30)
    }
    const sizes = markets.map(({ topic }) => topic.markets.length)
    expect(Math.max(...sizes)).toBeGreaterThan(20)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(40)
  })

  it('gives every market a name of its own, the same after a restart', () => {
    for (const venue of ['venueb', 'venuec'] as const) {
      const names = (start: number): string[] => {
        const broad = createBroadVenue(venue, { markets: 3_000, turnover: 60, start })
        return broad
          .topics()
          .map(({ topic, answer }) => `${topic.name}/${answer.code}/${topic.number}`)
      }
      const first = names(BROAD_START)
      expect(new Set(first).size).toBe(first.length)
      const later = new Set(names(BROAD_START + 20_000))
      const standing = first.filter((name) => Number(name.split('/').at(-1)) < 1e12)
      expect(standing.length).toBeGreaterThan(2_990)
      expect(standing.filter((name) => !later.has(name))).toEqual([])
      // Passing topics that are still open have kept their names too.
      expect(first.filter((name) => later.has(name)).length).toBeGreaterThan(standing.length)
    }
  })

  it('folds: a book is what it was at first and its events, never crossed and on its tick', () => {
    const { world } = createBroadWorld('venuec', { markets: 200, rate: 100, turnover: 60 })
    const folds = new Map<Proposition, Map<string, number>>()
    const flat = ({ book }: Proposition): Map<string, number> =>
      new Map([
        ...book.bids.map(({ price, size }) => [`bid ${price}`, size] as const),
        ...book.asks.map(({ price, size }) => [`ask ${price}`, size] as const),
      ])
    for (const market of world.propositions('venuec')) folds.set(market, flat(market))
    const wrong: string[] = []
    world.advance(BROAD_START + 60_000, (event) => {
      const { proposition: market } = event
      if (event.kind === 'listed') folds.set(market, new Map())
      if (event.kind !== 'book') return
      const fold = folds.get(market)!
      for (const { side, price, size, delta } of event.levels) {
        const before = fold.get(`${side} ${price}`) ?? 0
        if (size - delta !== before) wrong.push(`${market.index}: a change of ${delta}`)
        if (price % 10 !== 0) wrong.push(`${market.index}: a price of ${price}`)
        if (size === 0) fold.delete(`${side} ${price}`)
        else fold.set(`${side} ${price}`, size)
      }
      const { bids, asks } = market.book
      const isCrossed = (bids[0]?.price ?? 0) >= (asks[0]?.price ?? 10_000)
      if (isCrossed) wrong.push(`${market.index} is crossed`)
    })
    expect(wrong).toEqual([])
    for (const [market, fold] of folds) expect(flat(market)).toEqual(fold)
  })

  it('lists, opens, pauses, moves, closes and resolves topics during the run', () => {
    const { world } = createBroadWorld('venueb', { markets: 50, rate: 0, turnover: 30, speed: 20 })
    const lives = new Map<Proposition, string[]>()
    world.advance(BROAD_START + 60_000, ({ kind, proposition }) => {
      if (kind === 'listed') lives.set(proposition, [])
      const phase: Phase | 'moved' = kind === 'moved' ? kind : proposition.phase
      if (kind !== 'book') lives.get(proposition)?.push(phase)
    })
    const texts = new Set([...lives.values()].map((life) => life.join(' ')))
    const wanted = [
      'listed open closed determined resolved',
      'listed open paused open closed determined resolved',
      'listed open moved closed determined resolved',
      'listed open closed determined disputed determined resolved',
    ]
    for (const life of wanted) expect(texts).toContain(life)
    const ended = [...lives.keys()].filter(({ phase }) => phase === 'resolved')
    const wins = ({ topic }: Proposition): boolean[] =>
      topic!.markets.map(({ outcome }) => outcome?.winner === 'first')
    const exclusive = ended.filter(({ topic }) => topic!.isExclusive)
    expect(exclusive.map((one) => wins(one).filter(Boolean).length)).toEqual(exclusive.map(() => 1))
    // A value above one threshold is above all lower ones.
    const thresholds = ended.filter(({ topic }) => topic!.kind === 'threshold')
    expect(thresholds.length).toBeGreaterThan(0)
    expect(thresholds.map((one) => wins(one).lastIndexOf(true) + 1)).toEqual(
      thresholds.map((one) => wins(one).filter(Boolean).length),
    )
  })

  it('closes a market at the time that it was moved to', () => {
    const { world } = createBroadWorld('venuec', { markets: 50, rate: 0, turnover: 30, speed: 20 })
    const moved = new Map<Proposition, number>()
    const late: number[] = []
    world.advance(BROAD_START + 40_000, (event) => {
      const { proposition: market, at } = event
      if (event.kind === 'moved') moved.set(market, event.before)
      const isClosed = event.kind === 'phase' && market.phase === 'closed'
      if (isClosed && moved.has(market)) late.push(at - market.closeTime)
    })
    expect(late.length).toBeGreaterThan(5)
    for (const [market, before] of moved) expect(market.closeTime).not.toBe(before)
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...late)).toBeLessThan(2)
  })

  it('works as much as is ordered, however many markets there are', () => {
    const hour = (markets: number): { work: number; events: number } => {
      const { world } = createBroadWorld('venueb', { markets, rate: 2, turnover: 1 })
      let events = 0
      world.advance(BROAD_START + 3_600_000, () => events++)
      return { work: world.breadths[0]!.work, events }
    }
    const small = hour(300)
    const large = hour(20_000)
    // An order is one unit of work: 7,200 in an hour, and a few units for each of 60 topics.
    for (const { work, events } of [small, large]) {
      expect(work).toBeGreaterThan(7_000)
      expect(work).toBeLessThan(8_200)
      expect(events).toBeLessThan(10_000)
    }
  })
})

describe('activity', () => {
  it('is heavy-tailed: few markets have most orders, four of ten have none', () => {
    const markets = Array.from({ length: 2_000 }, (_, at) => at)
    const random = createRandom('activity')
    const activity = new Activity(markets, random)
    const counts = markets.map(() => 0)
    for (let order = 0; order < 200_000; order++) counts[activity.pick(random)!]!++
    const sorted = counts.toSorted((a, b) => b - a)
    const share = (part: number): number =>
      sorted.slice(0, markets.length * part).reduce((sum, count) => sum + count, 0) / 200_000
    expect(share(0.1)).toBeGreaterThan(0.6)
    expect(share(0.01)).toBeGreaterThan(0.2)
    expect(share(0.61)).toBe(1)
    expect(counts.filter((count) => count === 0).length).toBeGreaterThanOrEqual(800)
  })

  it('gives a rank to a market that joins and takes it back', () => {
    const activity = new Activity(
      ['a', 'b', 'c'].concat(Array.from({ length: 60 }, (_, n) => `${n}`)),
      createRandom('x'),
    )
    activity.join('new')
    const rank = activity.rankOf('new')
    expect(rank).toBeDefined()
    activity.leave('new')
    expect(activity.rankOf('new')).toBeUndefined()
    activity.join('other')
    expect(activity.rankOf('other')).toBe(rank)
  })
})

describe('the heap of what is due', () => {
  it('returns what is due by time, and by order of adding at one time', () => {
    const heap = new DueHeap<string>()
    const random = createRandom('heap')
    const times = Array.from({ length: 500 }, (_, at) => ({ at: random.int(50), name: `${at}` }))
    for (const { at, name } of times) heap.add(at, name)
    expect(heap.shiftDue(-1)).toBeUndefined()
    const shifted: string[] = []
    for (let one = heap.shiftDue(50); one !== undefined; one = heap.shiftDue(50)) shifted.push(one)
    const sorted = times.toSorted((a, b) => a.at - b.at).map(({ name }) => name)
    expect(shifted).toEqual(sorted)
    expect(heap.size).toBe(0)
  })
})
