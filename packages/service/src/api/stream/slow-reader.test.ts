import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../lib/clock.testing.ts'
import { Hub } from '../../live/hub.ts'
import { Subscriber, type Sink } from '../../live/subscriber.ts'
import type { Subscription } from '../../live/subscription.ts'
import { createTempFolder } from '../../store/embedded/temp-folder.testing.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../../store/embedded/open.ts'
import { ModelStore } from '../../store/store-model.testing.ts'
import { write } from '../../store/store-opened.testing.ts'
import { INSTRUMENTS, Script } from '../../store/store-script.testing.ts'
import { instrumentOf } from '../markets/instruments.ts'
import { BookKeeper } from './book-keeper.testing.ts'
import { RowStyle } from './row-style.ts'
import type { AnyMessage } from './stream.testing.ts'

/** A socket that the test reads. */
class FakeSink implements Sink {
  readonly messages: AnyMessage[] = []
  buffered = 0
  left = 0
  most = 0
  private waiting: Uint8Array[] = []

  write(bytes: Uint8Array): void {
    this.waiting.push(bytes)
    this.buffered += bytes.length
    this.most = Math.max(this.most, this.buffered)
  }

  cork(): void {}
  uncork(): void {}

  read(): void {
    const bytes = Buffer.concat(this.waiting)
    this.waiting = []
    this.left += this.buffered
    this.buffered = 0
    for (let at = 0; at < bytes.length;) {
      let length = bytes[at + 1]!
      at += 2
      if (length === 126) {
        length = bytes.readUInt16BE(at)
        at += 2
      }
      this.messages.push(JSON.parse(bytes.toString('utf8', at, at + length)) as AnyMessage)
      at += length
    }
  }
}

type Setup = {
  readonly clock: ManualClock
  readonly hub: Hub
  readonly store: EmbeddedStore
  readonly script: Script
  readonly add: (batches: number) => Promise<void>
  readonly reader: (
    mode: 'full' | 'changes',
    stallMs?: number,
    lagBytes?: number,
  ) => Promise<Reader>
}
type Reader = {
  readonly sink: FakeSink
  readonly subscriber: Subscriber
  readonly keeper: BookKeeper
  isStalled: boolean
  /** Reads all buffered messages, and recovers if rows were skipped. */
  read(): Promise<void>
}

const LAG = 20_000
// A limit that a fast reader never reaches.
const PLENTY = 50_000_000

async function createSetup(seed: number): Promise<Setup> {
  const folder = createTempFolder()
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  const script = new Script(seed)
  const model = new ModelStore(script.books)
  const add = (batches: number): Promise<void> => write(store, model, script.take(batches))
  await add(60)
  const clock = new ManualClock()
  const hub = new Hub({
    clock,
    store,
    now: () => script.now,
    contextOf: ({ venue, market, key }, record) =>
      record === undefined ? { venue, key, marketId: market, index: 0 } : instrumentOf(record, key),
    onError: (error) => {
      throw error
    },
  })
  onTestFinished(async () => {
    await hub.close()
    await store.close()
  })
  const reader = async (
    mode: 'full' | 'changes',
    stallMs = 60_000,
    lagBytes = LAG,
  ): Promise<Reader> => {
    const sink = new FakeSink()
    const keeper = new BookKeeper()
    const limits = { lagBytes, lowBytes: 1000, mostBytes: 10 * lagBytes, stallMs }
    const made: Reader = {
      sink,
      keeper,
      subscriber: new Subscriber(sink, () => (made.isStalled = true), limits),
      isStalled: false,
      async read() {
        sink.read()
        for (const message of sink.messages.splice(0)) keeper.apply(message)
        if (made.subscriber.drained()) await recovered(made)
      },
    }
    const recovered = async (one: Reader): Promise<void> => {
      await readWhile(clock, one, hub.recover(one.subscriber))
    }
    hub.addSubscriber(made.subscriber)
    onTestFinished(() => hub.removeSubscriber(made.subscriber))
    const subscription: Subscription = {
      subscriber: made.subscriber,
      venues: new Set(['venueb'] as const),
      style: new RowStyle({ mode, style: {}, conflateMs: 0 }),
      datasets: new Set(['books', 'trades']),
      since: script.now,
      wants: ({ venue }) => venue === 'venueb',
      admits: () => true,
      pending: new Set(),
      attached: new Set(),
    }
    await hub.subscribe(subscription)
    const instruments = INSTRUMENTS.slice(1, 3)
    await readWhile(
      clock,
      made,
      hub.start(subscription, instruments, {
        books: new Map(),
        trades: new Map(),
        start: 0,
        budget: { rows: 1000 },
      }),
    )
    return made
  }
  return { clock, hub, store, script, add, reader }
}

/** Reads until the work is done. */
async function readWhile(clock: ManualClock, reader: Reader, work: Promise<void>): Promise<void> {
  const state = { isDone: false }
  const done = work.finally(() => (state.isDone = true))
  while (!state.isDone) {
    await clock.advance(5)
    if (!state.isDone) await reader.read()
  }
  await done
}

describe('a reader who does not read', () => {
  it('has a bounded queue, gets a resync for the skipped rows, and ends with the right books', async () => {
    for (const mode of ['full', 'changes'] as const) {
      const { clock, add, reader, store } = await createSetup(31)
      const fast = await reader(mode, 60_000, PLENTY)
      const slow = await reader(mode)
      for (let round = 0; round < 60; round++) {
        await add(3)
        await clock.advance(8)
        await fast.read()
        if (round % 20 === 19) await slow.read()
      }
      const isThere = async ({ keeper }: Reader): Promise<boolean> => {
        for (const { venue, key } of INSTRUMENTS.slice(1, 3)) {
          const { lastSequence } = (await store.instrument({ venue, key }))!
          if (keeper.sequences.get(key) !== lastSequence) return false
        }
        return true
      }
      while (!(await isThere(fast)) || !(await isThere(slow))) {
        await clock.advance(5)
        await fast.read()
        await slow.read()
      }
      expect(fast.keeper.resyncs).toEqual([])
      expect(slow.keeper.resyncs.length).toBeGreaterThan(0)
      expect(slow.keeper.resyncs[0]).toMatchObject({ reason: 'slow_reader' })
      expect([fast.keeper.holes, slow.keeper.holes]).toEqual([[], []])
      expect(slow.sink.most).toBeLessThan(10 * LAG)
      for (const { key } of INSTRUMENTS.slice(1, 3)) {
        expect(slow.keeper.textOf(key)).toBe(fast.keeper.textOf(key))
        expect(slow.keeper.textOf(key).length).toBeGreaterThan(0)
      }
    }
  })

  it('at all is disconnected, and no other reader', async () => {
    const { clock, add, reader } = await createSetup(32)
    const fast = await reader('full', 60_000, PLENTY)
    const stalled = await reader('full', 300)
    for (let round = 0; round < 400 && !stalled.isStalled; round++) {
      await add(3)
      await clock.advance(20)
      await fast.read()
    }
    expect([stalled.isStalled, fast.isStalled]).toEqual([true, false])
    expect(stalled.sink.buffered).toBeLessThan(10 * LAG)
    expect(fast.keeper.holes).toEqual([])
  })
})
