import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.testing.ts'
import { FIRST_BOOKS, FirstBooks } from './first-books.ts'

const fill = (books: FirstBooks, from = 0): number => {
  let key = from
  while (books.admit([String(key)])) key++
  return key
}

it('lets in as many books as may be awaited, and more as they come', () => {
  const books = new FirstBooks(new ManualClock())
  expect(fill(books)).toBe(FIRST_BOOKS)
  books.settle((key) => Number(key) < 10)
  expect(books.reopens()).toBe(false)
  expect(fill(books, FIRST_BOOKS)).toBe(FIRST_BOOKS + 10)
  books.settle((key) => Number(key) < FIRST_BOOKS / 2 + 10)
  expect(books.reopens()).toBe(true)
  expect(books.reopens()).toBe(false)
  expect(fill(books, FIRST_BOOKS + 10)).toBe(FIRST_BOOKS * 1.5 + 10)
})

it('is held up by books that never come for a few seconds only', async () => {
  const clock = new ManualClock()
  const books = new FirstBooks(clock)
  fill(books)
  await clock.advance(2_900)
  books.settle(() => false)
  expect(books.admit(['late'])).toBe(false)
  await clock.advance(200)
  books.settle(() => false)
  expect(books.reopens()).toBe(true)
  expect(fill(books, FIRST_BOOKS)).toBe(FIRST_BOOKS * 2)
})

it('has nothing to open where nothing was refused', () => {
  const books = new FirstBooks(new ManualClock())
  expect(books.admit(['yes', 'no'])).toBe(true)
  books.settle(() => true)
  expect(books.reopens()).toBe(false)
})
