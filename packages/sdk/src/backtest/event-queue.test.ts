import { expect, it } from 'vitest'
import { EventQueue } from './event-queue.ts'

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
