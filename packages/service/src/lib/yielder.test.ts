import { expect, test } from 'vitest'
import { yieldToEventLoop } from './yielder.ts'

test('short work waits for two slices of long work, however much long work there is', async () => {
  let slices = 0
  const longWork = async (): Promise<void> => {
    for (let slice = 0; slice < 10; slice++) {
      await yieldToEventLoop()
      slices++
    }
  }
  const all = Promise.all(Array.from({ length: 20 }, longWork))
  const counts: number[] = []
  while (counts.at(-1) !== 200) {
    await new Promise((resolve) => setImmediate(resolve))
    counts.push(slices)
  }
  await all
  const steps = counts.map((count, at) => count - (counts[at - 1] ?? 0))
  expect(Math.max(...steps)).toBe(2)
})

test('long work goes on in order of arrival', async () => {
  const order: string[] = []
  const work = async (name: string): Promise<void> => {
    for (let slice = 0; slice < 2; slice++) {
      await yieldToEventLoop()
      order.push(name)
    }
  }
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map(work))
  expect(order.join('')).toBe('abcdeabcde')
})
