import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.testing.ts'
import { FIRST_BOOKS } from '../capture/first-books.ts'
import type { VenueBSocket } from './socket.ts'
import { VenueBSockets } from './sockets.ts'

/** A socket that brings what it is told to. */
class FakeSocket {
  connected = true
  readonly held = new Set<string>()
  readonly booked = new Set<string>()
  wanted: ReadonlySet<string> = new Set()
  readonly recovered: string[] = []
  subscriptions = 1
  lastFrame = undefined

  want(tickers: ReadonlySet<string>): void {
    this.wanted = tickers
  }

  holds(ticker: string): boolean {
    return this.held.has(ticker)
  }

  hasBook(ticker: string): boolean {
    return this.booked.has(ticker)
  }

  isMuted(ticker: string): boolean {
    return ticker === 'MUTED'
  }

  recover(tickers: readonly string[]): void {
    this.recovered.push(...tickers)
  }
}

function open(perSocket: number, markets = 100) {
  const clock = new ManualClock()
  const made: FakeSocket[] = []
  const started: number[] = []
  const sockets = new VenueBSockets({
    clock,
    perSocket,
    markets,
    create: () => {
      const socket = new FakeSocket()
      made.push(socket)
      return socket as unknown as VenueBSocket
    },
    supervise: async (_socket, slot) => void started.push(slot),
  })
  const place = (...keys: string[]): (string | undefined)[] => keys.map((key) => sockets.place(key))
  const carry = (...keys: string[]): void =>
    sockets.carry(new Set(keys), new Set(['MUTED']), () => true)
  return { clock, sockets, made, started, place, carry }
}

describe('the sockets of venue B', () => {
  it('open as markets need them, one after the other', async () => {
    const { clock, sockets, made, started, place, carry } = open(2)
    const stop = new AbortController()
    const running = sockets.run(stop.signal)
    expect(place('A', 'B', 'C')).toStrictEqual(['up', 'up', 'up'])
    carry('A', 'B', 'C')
    expect(made.map(({ wanted }) => [...wanted])).toStrictEqual([['A', 'B'], ['C']])
    await clock.advance(0)
    expect(started).toStrictEqual([1])
    await clock.advance(1000)
    expect(started).toStrictEqual([1, 2])
    stop.abort()
    await running
  })

  it('open as many as all markets need, which are spread over them in order', () => {
    const { sockets, made, place, carry } = open(2, 5)
    sockets.look(9)
    place('A', 'B', 'C', 'D')
    carry('A', 'B', 'C', 'D')
    expect(made.map(({ wanted }) => [...wanted])).toStrictEqual([['A', 'D'], ['B'], ['C']])
  })

  it('leave what a dead one would take to polling, and give others the room that is left', async () => {
    const { clock, sockets, made, place } = open(2, 5)
    sockets.look(5)
    made[1]!.connected = false
    sockets.look(5)
    await clock.advance(3000)
    sockets.look(5)
    expect(place('A', 'B', 'C', 'D', 'E')).toStrictEqual(['up', 'up', 'up', 'up', 'down'])
    expect(sockets.isPlaced('E')).toBe(false)
    expect(made).toHaveLength(3)
  })

  it('let no market wait behind those that a dead one would take', async () => {
    const most = FIRST_BOOKS + 5
    const { clock, sockets, made, place } = open(most, 2 * most)
    sockets.look(2 * most)
    made[1]!.connected = false
    sockets.look(2 * most)
    await clock.advance(3000)
    sockets.look(2 * most)
    const keys = Array.from({ length: 2 * most }, (_, at) => String(at))
    for (const key of keys.slice(0, FIRST_BOOKS)) place(key)
    for (const key of keys.slice(0, FIRST_BOOKS)) made[0]!.booked.add(key)
    sockets.look(2 * most)
    const places = place(...keys)
    expect(places.filter((one) => one === 'up')).toHaveLength(most)
    expect(places.filter((one) => one === 'down')).toHaveLength(most)
  })

  it('keep the place of a muted market without subscribing it', () => {
    const { made, place, carry } = open(2)
    place('MUTED', 'A', 'B')
    carry('A', 'B')
    carry('B')
    place('MUTED', 'B')
    expect(made.map(({ wanted }) => [...wanted])).toStrictEqual([[], ['B']])
    place('C')
    carry('B', 'C')
    expect(made.map(({ wanted }) => [...wanted])).toStrictEqual([['C'], ['B']])
  })

  it('have a bound in all, which may change', () => {
    const { sockets, place } = open(2, 3)
    expect(place('A', 'B', 'C', 'D')).toStrictEqual(['up', 'up', 'up', undefined])
    sockets.setBound(4)
    expect(place('D')).toStrictEqual(['up'])
  })

  it('keep a market where it is, and give the place of one that left to another', () => {
    const { made, place, carry } = open(2)
    place('A', 'B', 'C')
    carry('B', 'C')
    place('B', 'C', 'D')
    carry('B', 'C', 'D')
    expect(made.map(({ wanted }) => [...wanted])).toStrictEqual([['B', 'D'], ['C']])
  })

  it('never bring one market twice', () => {
    const { made, place, carry } = open(1)
    place('A', 'B')
    carry('A', 'B')
    made[1]!.held.add('B')
    // It leaves, another one takes a place, and it comes back before its socket let it go.
    carry('A')
    carry('C')
    place('C', 'B')
    carry('C', 'B')
    expect(made[1]!.wanted.has('B')).toBe(true)
    expect(made.filter(({ wanted }) => wanted.has('B'))).toHaveLength(1)
  })

  it('say which markets a lost one costs: at first it is expected back', async () => {
    const { clock, sockets, made, place } = open(1)
    place('A', 'B')
    made[1]!.connected = false
    sockets.look(2)
    expect(place('A', 'B')).toStrictEqual(['up', 'back_soon'])
    expect(sockets.areConnected).toBe(false)
    // It could open half a second after the first.
    await clock.advance(2100)
    sockets.look(2)
    expect(place('A', 'B')).toStrictEqual(['up', 'down'])
    made[1]!.connected = true
    sockets.look(2)
    expect(place('B')).toStrictEqual(['up'])
  })

  it('take at most a thousand markets whose first book has not come', () => {
    const { sockets, made, place, carry } = open(5000, 5000)
    const keys = Array.from({ length: FIRST_BOOKS + 5 }, (_, at) => String(at))
    const count = (state: string): number => place(...keys).filter((one) => one === state).length
    expect(count('back_soon')).toBe(5)
    carry(...keys)
    expect(made[0]!.wanted.size).toBe(FIRST_BOOKS)
    expect(sockets.haveRoomAgain()).toBe(false)
    for (const key of keys.slice(0, FIRST_BOOKS / 2)) made[0]!.booked.add(key)
    expect(sockets.haveRoomAgain()).toBe(true)
    expect(count('up')).toBe(FIRST_BOOKS + 5)
    carry(...keys)
    expect(made[0]!.wanted.size).toBe(FIRST_BOOKS + 5)
  })

  it('ask the socket of a market for its book', () => {
    const { sockets, made, place } = open(1)
    place('A', 'B')
    sockets.recover(['B', 'NONE'])
    expect(made.map(({ recovered }) => recovered)).toStrictEqual([[], ['B']])
    expect(sockets.status.map(({ slot }) => slot)).toStrictEqual([1, 2])
  })
})
