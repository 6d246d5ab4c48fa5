import { expect, it } from 'vitest'
import { EventQueue } from './event-queue.ts'
import { createRandom } from './random.ts'

it('yields events by time, and those of one time in the order they were added', () => {
  const added: number[] = []
  const queue = new EventQueue<string>((at) => added.push(at))
  const times = Array.from({ length: 500 }, (_, index) => (index * 7919) % 101)
  for (const [index, at] of times.entries()) queue.add(at, `${at}-${index}`)
  expect(added).toStrictEqual(times)
  const expected = times
    .map((at, index) => ({ at, index }))
    .sort((left, right) => left.at - right.at || left.index - right.index)
  for (const { at, index } of expected) {
    expect(queue.next).toBe(at)
    expect(queue.shift()).toBe(`${at}-${index}`)
    expect(queue.now).toBe(at)
  }
  expect([queue.size, queue.next, queue.shift()]).toStrictEqual([0, Infinity, undefined])
})

it('gives what a stable sort gives, however additions and removals alternate', () => {
  const random = createRandom(11, 'queue')
  const queue = new EventQueue<number>()
  let waiting: { readonly at: number; readonly event: number }[] = []
  for (let event = 0; event < 5000; event++) {
    const at = queue.now + random.below(40)
    queue.add(at, event)
    waiting.push({ at, event })
    for (let count = random.below(4); count > 0 && waiting.length > 200; count--) {
      waiting = waiting.toSorted((left, right) => left.at - right.at)
      expect([queue.next, queue.shift(), queue.now]).toEqual([
        waiting[0]!.at,
        waiting[0]!.event,
        waiting[0]!.at,
      ])
      waiting.shift()
    }
  }
  const rest = waiting.toSorted((left, right) => left.at - right.at).map(({ event }) => event)
  expect(Array.from({ length: queue.size }, () => queue.shift())).toEqual(rest)
  expect([queue.shift(), queue.next, queue.size]).toEqual([undefined, Infinity, 0])
})
