import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { LiveMessage } from '../client/index.ts'
import { Delivery } from './delivery.ts'

const HEARTBEAT = { type: 'heartbeat', server_time: 1, sent: 0 } as unknown as LiveMessage
const MONTH = 2_592_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

async function* heartbeats(count: number, end?: Error): AsyncGenerator<LiveMessage> {
  for (let index = 0; index < count; index++) yield HEARTBEAT
  if (end !== undefined) throw end
}

it('ends the run so many seconds after the first message, be it after a month', async () => {
  const stop = vi.fn<() => void>()
  const messages = new Delivery(MONTH, stop).watch(heartbeats(2))
  expect(vi.getTimerCount()).toBe(0)
  await messages.next()
  vi.advanceTimersByTime(MONTH * 1000 - 1)
  expect(stop).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(stop).toHaveBeenCalledTimes(1)
})

it('keeps no process up once the stream ends, throws or is left', async () => {
  const watch = (messages: AsyncIterable<LiveMessage>): AsyncGenerator<LiveMessage> =>
    new Delivery(MONTH, () => undefined).watch(messages)
  const ended = watch(heartbeats(2))
  for await (const _message of ended) expect(vi.getTimerCount()).toBe(1)
  expect(vi.getTimerCount()).toBe(0)
  const refused = watch(heartbeats(1, new Error('refused')))
  await refused.next()
  await expect(refused.next()).rejects.toThrow('refused')
  expect(vi.getTimerCount()).toBe(0)
  const left = watch(heartbeats(9))
  await left.next()
  await left.return(undefined)
  expect(vi.getTimerCount()).toBe(0)
})
