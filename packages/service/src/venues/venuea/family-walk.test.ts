import { describe, expect, it } from 'vitest'
import { FamilyWalk, nominalMs, type NamedRound } from './past.ts'

const LENGTH = 300_000
const END = 1_790_000_100_000

/** Round n ends n lengths before the end of the range; negative ones come after it. */
const round = (index: number): NamedRound => ({
  topicId: String(1000 - index),
  startMs: END - (index + 1) * LENGTH,
  endMs: END - index * LENGTH,
})
const indexOf = (topicId: string): number => 1000 - Number(topicId)

type Venue = {
  /** Returns true for the rounds that exist. */
  has(index: number): boolean
  /** How many rounds its timeline names on either side. */
  readonly before: number
  readonly after: number
  /** The rounds that the list shows when it is read for those that end at round `index`. */
  list(index: number): readonly number[]
}

const VENUE: Venue = { has: () => true, before: 3, after: 6, list: () => [-2] }

/** Makes the steps of a walk; returns the rounds that it requested, in order. */
function play(walk: FamilyWalk, venue: Venue, steps = Infinity): number[] {
  const asked: number[] = []
  for (let step = walk.next(); step.kind !== 'over' && asked.length < steps; step = walk.next()) {
    if (step.kind === 'list') {
      walk.learn(venue.list(Math.round((END - step.beforeMs) / LENGTH)).map(round))
      walk.listed(step.beforeMs)
      continue
    }
    const index = indexOf(step.topicId)
    expect(asked, 'asked twice').not.toContain(index)
    asked.push(index)
    if (!venue.has(index)) {
      walk.answered(step.topicId, 'gone')
      continue
    }
    const near: number[] = []
    for (let at = index - 1; near.length < venue.after && at > -10; at--) near.push(at)
    const above = near.length
    for (let at = index + 1; near.length < above + venue.before && at < 200; at++) near.push(at)
    walk.learn(near.filter((at) => venue.has(at)).map(round))
    walk.answered(step.topicId, 'complete')
  }
  return asked
}

const walkOf = (count: number): FamilyWalk =>
  new FamilyWalk('5m', { startMs: END - count * LENGTH, endMs: END })
const upTo = (count: number, from = 0): number[] =>
  Array.from({ length: count - from }, (_, index) => index + from)

