import { FLAGS } from '@priorbook/sdk/domain'
import { applyRow, BookColumns, Ladder, levelKey } from '@priorbook/sdk/tape'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BookCursor, differenceOf } from './book-cursor.ts'

const HEAD = { received: 1, source: -1, venueSeq: -1, channel: -1, journal: 1, flags: 0 }

function ladderOf(levels: readonly (readonly [number, number])[], decimals = 2): Ladder {
  const ladder = new Ladder(decimals)
  for (const [key, size] of levels) ladder.apply(key, size)
  return ladder
}

describe('the difference of two books', () => {
  it('applied to the first book gives the second', () => {
    const level = fc.tuple(fc.integer({ min: 2, max: 199 }), fc.integer({ min: 1, max: 9 }))
    const book = fc.array(level, { maxLength: 30 })
    fc.assert(
      fc.property(book, book, (one, other) => {
        const before = ladderOf(one)
        const after = ladderOf(other)
        const { keys, sizes } = differenceOf(before, after)
        expect(new Set(keys).size).toBe(keys.length)
        for (const [index, key] of keys.entries()) before.apply(key, sizes[index]!)
        expect([before.bids(), before.asks()]).toEqual([after.bids(), after.asks()])
      }),
    )
  })

  it('uses the finer ticks of the two books', () => {
    const before = ladderOf([[levelKey('bid', 40), 5]])
    const after = ladderOf([[levelKey('bid', 4001), 5]], 4)
    expect(differenceOf(before, after)).toEqual({
      keys: [levelKey('bid', 4001), levelKey('bid', 4000)],
      sizes: [5, 0],
    })
  })
})

describe('a cursor', () => {
  it('has the book after each row, also when ticks become finer', () => {
    const columns = new BookColumns(2)
    columns.push(
      { ...HEAD, flags: FLAGS.restart },
      [levelKey('bid', 40), levelKey('ask', 45)],
      [5, 6],
    )
    columns.push(HEAD, [levelKey('bid', 41)], [7])
    const finer = new BookColumns(4)
    finer.baseKey = [levelKey('bid', 4100), levelKey('bid', 4000), levelKey('ask', 4500)]
    finer.baseSize = [7, 5, 6]
    finer.push(HEAD, [levelKey('ask', 4499)], [8])
    const cursor = new BookCursor()
    const run = { columns, firstSequence: 1, from: 0, to: 2 }
    cursor.step(run, 0)
    expect(cursor.precedes(run, 1)).toBe(true)
    cursor.step(run, 1)
    cursor.step({ columns: finer, firstSequence: 3, from: 0, to: 1 }, 0)
    expect(cursor.sequence).toBe(3)
    const whole = cursor.whole()
    const ladder = new Ladder(whole.priceDecimals)
    for (const [index, key] of whole.baseKey.entries()) ladder.apply(key, whole.baseSize[index]!)
    applyRow(ladder, whole, 0)
    expect([ladder.bids(), ladder.asks()]).toEqual([
      { price: [4100, 4000], size: [7, 5] },
      { price: [4499, 4500], size: [8, 6] },
    ])
    const jumped = new BookCursor()
    jumped.jump({ columns: finer, firstSequence: 3, from: 0, to: 1 }, 0)
    expect(jumped.ladder.keys()).toEqual(cursor.ladder.keys())
  })
})
