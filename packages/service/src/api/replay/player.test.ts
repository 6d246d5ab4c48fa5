import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.testing.ts'
import { createTapeFolder } from '../../store/embedded/tape-folder.testing.ts'
import type { Store } from '../../store/store.ts'
import { makeMarket, MADE_START } from '../bulk/generated-market.testing.ts'
import {
  createContext,
  hashIds,
  micros,
  microsOf,
  open,
  play,
  Recorded,
  settle,
  type Seen,
} from './replay.testing.ts'

const MARKETS = [{ venue: 'venueb', market_id: 'KXMADE-1' }]
const STEP = 20_000
const RANGE = { markets: MARKETS, start_time: String(MADE_START), datasets: ['books'] } as const

async function createStore(rows: number): Promise<Store> {
  const store = createTapeFolder().open()
  for (const batch of makeMarket(rows)) await store.append(batch)
  await store.seal()
  return store
}

const books = (out: Recorded): Seen[] => out.of('snapshot', 'update')
const receivedOf = ({ row }: Seen): number => microsOf(row!['received_time'])

/** Advances the clock timer by timer and notes when each message was sent. */
async function turnThrough(
  clock: ManualClock,
  out: Recorded,
  until: () => boolean,
): Promise<Map<Seen, number>> {
  const came = new Map<Seen, number>()
  const note = (): void => {
    for (const seen of out.messages) if (!came.has(seen)) came.set(seen, clock.monotonicMs())
  }
  for (;;) {
    await settle()
    note()
    const { nextDueMs } = clock
    if (until() || nextDueMs === undefined) return came
    await clock.advance(nextDueMs - clock.monotonicMs())
  }
}

describe('the pace of a replay', () => {
  it.each([1, 10, 0.5, 333])('at speed %d follows the recorded times', async (speed) => {
    const context = createContext(await createStore(300))
    const clock = new ManualClock()
    const out = new Recorded()
    await open(context, { ...RANGE, speed }, out, { clock })
    await settle()
    const begin = clock.monotonicMs()
    const came = await turnThrough(clock, out, () => out.last.state === 'finished')
    expect(books(out)).toHaveLength(300)
    for (const seen of books(out)) {
      const due = begin + (receivedOf(seen) - MADE_START) / 1000 / speed
      const late = came.get(seen)! - due
      // Never early, and late by less than the resolution of timers.
      expect(late).toBeGreaterThanOrEqual(0)
      expect(late).toBeLessThan(1.001)
    }
  })

  it('stops while the replay is paused and continues from there', async () => {
    const context = createContext(await createStore(100))
    const clock = new ManualClock()
    const out = new Recorded()
    const replay = await open(context, { ...RANGE, speed: 1 }, out, { clock })
    await settle()
    const begin = clock.monotonicMs()
    await turnThrough(clock, out, () => books(out).length === 40)
    await clock.advance(5)
    replay.pause()
    expect(out.last).toMatchObject({ state: 'paused' })
    const place = microsOf(out.last.time)
    expect(place).toBe(MADE_START + 39 * STEP + 5000)
    replay.pause()
    await clock.advance(1e6)
    await settle()
    expect(books(out)).toHaveLength(40)
    expect(clock.nextDueMs).toBeUndefined()
    replay.resume()
    expect(out.last).toMatchObject({ state: 'running' })
    expect(microsOf(out.last.time)).toBe(place)
    replay.resume()
    const came = await turnThrough(clock, out, () => out.last.state === 'finished')
    for (const seen of books(out).slice(40)) {
      const due = begin + 1e6 + (receivedOf(seen) - MADE_START) / 1000
      expect(came.get(seen)! - due).toBeGreaterThanOrEqual(0)
      expect(came.get(seen)! - due).toBeLessThan(1.001)
    }
    expect(out.of('replay_state').map(({ state }) => state)).toEqual([
      'started',
      'paused',
      'running',
      'finished',
    ])
  })

  it('continues from a seek, also one made while paused', async () => {
    const context = createContext(await createStore(100))
    const clock = new ManualClock()
    const out = new Recorded()
    const replay = await open(context, { ...RANGE, speed: 1 }, out, { clock })
    await settle()
    await turnThrough(clock, out, () => books(out).length === 10)
    replay.pause()
    replay.seek(micros(MADE_START + 60 * STEP - 3000))
    replay.seek(micros(MADE_START + 50 * STEP - 3000))
    await settle()
    expect(books(out)).toHaveLength(10)
    await clock.advance(777)
    replay.resume()
    const begin = clock.monotonicMs()
    const came = await turnThrough(clock, out, () => out.last.state === 'finished')
    const rows = books(out).slice(10)
    expect(rows.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 50 }, (_, at) => 51 + at),
    )
    expect(rows[0]).toMatchObject({ type: 'snapshot', previous_sequence: null })
    expect(came.get(rows[0]!)! - begin).toBe(3)
    expect(came.get(rows[1]!)! - begin).toBe(23)
    expect(out.last).toMatchObject({ rows: 60, ids_sha256: hashIds(books(out)) })
  })

  it('ends at a stop, whether it waits for a timer, a pause or the reader', async () => {
    const context = createContext(await createStore(50))
    const clock = new ManualClock()
    for (const hold of ['timer', 'pause', 'reader'] as const) {
      const out = new Recorded()
      if (hold === 'reader') out.onMessage = () => books(out).length < 3
      const replay = await open(context, { ...RANGE, speed: 1 }, out, { clock })
      await turnThrough(clock, out, () => books(out).length === 3)
      if (hold === 'pause') replay.pause()
      const count = books(out).length
      replay.stop()
      await replay.ended
      expect(out.last).toMatchObject({ state: 'stopped' })
      replay.stop()
      replay.resume()
      replay.seek(micros(MADE_START))
      await settle()
      expect(books(out)).toHaveLength(count)
      expect(out.last).toMatchObject({ state: 'stopped' })
    }
  })
})

