import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  FLAGS,
  flagNames,
  POW10,
  PriorbookError,
  toMicros,
  VENUES,
  type BookChange,
  type BookSnapshot,
  type Instrument,
  type Level,
  type PriceTicks,
  type Provenance,
  type Side,
  type SizeUnits,
} from '../domain/index.ts'
import { BookAssembler, type Observation, type Refusal } from './assembler.ts'
import { ABSENT, BookColumns } from './columns.ts'
import { Ladder } from './ladder.ts'
import { applyRow } from './run.ts'
import { runsOf } from '../domain/run-counts.testing.ts'

const instrument: Instrument = { venue: 'venueb', market: 'KX', key: 'KX' }
const ONE = POW10[VENUES.venueb.priceDecimals]!
const NOON = 1_785_931_200_000_000

describe('a full book', () => {
  it('is reduced to the levels that differ', () => {
    const book = new BookAssembler(instrument)
    const first = observed(
      book.take(
        full(
          [
            [4800, 100],
            [4700, 50],
          ],
          [[5200, 30]],
        ),
      ),
    )
    expect(flagNames(first.flags)).toStrictEqual(['full_book', 'restart'])
    expect(levelsOf(first)).toStrictEqual({ 'bid 4800': 100, 'bid 4700': 50, 'ask 5200': 30 })
    const second = observed(
      book.take(
        full(
          [
            [4800, 100],
            [4600, 9],
          ],
          [[5200, 31]],
        ),
      ),
    )
    expect(flagNames(second.flags)).toStrictEqual(['full_book'])
    expect(levelsOf(second)).toStrictEqual({ 'bid 4700': 0, 'bid 4600': 9, 'ask 5200': 31 })
    const third = observed(
      book.take(
        full(
          [
            [4600, 9],
            [4800, 100],
          ],
          [[5200, 31]],
        ),
      ),
    )
    expect([third.keys, third.sizes]).toStrictEqual([[], []])
  })

  it('restarts the book after a close and keeps no level', () => {
    const book = new BookAssembler(instrument)
    book.take(full([[4800, 100]], []))
    book.close()
    expect([book.open, book.ladder.bidLevels]).toStrictEqual([false, 0])
    const next = observed(book.take(full([[4700, 1]], [])))
    expect(flagNames(next.flags)).toStrictEqual(['full_book', 'restart'])
    expect(levelsOf(next)).toStrictEqual({ 'bid 4700': 1 })
  })

  it('may be empty', () => {
    const book = new BookAssembler(instrument)
    const empty = observed(book.take(full([], [])))
    expect([empty.keys, flagNames(empty.flags)]).toStrictEqual([[], ['full_book', 'restart']])
    expect(book.open).toBe(true)
  })
})

describe('a change', () => {
  it('sets sizes, or adds to them where it is signed', () => {
    const book = opened()
    expect(levelsOf(observed(book.take(change([['bid', 4800, 70]]))))).toStrictEqual({
      'bid 4800': 70,
    })
    const signed = change(
      [
        ['bid', 4800, -20],
        ['ask', 5300, 5],
      ],
      true,
    )
    expect(levelsOf(observed(book.take(signed)))).toStrictEqual({ 'bid 4800': 50, 'ask 5300': 5 })
    expect(levelsOf(observed(book.take(change([['bid', 4800, -50]], true))))).toStrictEqual({
      'bid 4800': 0,
    })
    expect(book.ladder.bestBid).toBe(47)
  })

  it('that changes a level twice counts as one change', () => {
    const book = opened()
    const twice = change(
      [
        ['bid', 4800, 5],
        ['bid', 4600, 1],
        ['bid', 4800, -3],
      ],
      true,
    )
    const taken = observed(book.take(twice))
    expect([taken.keys, taken.sizes]).toStrictEqual([
      [96, 92],
      [102, 1],
    ])
  })

  it('without levels is a row with zero changes', () => {
    const taken = observed(opened().take(change([])))
    expect([taken.keys, taken.sizes, taken.flags]).toStrictEqual([[], [], 0])
  })

  it('switches to finer ticks and converts the levels collected so far', () => {
    const book = opened()
    const finer = change([
      ['bid', 4600, 1],
      ['bid', 4750, 2],
      ['bid', 4755, 3],
      ['bid', 4600, 4],
    ])
    const taken = observed(book.take(finer))
    expect([taken.priceDecimals, book.ladder.decimals]).toStrictEqual([4, 4])
    expect(levelsOf(taken)).toStrictEqual({ 'bid 4600': 4, 'bid 4750': 2, 'bid 4755': 3 })
    expect(book.ladder.bids().price).toStrictEqual([4800, 4755, 4750, 4700, 4600])
    const cents = observed(book.take(change([['ask', 5200, 8]])))
    expect(levelsOf(cents)).toStrictEqual({ 'ask 5200': 8 })
  })

  it('is rejected before the first book', () => {
    const book = new BookAssembler(instrument)
    expect(() => book.take(change([['bid', 4800, 1]]))).toThrow(PriorbookError)
  })
})

