import { describe, expect, it } from 'vitest'
import { codeOf, deepValue } from '../capture/refusals.testing.ts'
import { createPageWalk, readPage, readTimeline, type Page } from './rest.ts'

function page(ids: readonly number[], ends: readonly number[] = [], hasMore = true): Page {
  return {
    topicIds: ids.map(String),
    endsMs: ends,
    count: ids.length,
    hasMore,
    total: undefined,
  }
}

describe('a walk through the pages', () => {
  it('advances by the size of each page, to the last page', () => {
    const walk = createPageWalk(0)
    expect(walk.add(page([1, 2, 3]))).toBe(false)
    expect(walk.offset).toBe(3)
    expect(walk.add(page([4], [], false))).toBe(true)
    expect([walk.offset, walk.pages]).toStrictEqual([4, 2])
  })

  it('ends with a page that repeats, is empty or is malformed', () => {
    for (const last of [page([2, 1]), page([]), { ...page([]), count: 5 }]) {
      const walk = createPageWalk(0)
      expect(walk.add(page([1, 2]))).toBe(false)
      expect(walk.add(last)).toBe(true)
    }
  })

  it('ends at a maximum when the pages never end', () => {
    const walk = createPageWalk(0, 0, 5)
    let pages = 0
    while (!walk.add(page([pages++]))) expect(pages).toBeLessThan(5)
    expect(pages).toBe(5)
  })

  it('ends in the past, but only while the ends come latest first', () => {
    const sorted = createPageWalk(50)
    expect(sorted.add(page([1, 2], [90, 60]))).toBe(false)
    expect(sorted.add(page([3, 4], [60, 40]))).toBe(false)
    expect(sorted.add(page([5, 6], [30, 20]))).toBe(true)
    const unsorted = createPageWalk(50)
    expect(unsorted.add(page([1, 2], [10, 90]))).toBe(false)
    expect(unsorted.add(page([3, 4], [30, 20]))).toBe(false)
  })
})

describe('a page', () => {
  it('is read as far as the walk needs it', () => {
    const marketTopics = [
      { marketTopicId: 5, endDate: 70 },
      { marketTopicId: '6', endDate: 'soon' },
      { marketTopicId: deepValue() },
      null,
    ]
    expect(readPage({ marketTopics, hasMore: true, total: 9 })).toStrictEqual({
      topicIds: ['5', '6'],
      endsMs: [70],
      count: 4,
      hasMore: true,
      total: 9,
    })
  })

  it('of another shape is refused', () => {
    expect(codeOf(() => readPage({ code: -2014 }))).toBe('invalid_message')
    expect(codeOf(() => readPage(5))).toBe('invalid_message')
  })
})

it('the timeline names the rounds next to a topic', () => {
  const timeline = [{ marketTopicId: 4, endDate: 9 }, { marketTopicId: 5 }, 7]
  expect(readTimeline({ timeline })).toStrictEqual([{ topicId: '4', endMs: 9 }])
  expect(readTimeline({})).toStrictEqual([])
})
