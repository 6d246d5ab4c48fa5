import { describe, expect, it } from 'vitest'
import { ManualClock } from '../lib/clock.testing.ts'
import { Hub } from './hub.ts'
import { Subscriber, type Sink } from './subscriber.ts'

/** Buffers everything until the test reads it. */
class Pipe implements Sink {
  buffered = 0
  left = 0
  writes = 0
  corked = 0

  write(bytes: Uint8Array): void {
    this.writes++
    this.buffered += bytes.length
  }
  cork(): void {
    this.corked++
  }
  uncork(): void {}

  read(): void {
    this.left += this.buffered
    this.buffered = 0
  }
}

const LIMITS = { lagBytes: 100, lowBytes: 20, mostBytes: 300, stallMs: 1000 }

function create(): { pipe: Pipe; subscriber: Subscriber; stalls: () => number } {
  const pipe = new Pipe()
  let stalls = 0
  const subscriber = new Subscriber(pipe, () => stalls++, LIMITS)
  return { pipe, subscriber, stalls: () => stalls }
}

const bytes = (length: number): Uint8Array => new Uint8Array(length)

describe('a hub', () => {
  it('recovers a reader whose queue emptied without a drain event', async () => {
    const { pipe, subscriber, stalls } = create()
    const clock = new ManualClock()
    const hub = new Hub({ clock } as never)
    hub.addSubscriber(subscriber)
    let recovered = 0
    subscriber.send(bytes(1))
    // Larger than the limit, and another message is already waiting.
    expect(subscriber.offer(bytes(101), 1)).toBe(false)
    subscriber.missed.set({ recover: () => recovered++ }, { last: 1, reason: 'slow_reader' })
    subscriber.flush()
    pipe.read()
    await clock.advance(250)
    expect(recovered).toBe(1)
    expect([subscriber.lags, subscriber.missed.size, stalls()]).toEqual([false, 0, 0])
    hub.removeSubscriber(subscriber)
  })

  it('disconnects a lagging reader who accepts no bytes for the stall time', async () => {
    const { subscriber, stalls } = create()
    const clock = new ManualClock()
    const hub = new Hub({ clock } as never)
    hub.addSubscriber(subscriber)
    subscriber.send(bytes(90))
    subscriber.flush()
    expect(subscriber.offer(bytes(50), 1)).toBe(false)
    await clock.advance(LIMITS.stallMs)
    expect(stalls()).toBe(0)
    await clock.advance(500)
    expect([stalls(), subscriber.isClosed]).toEqual([1, true])
    hub.removeSubscriber(subscriber)
    expect(clock.timers).toBe(0)
  })
})

describe('a subscriber', () => {
  it('writes queued messages together and counts them', () => {
    const { pipe, subscriber } = create()
    subscriber.send(bytes(10))
    subscriber.offer(bytes(20), 2)
    expect([pipe.writes, subscriber.buffered]).toEqual([0, 30])
    subscriber.flush()
    subscriber.flush()
    expect([pipe.writes, pipe.corked]).toEqual([2, 1])
    expect([subscriber.messages, subscriber.rows, subscriber.bytes]).toEqual([3, 2, 30])
  })

  it('skips rows while many bytes wait, but no other messages', () => {
    const { pipe, subscriber } = create()
    expect(subscriber.offer(bytes(90), 1)).toBe(true)
    expect(subscriber.offer(bytes(20), 1)).toBe(false)
    expect(subscriber.offer(bytes(1), 1)).toBe(false)
    subscriber.send(bytes(30))
    subscriber.flush()
    expect([pipe.buffered, subscriber.lags, subscriber.drained()]).toEqual([120, true, false])
    pipe.read()
    expect([subscriber.drained(), subscriber.lags, subscriber.drained()]).toEqual([
      true,
      false,
      false,
    ])
    // Rows larger than the limit are accepted by an empty queue.
    expect(subscriber.offer(bytes(150), 1)).toBe(true)
  })

  it('waits for room, and stalls once when no bytes leave or too many wait', async () => {
    const { pipe, subscriber, stalls } = create()
    subscriber.send(bytes(50))
    const room = subscriber.room()
    subscriber.check(1000)
    subscriber.check(1900)
    pipe.left++
    subscriber.check(2500)
    expect(stalls()).toBe(0)
    subscriber.check(3600)
    subscriber.check(9000)
    expect([stalls(), subscriber.isClosed]).toEqual([1, true])
    await room
    const other = create()
    other.subscriber.send(bytes(200))
    expect(other.stalls()).toBe(0)
    other.subscriber.send(bytes(200))
    other.subscriber.send(bytes(200))
    expect([other.stalls(), other.subscriber.offer(bytes(1), 1)]).toEqual([1, true])
  })

  it('skips rows while it is suspended', () => {
    const { subscriber } = create()
    subscriber.suspend()
    expect([subscriber.offer(bytes(1), 1), subscriber.drained()]).toEqual([false, false])
    expect([subscriber.unsuspend(), subscriber.unsuspend()]).toEqual([true, false])
    expect(subscriber.offer(bytes(1), 1)).toBe(true)
  })
})