describe('a violation', () => {
  it.each<[name: string, violation: string, event: BookSnapshot | BookChange]>([
    ['price 0', 'price_out_of_bounds', full([[0, 1]], [])],
    ['price 1', 'price_out_of_bounds', full([], [[ONE, 1]])],
    ['a negative price', 'price_out_of_bounds', change([['bid', -1, 1]])],
    ['a changed price of 1', 'price_out_of_bounds', change([['ask', ONE, 1]])],
    ['size 0 in a full book', 'bad_size', full([[4800, 0]], [])],
    ['a negative size', 'bad_size', full([[4800, -1]], [])],
    ['a size beyond 2^53 − 1', 'bad_size', full([[4800, 2 ** 53]], [])],
    ['a change below zero', 'bad_size', change([['bid', 4800, -101]], true)],
    ['a change to below zero', 'bad_size', change([['bid', 4800, -1]])],
    ['a sum beyond 2^53 − 1', 'bad_size', change([['bid', 4800, Number.MAX_SAFE_INTEGER]], true)],
    ['a size that is not a number', 'bad_size', change([['bid', 4800, NaN]])],
    [
      'a price twice',
      'duplicate_price',
      full(
        [
          [4800, 1],
          [4800, 2],
        ],
        [],
      ),
    ],
    ['a crossed full book', 'crossed_book', full([[5300, 1]], [[5200, 1]])],
    ['a change that crosses', 'crossed_book', change([['bid', 5300, 1]])],
  ])('of type %s closes the book', (_name, violation, event) => {
    const book = opened()
    const refusal = book.take(event)
    expect(refusal).toMatchObject({ violation })
    expect((refusal as Refusal).detail).not.toMatch(/NaN \/|undefined/)
    expect([book.open, book.ladder.keys()]).toStrictEqual([false, []])
    expect(() => book.take(change([]))).toThrow('a change without an open book')
    const next = observed(book.take(full([[4800, 1]], [])))
    expect(flagNames(next.flags)).toStrictEqual(['full_book', 'restart'])
  })

  it('is checked on the book after the whole message', () => {
    const book = opened()
    const through = change([
      ['bid', 5300, 1],
      ['ask', 5200, 0],
    ])
    expect(levelsOf(observed(book.take(through)))).toStrictEqual({ 'bid 5300': 1, 'ask 5200': 0 })
    expect(book.ladder.bestBid).toBe(53)
  })
})

