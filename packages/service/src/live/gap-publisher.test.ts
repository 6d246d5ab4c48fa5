import { describe, expect, it } from 'vitest'
import { PendingGaps, PublishedGaps } from './gap-publisher.ts'
import { createGap } from './hub.testing.ts'

describe('published gaps', () => {
  it('accept a gap once, and again when it closes', () => {
    const published = new PublishedGaps()
    const open = createGap({ end: undefined })
    const closed = createGap({})
    expect([published.add(open), published.add(open), published.isNew(closed)]).toEqual([
      true,
      false,
      true,
    ])
    expect([published.has(closed), published.add(closed), published.add(closed)]).toEqual([
      true,
      true,
      false,
    ])
  })

  it('forget closed gaps first at their limit', () => {
    const published = new PublishedGaps()
    const open = createGap({ end: undefined, afterSequence: 1 })
    const oldest = createGap({ afterSequence: 2 })
    published.add(open)
    published.add(oldest)
    for (let sequence = 3; sequence <= 257; sequence++) {
      published.add(createGap({ afterSequence: sequence }))
    }
    expect([published.has(open), published.has(oldest)]).toEqual([true, false])
    published.forget('venueb', 'M')
    expect([published.has(open), published.follows('venueb', 'M')]).toEqual([false, false])
  })
})

it('pending gaps are shifted before the row that follows them', () => {
  const pending = new PendingGaps([createGap({ afterSequence: 7 })])
  pending.add([createGap({ afterSequence: 3 })])
  expect(pending.shiftBefore(3)).toBeUndefined()
  expect(pending.shiftBefore(4)).toMatchObject({ afterSequence: 3 })
  expect(pending.shiftBefore(5)).toBeUndefined()
  expect(pending.shiftAll()).toMatchObject([{ afterSequence: 7 }])
  expect(pending.shiftAll()).toEqual([])
})
