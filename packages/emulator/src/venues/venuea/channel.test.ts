import * as fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { parseScaled } from '@priorbook/sdk/domain'
import type { Book, Proposition, Session, Upstream } from '../../core/upstream.ts'
import { EMULATED_VENUE_A } from './index.ts'
import { CREDENTIALS, handshake } from './signed.testing.ts'
import { createTestWire, createTestWorld, ladder, type TestWorld } from './world.testing.ts'

const ALL = 'web3_prediction_orderbook_data'

describe('the socket of venue A', () => {
  let world: TestWorld
  let upstream: Upstream
  let round: Proposition
  let topic: string

  beforeEach(() => {
    world = createTestWorld('venuea')
    upstream = create(world, 1)
    round = world.list()
    topic = topicOf(upstream, round)
  })

  function connect(topics: string) {
    const wire = createTestWire()
    const session = upstream.accept(handshake(world, topics), wire) as Session
    const say = (command: string, value: string): void =>
      session.onText(JSON.stringify({ command, value }))
    return { wire, session, say }
  }

  function open(of: Proposition): void {
    world.phase(of, 'open')
    world.change(of, ladder(5_200, 3))
  }

  it('pushes the book once on subscription, then with every change', () => {
    open(round)
    const { wire } = connect(topic)
    expect(wire.sent).toHaveLength(1)
    expect(wire.sent[0]!.payloads).toEqual([
      { kind: 'full', key: String(marketOf(topic)), book: round.book },
    ])
    const frame = JSON.parse(wire.sent[0]!.text) as { data: string }
    expect(frame).toEqual({ type: 'TOPIC', topic, data: expect.any(String) as string })
    expect(JSON.parse(frame.data)).toEqual({
      msgType: 'orderbook',
      marketId: marketOf(topic),
      updateTimestampMs: world.at,
      asks: [
        ['0.53', '13.345678'],
        ['0.54', '25.691356'],
        ['0.55', '38.037034'],
      ],
      bids: [
        ['0.51', '12.345678'],
        ['0.5', '24.691356'],
        ['0.49', '37.037034'],
      ],
    })
    world.at += 1_000
    world.change(round, [{ side: 'bid', price: 5_100, size: 0 }])
    expect(wire.sent).toHaveLength(2)
  })

  it('takes commands and acknowledges them, wrong ids too', () => {
    open(round)
    const { wire, say, session } = connect('')
    say('SUBSCRIBE', `${topic}|web3_prediction_orderbook_1`)
    expect(wire.take()).toEqual([
      { type: 'COMMAND', data: 'SUCCESS', subType: 'SUBSCRIBE', code: '00000000' },
      expect.objectContaining({ type: 'TOPIC', topic }),
    ])
    world.at += 1_000
    say('UNSUBSCRIBE', topic)
    world.change(round, [{ side: 'bid', price: 5_100, size: 0 }])
    expect(wire.take()).toEqual([
      { type: 'COMMAND', data: 'SUCCESS', subType: 'UNSUBSCRIBE', code: '00000000' },
    ])
    say('DANCE', topic)
    session.onText('no JSON')
    session.onText('null')
    const failed = wire.take()
    expect(failed).toHaveLength(3)
    for (const ack of failed) expect(ack).toMatchObject({ type: 'COMMAND', data: 'FAIL' })
  })

  it('carries every trading market on the aggregated topic', () => {
    const other = world.list({ asset: 'ETH' })
    open(round)
    const { wire } = connect(ALL)
    expect(wire.take()).toMatchObject([{ topic: ALL }])
    open(other)
    const [frame] = wire.take() as [{ topic: string; data: string }]
    expect(frame.topic).toBe(ALL)
    expect(JSON.parse(frame.data)).toMatchObject({ marketId: marketOf(topicOf(upstream, other)) })
  })

  it('is silent before the opening, in a pause, after the close and after hanging up', () => {
    const { wire, session } = connect(topic)
    world.change(round, ladder(5_000, 2))
    expect(wire.sent).toHaveLength(0)
    open(round)
    expect(wire.take()).toHaveLength(1)
    world.at += 1_000
    world.phase(round, 'paused')
    world.change(round, [{ side: 'bid', price: 5_100, size: 0 }])
    expect(wire.sent).toHaveLength(0)
    open(round)
    expect(wire.take()).toHaveLength(1)
    // A close empties the book and is not shown.
    round.phase = 'closed'
    world.at += 1_000
    world.change(round, [{ side: 'bid', price: 5_000, size: 0 }])
    world.phase(round, 'closed')
    expect(wire.sent).toHaveLength(0)
    expect(connect(topic).wire.sent).toHaveLength(0)
    session.onClose()
    open(round)
    expect(wire.sent).toHaveLength(0)
  })

  it('answers a socket elsewhere like a request', () => {
    const asked = { ...handshake(world, topic), path: '/elsewhere' }
    expect(upstream.accept(asked, createTestWire())).toMatchObject({ status: 404 })
  })

  it('pushes at most eight books a second, the newest, and ends with the last', () => {
    const spans = fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 300 })
    fc.assert(
      fc.property(spans, fc.constantFrom(1, 20), (waits, speed) => {
        const local = createTestWorld('venuea')
        const venue = create(local, speed)
        const own = local.list()
        const name = topicOf(venue, own)
        const wire = createTestWire()
        venue.accept(handshake(local, name), wire)
        local.phase(own, 'open')
        local.change(own, ladder(5_000, 2))
        const pushes = [{ at: local.at, shown: bookIn(wire.sent[0]!.text), real: own.book }]
        for (const [index, wait] of waits.entries()) {
          local.at += wait
          const before = wire.sent.length
          local.change(own, [{ side: 'bid', price: 4_900, size: index + 1 }])
          for (const { text, payloads } of wire.sent.slice(before)) {
            pushes.push({ at: local.at, shown: bookIn(text), real: own.book })
            expect(payloads).toMatchObject([{ kind: 'full', book: own.book }])
          }
        }
        for (const { shown, real } of pushes) expect(shown).toEqual(real)
        const spacings = pushes.slice(1).map(({ at }, index) => at - pushes[index]!.at)
        expect(spacings.filter((spacing) => spacing < 125 / speed)).toEqual([])
        // Anything that happens later, to whatever market, brings the book that waited.
        local.at += 125
        local.list()
        expect(bookIn(wire.sent.at(-1)!.text)).toEqual(own.book)
      }),
      { numRuns: 60 },
    )
  })

  it('goes on at once when its clock was set back', () => {
    open(round)
    const { wire } = connect(topic)
    wire.take()
    world.at -= 3_600_000
    world.change(round, [{ side: 'bid', price: 5_100, size: 0 }])
    expect(wire.take()).toHaveLength(1)
  })
})

function create(world: TestWorld, speed: number): Upstream {
  const upstream = EMULATED_VENUE_A.create(world, { speed, credentials: CREDENTIALS })
  world.listen((event) => upstream.onEvent(event))
  return upstream
}

function topicOf(upstream: Upstream, round: Proposition): string {
  return `web3_prediction_orderbook_${upstream.keys(round)[0]}`
}

function marketOf(topic: string): number {
  return Number(topic.split('_').at(-1))
}

function bookIn(text: string): Book {
  const { data } = JSON.parse(text) as { data: string }
  const { bids, asks } = JSON.parse(data) as Record<'bids' | 'asks', [string, string][]>
  const read = (levels: readonly [string, string][]) =>
    levels.map(([price, size]) => ({ price: parseScaled(price, 4), size: parseScaled(size, 6) }))
  return { bids: read(bids), asks: read(asks) }
}