describe('flags', () => {
  it('mark the first row after a gap, once', () => {
    const book = opened()
    book.markGap()
    expect(flagsOf(book.take(change([])))).toStrictEqual(['after_gap'])
    expect(flagsOf(book.take(change([])))).toStrictEqual([])
  })

  it('keep the mark of a gap after a rejected event', () => {
    const book = opened()
    book.markGap()
    book.take(full([[0, 1]], []))
    expect(flagsOf(book.take(full([], [])))).toStrictEqual(['full_book', 'restart', 'after_gap'])
  })

  it('include late from 5 s and 1 µs on', () => {
    const book = opened()
    const at = (source: number): Provenance => ({ ...seen(NOON), source: toMicros(source) })
    expect(flagsOf(book.take(change([], false, at(NOON - 5_000_000))))).toStrictEqual([])
    expect(flagsOf(book.take(change([], false, at(NOON - 5_000_001))))).toStrictEqual(['late'])
    expect(flagsOf(book.take(change([], false, at(NOON + 60_000_000))))).toStrictEqual([])
  })

  it('mark a backward step of the clock, which received time does not follow', () => {
    const book = opened()
    const times = [NOON + 5, NOON + 5, NOON + 4, NOON, NOON + 6, NOON + 7, NOON + 7]
    const taken = times.map((time) => observed(book.take(change([], false, seen(time)))))
    expect(taken.map(({ received }) => received - NOON)).toStrictEqual([5, 5, 6, 7, 8, 9, 10])
    expect(taken.map(({ flags }) => flags)).toStrictEqual([0, 0, 4, 4, 4, 4, 4])
    expect(observed(book.take(change([], false, seen(NOON + 10)))).flags).toBe(0)
  })

  it('include locked while bid equals ask', () => {
    const book = opened()
    expect(flagsOf(book.take(change([['bid', 5200, 1]])))).toStrictEqual(['locked'])
    expect(flagsOf(book.take(change([])))).toStrictEqual(['locked'])
    expect(flagsOf(book.take(change([['bid', 5200, 0]])))).toStrictEqual([])
    const empty = new BookAssembler(instrument)
    expect(flagsOf(empty.take(full([], [])))).not.toContain('locked')
  })

  it('of the event are kept, for full books and changes', () => {
    const book = opened()
    const given = { ...seen(NOON), flags: FLAGS.off_tick | FLAGS.truncated_upstream }
    expect(flagsOf(book.take(change([], false, given)))).toStrictEqual([
      'off_tick',
      'truncated_upstream',
    ])
    expect(flagsOf(book.take({ ...full([], []), ...given }))).toStrictEqual([
      'full_book',
      'off_tick',
      'truncated_upstream',
    ])
  })
})

describe('a row', () => {
  it('keeps the venue’s times and numbers, or marks them absent', () => {
    const book = opened()
    const given = { received: toMicros(NOON), source: toMicros(NOON - 9), journal: 77 }
    const taken = book.take(change([], false, { ...given, venueSeq: 0, channel: 3 }))
    expect(taken).toMatchObject({ ...given, venueSeq: 0, channel: 3, instrument })
    const bare = book.take(change([]))
    expect(bare).toMatchObject({ source: ABSENT, venueSeq: ABSENT, channel: ABSENT })
  })

  it('cannot have a ladder finer than its venue', () => {
    expect(() => new BookAssembler(instrument, new Ladder(5))).toThrow(PriorbookError)
    expect(new BookAssembler(instrument, new Ladder(4)).ladder.decimals).toBe(4)
  })
})

it('equals a simple model for any events', () => {
  fc.assert(
    fc.property(fc.array(anEvent(), { maxLength: 40, size: 'max' }), (events) => {
      const book = new BookAssembler(instrument)
      const model = new Model()
      // The observations are folded as a reader does it: they must say all that the book did.
      const replayed = new Ladder(2)
      for (const event of events) {
        const wanted = model.take(event)
        const taken = takeAny(book, event)
        if (typeof taken === 'object') replay(replayed, taken)
        else if (wanted !== 'gap') replayed.clear()
        expect(outcomeOf(taken)).toBe(wanted)
        expect(book.open).toBe(model.book !== undefined)
        expect(priced(book.ladder)).toStrictEqual(model.levels())
        expect(priced(replayed)).toStrictEqual(model.levels())
      }
    }),
    { numRuns: runsOf(200), seed: 5 },
  )
})

/** Books as maps from `side price` to size; everything about an event is worked out from scratch. */
class Model {
  book: Map<string, number> | undefined
  gap = false
  private last = 0

