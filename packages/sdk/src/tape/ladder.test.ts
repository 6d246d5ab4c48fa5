import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { POW10 } from '../domain/index.ts'
import { Ladder, levelKey, type LadderSide } from './ladder.ts'
import { runsOf } from '../domain/run-counts.testing.ts'

/** The same book as a plain map from level key to size. */
type Model = Map<number, number>

describe.each([2, 3, 4, 5, 6])('a ladder of %i decimals', (decimals) => {
  const one = POW10[decimals]!

  it('equals a map under any changes', () => {
    fc.assert(
      fc.property(someChanges(one), (changes) => {
        const ladder = new Ladder(decimals)
        const model: Model = new Map()
        for (const [key, size] of changes) {
          apply(ladder, model, key, size)
          expect(summaryOf(ladder)).toStrictEqual(modelSummary(model, one))
        }
        expect(contentOf(ladder)).toStrictEqual(modelContent(model, one))
      }),
      { numRuns: runsOf(150), seed: 10 + decimals },
    )
  })

  it('filled by put and settled equals one filled by apply', () => {
    fc.assert(
      fc.property(someChanges(one), someChanges(one), (before, changes) => {
        const { ladder } = build(decimals, before)
        const other = ladder.clone()
        for (const [key, size] of changes) {
          ladder.apply(key, size)
          other.putLevels([key], [size])
        }
        other.settle()
        expect(contentOf(other)).toStrictEqual(contentOf(ladder))
        other.apply(2, 0)
        ladder.apply(2, 0)
        expect(contentOf(other)).toStrictEqual(contentOf(ladder))
      }),
      { numRuns: runsOf(150), seed: 15 + decimals },
    )
  })

  it('finds the next level from any price', () => {
    fc.assert(
      fc.property(someChanges(one), fc.integer({ min: 0, max: one }), (changes, from) => {
        const { ladder, model } = build(decimals, changes)
        const bids = modelSide(model, 0).map(([price]) => price)
        const asks = modelSide(model, 1).map(([price]) => price)
        expect(ladder.nextBid(from)).toBe(bids.find((price) => price < from) ?? 0)
        expect(ladder.nextAsk(from)).toBe(asks.find((price) => price > from) ?? one)
      }),
      { numRuns: runsOf(500), seed: 20 + decimals },
    )
  })

  it('limits its sides to a depth', () => {
    const aDepth = fc.integer({ min: 0, max: 12 })
    fc.assert(
      fc.property(someChanges(one), aDepth, (changes, depth) => {
        const { ladder } = build(decimals, changes)
        for (const side of ['bids', 'asks'] as const) {
          const { price, size } = ladder[side]()
          const cut = { price: price.slice(0, depth), size: size.slice(0, depth) }
          expect(ladder[side](depth)).toStrictEqual(cut)
        }
      }),
      { numRuns: 100, seed: 30 + decimals },
    )
  })

  it('has a complement whose complement is the book itself', () => {
    fc.assert(
      fc.property(someChanges(one), (changes) => {
        const { ladder } = build(decimals, changes)
        const other = ladder.complement()
        const flip = ({ price, size }: LadderSide): LadderSide => ({
          price: price.map((ticks) => one - ticks),
          size,
        })
        expect(other.bids()).toStrictEqual(flip(ladder.asks()))
        expect(other.asks()).toStrictEqual(flip(ladder.bids()))
        expect(contentOf(other.complement())).toStrictEqual(contentOf(ladder))
      }),
      { numRuns: 100, seed: 40 + decimals },
    )
  })

  it('clones into an independent book', () => {
    fc.assert(
      fc.property(someChanges(one), someChanges(one), (before, after) => {
        const { ladder, model } = build(decimals, before)
        const content = contentOf(ladder)
        const copy = ladder.clone()
        expect(contentOf(copy)).toStrictEqual(content)
        for (const [key, size] of after) apply(copy, model, key, size)
        expect(contentOf(ladder)).toStrictEqual(content)
        expect(contentOf(copy)).toStrictEqual(modelContent(model, one))
      }),
      { numRuns: 60, seed: 50 + decimals },
    )
  })

  it('equals a new ladder after a clear', () => {
    fc.assert(
      fc.property(someChanges(one), someChanges(one), (before, after) => {
        const { ladder } = build(decimals, before)
        ladder.clear()
        expect(contentOf(ladder)).toStrictEqual(contentOf(new Ladder(decimals)))
        const model: Model = new Map()
        for (const [key, size] of after) apply(ladder, model, key, size)
        expect(contentOf(ladder)).toStrictEqual(modelContent(model, one))
      }),
      { numRuns: 60, seed: 60 + decimals },
    )
  })

  it('keeps its book when it is rescaled and scaled back', () => {
    const finer = fc.integer({ min: decimals, max: 6 })
    fc.assert(
      fc.property(someChanges(one), finer, someChanges(one), (before, to, after) => {
        const { ladder, model } = build(decimals, before)
        const content = contentOf(ladder)
        const factor = POW10[to - decimals]!
        const scaled: Model = new Map()
        for (const [key, size] of model) scaled.set(scale(key, factor), size)
        ladder.rescale(to)
        expect([ladder.decimals, ladder.one]).toStrictEqual([to, POW10[to]])
        expect(contentOf(ladder)).toStrictEqual(modelContent(scaled, POW10[to]!))
        ladder.rescale(decimals)
        expect(contentOf(ladder)).toStrictEqual(content)
        for (const [key, size] of after) apply(ladder, model, key, size)
        expect(contentOf(ladder)).toStrictEqual(modelContent(model, one))
      }),
      { numRuns: 40, seed: 70 + decimals },
    )
  })

  it.skipIf(decimals > 4)('can have every price occupied at once', () => {
    const ladder = new Ladder(decimals)
    const model: Model = new Map()
    for (let ticks = 1; ticks < one; ticks++) {
      apply(ladder, model, ticks * 2, ticks)
      apply(ladder, model, ticks * 2 + 1, one - ticks)
    }
    expect(contentOf(ladder)).toStrictEqual(modelContent(model, one))
    // From the best price on, so that every next price is searched for.
    for (let ticks = one - 1; ticks > 0; ticks--) {
      ladder.apply(ticks * 2, 0)
      expect(ladder.bestBid).toBe(ticks - 1)
      ladder.apply((one - ticks) * 2 + 1, 0)
      expect(ladder.bestAsk).toBe(one - ticks + 1)
    }
    expect(contentOf(ladder)).toStrictEqual(contentOf(new Ladder(decimals)))
  })
})

