import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FLAGS } from '../domain/index.ts'
import { ABSENT, BookColumns, HeadColumns, type RowHead } from './columns.ts'
import { Ladder } from './ladder.ts'
import { applyRow, applyRows, loadBase } from './run.ts'
import { runsOf } from '../domain/run-counts.testing.ts'

describe('columns', () => {
  it('grow and keep their rows', () => {
    const columns = new BookColumns(2)
    for (let row = 0; row < 1000; row++) columns.push(head(row), [row % 7, 9], [row, row * 2])
    expect([columns.count, columns.changeCount]).toStrictEqual([1000, 2000])
    for (const row of [0, 63, 64, 999]) {
      expect(columns.received[row]).toBe(1e15 + row)
      expect(columns.flags[row]).toBe(row)
      expect([columns.changeStart(row), columns.changeEnd[row]]).toStrictEqual([
        row * 2,
        row * 2 + 2,
      ])
      expect([columns.key[row * 2], columns.size[row * 2 + 1]]).toStrictEqual([row % 7, row * 2])
    }
  })

  it('append any rows of other columns', () => {
    const source = new BookColumns(2)
    for (let row = 0; row < 100; row++) {
      const keys = Array.from({ length: row % 4 }, (_, index) => row + index)
      source.push(head(row), keys, keys)
    }
    for (const [from, to] of [
      [0, 100],
      [0, 0],
      [17, 17],
      [3, 60],
      [99, 100],
    ] as const) {
      const target = new BookColumns(2)
      target.push(head(7), [1, 2, 3], [4, 5, 6])
      target.pushRows(source, from, to)
      expect(target.count).toBe(1 + to - from)
      for (let row = from; row < to; row++) {
        const at = 1 + row - from
        expect(target.received[at]).toBe(source.received[row])
        expect(target.journal[at]).toBe(source.journal[row])
        const keys = target.key.subarray(target.changeStart(at), target.changeEnd[at])
        expect([...keys]).toStrictEqual(Array.from({ length: row % 4 }, (_, index) => row + index))
      }
      expect([...target.key.subarray(0, 3)]).toStrictEqual([1, 2, 3])
    }
  })

  it('convert to finer ticks, sides and base included', () => {
    const columns = new BookColumns(2)
    columns.baseKey = [96, 105]
    columns.baseSize = [1, 2]
    columns.push(head(0), [98, 103], [5, 6])
    columns.rescale(4)
    expect(columns.priceDecimals).toBe(4)
    expect([...columns.key.subarray(0, 2), ...columns.baseKey]).toStrictEqual([
      9800, 10_201, 9600, 10_401,
    ])
    columns.rescale(4)
    expect(columns.key[0]).toBe(9800)
  })

  it('remove their rows and keep their memory', () => {
    const columns = new BookColumns(2)
    columns.baseKey = [2]
    for (let row = 0; row < 100; row++) columns.push(head(row), [1], [1])
    const room = columns.received.length
    columns.clear()
    expect([columns.count, columns.changeCount, columns.baseKey]).toStrictEqual([0, 0, []])
    expect(columns.received.length).toBe(room)
    columns.push(head(5), [3], [4])
    expect([columns.changeEnd[0], columns.key[0]]).toStrictEqual([1, 3])
  })

  it('copy a head', () => {
    const source = new HeadColumns()
    source.pushHead({ ...head(3), source: ABSENT, channel: 9 })
    const target = new HeadColumns()
    expect(target.pushHeadOf(source, 0)).toBe(0)
    expect([target.source[0], target.channel[0], target.venueSeq[0]]).toStrictEqual([ABSENT, 9, 3])
  })
})

describe('a run', () => {
  it('starts from the book before it, and from an empty one where a row restarts it', () => {
    const columns = new BookColumns(2)
    columns.baseKey = [96, 105]
    columns.baseSize = [1, 2]
    columns.push(head(0, 0), [98], [5])
    columns.push(head(1, FLAGS.full_book), [96], [0])
    columns.push(head(2, FLAGS.full_book | FLAGS.restart), [80, 111], [7, 8])
    columns.push(head(3, 0), [80], [9])
    const ladder = new Ladder(4)
    ladder.apply(2, 1)
    loadBase(ladder, columns)
    expect([ladder.decimals, ladder.keys()]).toStrictEqual([2, [96, 105]])
    applyRow(ladder, columns, 0)
    expect(ladder.keys()).toStrictEqual([98, 96, 105])
    applyRow(ladder, columns, 1)
    expect(ladder.keys()).toStrictEqual([98, 105])
    applyRows(ladder, columns, 2, 4)
    expect([ladder.keys(), ladder.sizeAt(80)]).toStrictEqual([[80, 111], 9])
    applyRows(ladder, columns, 4, 4)
    expect(ladder.keys()).toStrictEqual([80, 111])
  })

  it('gives the same book at once and row by row, wherever a row restarts it', () => {
    const aRow = fc.record({
      keys: fc.array(fc.integer({ min: 2, max: 199 }), { maxLength: 3 }),
      restarts: fc.integer({ min: 0, max: 19 }).map((chance) => chance === 0),
    })
    fc.assert(
      fc.property(fc.array(aRow, { minLength: 1, maxLength: 80 }), fc.nat(), (rows, place) => {
        const columns = new BookColumns()
        for (const [index, { keys, restarts }] of rows.entries()) {
          const sizes = keys.map((key) => (key + index) % 3)
          columns.push(head(index, restarts ? FLAGS.restart : 0), keys, sizes)
        }
        const from = place % rows.length
        const [whole, single] = [new Ladder(), new Ladder()]
        for (const ladder of [whole, single]) applyRows(ladder, columns, 0, from)
        applyRows(whole, columns, from, rows.length)
        for (let row = from; row < rows.length; row++) applyRow(single, columns, row)
        expect(whole).toStrictEqual(single)
      }),
      { seed: 5, numRuns: runsOf(200) },
    )
  })
})

function head(row: number, flags = row): RowHead {
  return { received: 1e15 + row, source: ABSENT, venueSeq: row, channel: 1, journal: row, flags }
}