  /** What is wrong with the event, or received time and flags of its observation. */
  take(event: AnyEvent): string {
    if (event === 'gap') {
      this.gap = true
      return 'gap'
    }
    if (event === 'close') {
      this.book = undefined
      return 'close'
    }
    const restarts = this.book === undefined
    const next = this.next(event)
    if (typeof next === 'string') {
      this.book = undefined
      return next
    }
    this.book = next
    const steps = event.received < this.last
    this.last = steps ? this.last + 1 : event.received
    const { bid, ask } = this.best()
    let flags = event.flags ?? 0
    if (event.kind === 'snapshot') flags += 1 + (restarts ? 64 : 0)
    if (event.source !== undefined && this.last > event.source + 5_000_000) flags += 2
    if (steps) flags += 4
    if (bid === ask) flags += 8
    if (this.gap) flags += 128
    this.gap = false
    return `${this.last} ${flags}`
  }

  levels(): Record<string, number> {
    return sortedRecord(this.book ?? [])
  }

  private next(event: BookSnapshot | BookChange): Map<string, number> | string {
    if (event.kind === 'change' && this.book === undefined) return 'invalid_message'
    const next = new Map(event.kind === 'change' ? this.book : [])
    const levels =
      event.kind === 'change'
        ? event.changes
        : [...event.bids.map(sided('bid')), ...event.asks.map(sided('ask'))]
    const isSigned = event.kind === 'change' && event.signed
    for (const { side, price, size } of levels) {
      const name = `${side} ${price}`
      if (price <= 0 || price >= ONE) return 'price_out_of_bounds'
      const sum = isSigned ? (next.get(name) ?? 0) + size : size
      if (sum < 0 || sum > Number.MAX_SAFE_INTEGER) return 'bad_size'
      if (event.kind === 'snapshot') {
        if (sum === 0) return 'bad_size'
        if (next.has(name)) return 'duplicate_price'
      }
      if (sum === 0) next.delete(name)
      else next.set(name, sum)
    }
    const { bid, ask } = bestOf(next)
    return bid > ask ? 'crossed_book' : next
  }

  private best(): { bid: number; ask: number } {
    return bestOf(this.book ?? new Map())
  }
}

function sortedRecord(levels: Iterable<[string, number]>): Record<string, number> {
  return Object.fromEntries([...levels].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function bestOf(book: ReadonlyMap<string, number>): { bid: number; ask: number } {
  const prices = (side: string): number[] =>
    [...book.keys()].filter((name) => name.startsWith(side)).map((name) => Number(name.slice(4)))
  return { bid: Math.max(0, ...prices('bid')), ask: Math.min(ONE, ...prices('ask')) }
}

function sided(side: Side): (level: Level) => Level & { side: Side } {
  return (level) => ({ ...level, side })
}

type AnyEvent = BookSnapshot | BookChange | 'gap' | 'close'

function takeAny(book: BookAssembler, event: AnyEvent): Observation | string {
  if (event === 'gap') book.markGap()
  else if (event === 'close') book.close()
  else {
    try {
      const taken = book.take(event)
      return 'violation' in taken ? taken.violation : taken
    } catch (error) {
      return (error as PriorbookError).code
    }
  }
  return event
}

function outcomeOf(taken: Observation | string): string {
  if (typeof taken === 'string') return taken
  if (new Set(taken.keys).size !== taken.keys.length) return 'a level twice'
  return `${taken.received} ${taken.flags}`
}

function anEvent(): fc.Arbitrary<AnyEvent> {
  // Mostly cents around the middle, so that books live for a while and levels meet.
  const price = (low: number, high: number): fc.Arbitrary<number> =>
    fc.oneof(
      { weight: 20, arbitrary: fc.integer({ min: low, max: high }).map((cents) => cents * 100) },
      { weight: 2, arbitrary: fc.integer({ min: low * 10, max: high * 10 }).map((at) => at * 10) },
      { weight: 1, arbitrary: fc.integer({ min: low * 100, max: high * 100 }) },
      { weight: 1, arbitrary: fc.constantFrom(0, ONE, 1, ONE - 1, -5) },
    )
  const size = fc.oneof(
    { weight: 30, arbitrary: fc.integer({ min: 1, max: 5 }) },
    { weight: 1, arbitrary: fc.constantFrom(0, Number.MAX_SAFE_INTEGER) },
  )
  const move = fc.oneof(size, fc.integer({ min: -5, max: 5 }))
  const levels = (low: number, high: number): fc.Arbitrary<[number, number][]> =>
    fc.array(fc.tuple(price(low, high), size), { maxLength: 4 })
  const side = fc.constantFrom<Side>('bid', 'ask')
  const changes = fc.array(
    side.chain((at) =>
      fc.tuple(fc.constant(at), at === 'bid' ? price(44, 51) : price(50, 57), move),
    ),
    { maxLength: 4 },
  )
  const provenance = fc
    .record({
      at: fc.integer({ min: 0, max: 12 }),
      latency: fc.option(fc.constantFrom(-9, 0, 4_999_999, 5_000_000, 5_000_001, 9_000_000)),
      flags: fc.constantFrom(undefined, FLAGS.off_tick, FLAGS.truncated_upstream),
    })
    .map(({ at, latency, flags }): Provenance => ({
      ...seen(NOON + at),
      ...(latency === null ? {} : { source: toMicros(NOON + at - latency) }),
      ...(flags === undefined ? {} : { flags }),
    }))
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .tuple(levels(44, 51), levels(50, 57), provenance)
        .map(([bids, asks, at]) => ({ ...full(bids, asks), ...at })),
    },
    {
      weight: 12,
      arbitrary: fc
        .tuple(changes, fc.boolean(), provenance)
        .map(([list, signed, at]) => change(list, signed, at)),
    },
    { weight: 1, arbitrary: fc.constantFrom('gap' as const, 'close' as const) },
  )
}

