import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { firstOf, joinPieces } from './pieces.ts'
import type { FilePiece } from './read-container.ts'

const piece = (first: number, count: number, isSealed: boolean): FilePiece =>
  ({ first, count, isSealed }) as FilePiece

const shown = (pieces: readonly FilePiece[]): string[] =>
  joinPieces(pieces).map((one) => {
    const from = firstOf(one)
    return `${from}–${from + one.to - one.from - 1}${one.piece.isSealed ? ' sealed' : ''}`
  })

test('border chunks count once; what is sealed later wins; of a part the rest is kept', () => {
  const sealed = [piece(1, 10, true), piece(11, 10, true), piece(11, 10, true)]
  expect(shown(sealed)).toEqual(['1–10 sealed', '11–20 sealed'])
  expect(shown([...sealed, piece(15, 10, false)])).toEqual(['1–10 sealed', '11–20 sealed', '21–24'])
  expect(shown([piece(11, 4, false), ...sealed])).toEqual(['1–10 sealed', '11–20 sealed'])
  expect(shown([piece(5, 5, false), piece(5, 9, false)])).toEqual(['5–13'])
  expect(shown([piece(5, 5, false), piece(8, 9, false)])).toEqual(['5–9', '10–16'])
  expect(shown([piece(1, 30, false), piece(11, 10, true)])).toEqual([
    '1–10',
    '11–20 sealed',
    '21–30',
  ])
})

test('every row that a file holds is there once, and sealed chunks stay whole', () => {
  const parts = fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 20 })))
  const cuts = fc.uniqueArray(fc.integer({ min: 2, max: 60 }), { minLength: 2, maxLength: 8 })
  const property = fc.property(cuts, fc.array(fc.nat(20)), parts, (bounds, picked, loose) => {
    const sorted = bounds.toSorted((a, b) => a - b)
    const chunks = sorted
      .slice(1)
      .map((end, index) => piece(sorted[index]!, end - sorted[index]!, true))
    const pieces = [
      ...picked.map((place) => chunks[place % chunks.length]!),
      ...loose.map(([first, count]) => piece(first, count, false)),
    ]
    const wanted = new Set<number>()
    for (const { first, count } of pieces) {
      for (let row = first; row < first + count; row++) wanted.add(row)
    }
    const rows: number[] = []
    for (const one of joinPieces(pieces)) {
      expect(one.piece.isSealed ? one.to - one.from : one.piece.count).toBe(one.piece.count)
      for (let row = firstOf(one); row < one.piece.first + one.to; row++) rows.push(row)
    }
    expect(rows).toEqual([...wanted].sort((a, b) => a - b))
  })
  fc.assert(property, { seed: 4, numRuns: 400 })
})