describe('a level key', () => {
  it('is the price twice, plus 1 for an ask', () => {
    expect([levelKey('bid', 48), levelKey('ask', 48)]).toStrictEqual([96, 97])
  })
})

// Prices near each other and at both ends, so that levels are hit again and words are crossed.
function someChanges(one: number): fc.Arbitrary<[key: number, size: number][]> {
  const ticks = fc.oneof(
    fc.integer({ min: 1, max: one - 1 }),
    fc.integer({ min: 1, max: 5 }),
    fc.integer({ min: one - 5, max: one - 1 }),
    fc.integer({ min: 29, max: 35 }),
  )
  const key = fc.tuple(ticks, fc.nat(1)).map(([price, side]) => price * 2 + side)
  const size = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }))
  return fc.array(fc.tuple(key, size), { maxLength: 60, size: 'max' })
}

function build(decimals: number, changes: [number, number][]): { ladder: Ladder; model: Model } {
  const ladder = new Ladder(decimals)
  const model: Model = new Map()
  for (const [key, size] of changes) apply(ladder, model, key, size)
  return { ladder, model }
}

function apply(ladder: Ladder, model: Model, key: number, size: number): void {
  ladder.apply(key, size)
  if (size === 0) model.delete(key)
  else model.set(key, size)
}

function scale(key: number, factor: number): number {
  return (key >>> 1) * factor * 2 + (key & 1)
}

function modelSide(model: Model, side: 0 | 1): [price: number, size: number][] {
  const levels = [...model].filter(([key]) => (key & 1) === side)
  const direction = side === 0 ? -1 : 1
  return levels
    .map(([key, size]): [number, number] => [key >>> 1, size])
    .sort((a, b) => (a[0] - b[0]) * direction)
}

function modelSummary(model: Model, one: number): unknown {
  const bids = modelSide(model, 0)
  const asks = modelSide(model, 1)
  return [bids[0]?.[0] ?? 0, asks[0]?.[0] ?? one, bids.length, asks.length]
}

function summaryOf(ladder: Ladder): unknown {
  return [ladder.bestBid, ladder.bestAsk, ladder.bidLevels, ladder.askLevels]
}

function modelContent(model: Model, one: number): unknown {
  const sideOf = (side: 0 | 1): LadderSide => ({
    price: modelSide(model, side).map(([price]) => price),
    size: modelSide(model, side).map(([, size]) => size),
  })
  const [bids, asks] = [sideOf(0), sideOf(1)]
  const keys = [
    ...bids.price.map((price) => price * 2),
    ...asks.price.map((price) => price * 2 + 1),
  ]
  return { summary: modelSummary(model, one), bids, asks, keys }
}

function contentOf(ladder: Ladder): unknown {
  const keys = ladder.keys()
  return { summary: summaryOf(ladder), bids: ladder.bids(), asks: ladder.asks(), keys }
}