describe('a reader of a replay', () => {
  it('that is slow gets every message, and none is sent ahead of it', async () => {
    const context = createContext(await createStore(5000))
    const quick = await play(context, RANGE)
    const out = new Recorded()
    let room = 100
    out.onMessage = () => room-- > 0
    const replay = await open(context, RANGE, out)
    while (out.last.state !== 'finished') {
      await settle()
      const { isHeld } = out
      const { length } = out.messages
      await settle()
      expect(out.messages).toHaveLength(length)
      if (!isHeld) continue
      room = 100
      out.drain()
    }
    await replay.ended
    expect(out.messages.map(({ text }) => text)).toEqual(quick.messages.map(({ text }) => text))
    expect(out.last.rows).toBe(5000)
  })

  it('gets an error when the store fails', async () => {
    const store = await createStore(5000)
    const out = new Recorded()
    let reads = 0
    const failing = new Proxy(store, {
      get(target, name) {
        if (name === 'books' && ++reads > 2) {
          return () => Promise.reject(new Error('the disk is gone'))
        }
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const replay = await open(createContext(failing), RANGE, out)
    await replay.ended
    expect(replay.failure).toMatchObject({ message: 'the disk is gone' })
    expect(out.messages.at(-2)).toMatchObject({
      type: 'error',
      code: 'store_unavailable',
      id: 'r1',
    })
    expect(out.last).toMatchObject({ state: 'stopped' })
  })

  it.each(['max', 100_000] as const)(
    'shares the event loop with other replays (speed %s)',
    async (speed) => {
      const context = createContext(await createStore(5000))
      const outs = [new Recorded(), new Recorded(), new Recorded()]
      const turns: number[] = []
      const replays = await Promise.all(outs.map((out) => open(context, { ...RANGE, speed }, out)))
      for (const [index, out] of outs.entries()) {
        out.onMessage = () => {
          if (turns.at(-1) !== index) turns.push(index)
          return true
        }
      }
      await Promise.all(replays.map(({ ended }) => ended))
      expect(turns.length).toBeGreaterThan(50)
      expect(new Set(outs.map(({ last }) => last.text)).size).toBe(1)
    },
  )
})
