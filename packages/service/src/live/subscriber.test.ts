import { describe, expect, it } from 'vitest'
import { Hub } from './hub.ts'
import type { LiveStyle } from './style.ts'
import { Subscriber, type Sink } from './subscriber.ts'

/** Keeps everything until it is read. */
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
  it('lets rows come again where nothing waits any more and no event said so', async () => {
    const { pipe, subscriber, stalls } = create()
    const hub = new Hub<LiveStyle, unknown>({} as never)
    hub.enter(subscriber)
    let recovered = 0
    subscriber.send(bytes(1))
    // One that is larger than all that may wait, behind a word that no socket holds back.
    expect(subscriber.offer(bytes(101), 1)).toBe(false)
    subscriber.missed.set({ recover: () => recovered++ }, { last: 1, reason: 'slow_reader' })
    subscriber.flush()
    pipe.read()
    await expect.poll(() => recovered).toBe(1)
    expect([subscriber.lags, subscriber.missed.size, stalls()]).toEqual([false, 0, 0])
    hub.leave(subscriber)
  })
})

describe('a subscriber', () => {
  it('gets what was taken together, and counts it', () => {
    const { pipe, subscriber } = create()
    subscriber.send(bytes(10))
    subscriber.offer(bytes(20), 2)
    expect([pipe.writes, subscriber.buffered]).toEqual([0, 30])
    subscriber.flush()
    subscriber.flush()
    expect([pipe.writes, pipe.corked]).toEqual([2, 1])
    expect([subscriber.messages, subscriber.rows, subscriber.bytes]).toEqual([3, 2, 30])
  })

  it('is left out rows while much waits, but nothing else', () => {
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
    // One that is larger than everything that may wait goes where nothing does.
    expect(subscriber.offer(bytes(150), 1)).toBe(true)
  })

  it('waits for room, and is let go once, when it takes nothing or would hold too much', async () => {
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

  it('that is held is left out rows until it is not', () => {
    const { subscriber } = create()
    subscriber.hold()
    expect([subscriber.offer(bytes(1), 1), subscriber.drained()]).toEqual([false, false])
    expect([subscriber.unhold(), subscriber.unhold()]).toEqual([true, false])
    expect(subscriber.offer(bytes(1), 1)).toBe(true)
  })
})
