import { expect, it } from 'vitest'
import { countChanges } from './book-changes.ts'
import { AT, TICKER } from './fixtures.ts'
import { normalizeOrderbookAnswer } from './orderbook.ts'

const book = (yes_dollars: string[][], no_dollars: string[][]) =>
  normalizeOrderbookAnswer(TICKER, { orderbook_fp: { yes_dollars, no_dollars } }, AT)

it('counts levels that came, went or changed their size', () => {
  const before = book(
    [
      ['0.1', '1'],
      ['0.2', '2'],
    ],
    [['0.7', '3']],
  )
  expect(countChanges(before, before)).toBe(0)
  const after = book(
    [
      ['0.2', '2.5'],
      ['0.3', '1'],
    ],
    [],
  )
  expect(countChanges(before, after)).toBe(4)
  expect(countChanges(after, before)).toBe(4)
})