function opened(): BookAssembler {
  const book = new BookAssembler(instrument)
  book.take(
    full(
      [
        [4800, 100],
        [4700, 50],
      ],
      [[5200, 30]],
    ),
  )
  return book
}

function seen(time: number): Provenance {
  return { received: toMicros(time), journal: 1 }
}

function full(bids: [number, number][], asks: [number, number][]): BookSnapshot {
  const toLevels = (levels: [number, number][]): Level[] =>
    levels.map(([price, size]) => ({ price: price as PriceTicks, size: size as SizeUnits }))
  const levels = { bids: toLevels(bids), asks: toLevels(asks) }
  return { kind: 'snapshot', instrument, ...levels, ...seen(NOON) }
}

function change(
  levels: [side: Side, price: number, size: number][],
  signed = false,
  at: Provenance = seen(NOON),
): BookChange {
  const changes = levels.map(([side, price, size]) => ({
    side,
    price: price as PriceTicks,
    size: size as SizeUnits,
  }))
  return { kind: 'change', instrument, changes, signed, ...at }
}

function observed(taken: Observation | Refusal): Observation {
  if ('violation' in taken) throw new Error(`refused: ${taken.violation}, ${taken.detail}`)
  return taken
}

function flagsOf(taken: Observation | Refusal): string[] {
  return flagNames(observed(taken).flags)
}

/** The changed levels with their prices in ticks of the venue. */
function levelsOf({ keys, sizes, priceDecimals }: Observation): Record<string, number> {
  const scale = ONE / POW10[priceDecimals]!
  const name = (key: number): string => `${(key & 1) === 0 ? 'bid' : 'ask'} ${(key >>> 1) * scale}`
  return Object.fromEntries(keys.map((key, index) => [name(key), sizes[index]!]))
}

function priced(ladder: Ladder): Record<string, number> {
  const keys = ladder.keys()
  const sizes = keys.map((key) => ladder.sizeAt(key))
  const levels = levelsOf({ keys, sizes, priceDecimals: ladder.decimals } as unknown as Observation)
  return sortedRecord(Object.entries(levels))
}

function replay(ladder: Ladder, observation: Observation): void {
  ladder.rescale(observation.priceDecimals)
  const columns = new BookColumns(observation.priceDecimals)
  columns.push(observation, observation.keys, observation.sizes)
  applyRow(ladder, columns, 0)
}