describe('a walk along a family', () => {
  it('begins with the open round, requests every round once, newest first, and stops at the start', () => {
    const walk = walkOf(40)
    expect(play(walk, VENUE)).toEqual([-2, -1, ...upTo(40)].filter((index) => index !== -1))
    expect(walk.counts).toEqual({ expected: 40, complete: 40, unresolved: 0, missing: 0 })
    expect(walk.next()).toEqual({ kind: 'over' })
  })

  it('includes only rounds that lie completely in the range', () => {
    const startMs = END - 3 * LENGTH + 1
    const walk = new FamilyWalk('5m', { startMs, endMs: END - LENGTH - 1 })
    const asked = play(walk, VENUE)
    expect(asked.filter((index) => index >= 2)).toEqual([])
    expect(walk.counts).toEqual({ expected: 0, complete: 0, unresolved: 0, missing: 0 })
  })

  it('jumps towards a range that lies far back', () => {
    const walk = new FamilyWalk('5m', { startMs: END - 60 * LENGTH, endMs: END - 50 * LENGTH })
    const asked = play(walk, VENUE)
    expect(asked.filter((index) => index >= 50)).toEqual(upTo(60, 50))
    // Each jump goes as far as the timeline reaches.
    expect(asked.length - 10).toBeLessThanOrEqual(Math.ceil(52 / VENUE.before) + 1)
    expect(walk.counts).toMatchObject({ expected: 10, complete: 10, missing: 0 })
  })

  it.each([0, 1, 7, 39])('continues after %i rounds without requesting any again', (count) => {
    const first = walkOf(40)
    const before = play(first, VENUE, count + 1)
    const step = first.next()
    const second = walkOf(40)
    second.learn(before.filter((index) => index >= 0).map(round), true)
    if (step.kind === 'request' && step.isNext) second.learn([round(indexOf(step.topicId))])
    const after = play(second, VENUE)
    const inside = [...before, ...after].filter((index) => index >= 0)
    expect(inside).toEqual(upTo(40))
    expect(second.counts.complete).toBe(40)
    expect(play(second, VENUE)).toEqual([])
  })

  it('requests nothing when everything is complete', () => {
    const walk = walkOf(20)
    walk.learn(upTo(20).map(round), true)
    expect(walk.next()).toEqual({ kind: 'over' })
    expect(walk.counts).toMatchObject({ expected: 20, complete: 20 })
  })

  it('requests the rounds missing between complete ones', () => {
    const walk = walkOf(30)
    const holes = new Set([0, 11, 12, 13, 14, 15, 29])
    walk.learn(
      upTo(30)
        .filter((index) => !holes.has(index))
        .map(round),
      true,
    )
    const asked = play(walk, VENUE)
    expect(asked).toEqual(expect.arrayContaining([...holes]))
    // Plus the rounds that name them.
    expect(asked.length).toBeLessThanOrEqual(holes.size + 4)
    expect(walk.counts).toMatchObject({ complete: 30, missing: 0 })
  })

  it('skips holes that its timeline spans, and counts them', () => {
    const venue = { ...VENUE, has: (index: number) => index !== 7 && index !== 8 }
    const walk = walkOf(20)
    expect(play(walk, venue)).toEqual([-2, ...upTo(7), ...upTo(20, 9)])
    expect(walk.counts).toEqual({ expected: 20, complete: 18, unresolved: 0, missing: 2 })
  })

  it('crosses a hole by the list when the timeline names no round', () => {
    const has = (index: number): boolean => index < 7 || index > 12
    const walk = walkOf(20)
    const list = (at: number): number[] =>
      upTo(at + 10, at)
        .filter(has)
        .slice(0, 3)
    const asked = play(walk, { has, before: 0, after: 0, list })
    expect(asked).toEqual(upTo(20).filter(has))
    expect(walk.counts).toMatchObject({ complete: 14, missing: 6 })
  })

  it('ends where no answer names an earlier round', () => {
    const walk = walkOf(50)
    const asked = play(walk, { ...VENUE, has: (index) => index < 10 })
    expect(asked.filter((index) => index >= 0)).toEqual(upTo(10))
    expect(walk.counts).toEqual({ expected: 50, complete: 10, unresolved: 0, missing: 40 })
  })

  it('ends where nothing is known at all', () => {
    const walk = walkOf(12)
    expect(play(walk, { ...VENUE, list: () => [] })).toEqual([])
    expect(walk.counts).toEqual({ expected: 12, complete: 0, unresolved: 0, missing: 12 })
  })

  it('requests both of two rounds that end at the same time', () => {
    const walk = walkOf(2)
    const twin = { ...round(0), topicId: 'twin' }
    walk.learn([round(0), twin, round(1)])
    const asked: string[] = []
    for (let step = walk.next(); step.kind === 'request'; step = walk.next()) {
      asked.push(step.topicId)
      walk.answered(step.topicId, 'complete')
    }
    expect(asked.toSorted()).toEqual(['1000', '999', 'twin'])
  })

  it('keeps a round complete, whatever the venue answers later', () => {
    const walk = walkOf(3)
    walk.learn([round(0), round(1)], true)
    walk.answered('999', 'gone')
    expect(walk.counts.complete).toBe(2)
  })
})

describe('the length of a window', () => {
  it.each([
    ['5m', 300_000],
    ['15m', 900_000],
    ['1h', 3_600_000],
  ])('%s is %i ms', (window, length) => expect(nominalMs(window)).toBe(length))
})
