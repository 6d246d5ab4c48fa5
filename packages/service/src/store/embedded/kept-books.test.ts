import { Ladder } from '@priorbook/sdk/tape'
import { expect, test } from 'vitest'
import { KeptBooks } from './kept-books.ts'

const bookOf = (decimals: number) => ({
  ladder: new Ladder(decimals),
  ordinal: 1,
  newest: undefined,
})

test('books with fine ticks are fewer, because they are larger', () => {
  const [cents, fine] = [new KeptBooks(), new KeptBooks()]
  for (let stream = 0; stream < 5000; stream++) {
    cents.put(stream, bookOf(2))
    fine.put(stream, bookOf(4))
  }
  expect(cents.size).toBe(4096)
  // 32 MiB of 163 KB each.
  expect(fine.size).toBeGreaterThan(190)
  expect(fine.size).toBeLessThan(210)
  expect(fine.get(4999)).toBeDefined()
  expect(fine.get(0)).toBeUndefined()
})

test('a book that is put again is counted once and stays longest', () => {
  const books = new KeptBooks()
  const first = bookOf(4)
  for (let again = 0; again < 1000; again++) books.put(1, first)
  for (let stream = 2; stream < 180; stream++) books.put(stream, bookOf(4))
  expect(books.get(1)).toBe(first)
  books.put(1, first)
  for (let stream = 200; stream < 350; stream++) books.put(stream, bookOf(4))
  expect(books.get(1)).toBe(first)
  expect(books.get(2)).toBeUndefined()
})
