import type { Instrument } from '@priorbook/sdk/domain'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../lib/clock.testing.ts'
import { BookChannel, type FeedPosition } from './channels.ts'
import { Hub } from './hub.ts'
import {
  createGap,
  createReader,
  createSubscription,
  GrowingSource,
  INSTRUMENT,
  WordStyle,
} from './hub.testing.ts'
import type { Subscriber } from './subscriber.ts'

const NAME = 'venueb:M'
const OTHER: Instrument = { venue: 'venueb', market: 'N', key: 'N' }
// One tick of the hub, and its pause after an error.
const TICK_MS = 5
const PAUSE_MS = 500

type Setup = {
  readonly hub: Hub
  readonly clock: ManualClock
  readonly errors: string[]
}

function createHub(store: GrowingSource): Setup {
  const errors: string[] = []
  const clock = new ManualClock()
  const hub = new Hub({
    store: store.toSource(),
    clock,
    contextOf: ({ venue, market, key }) => ({ venue, key, marketId: market }),
    now: () => 1,
    onError: (error) => void errors.push((error as Error).message),
  })
  return { hub, clock, errors }
}

function noPoints() {
  return { books: new Map<string, number>(), trades: new Map(), start: 0, budget: { rows: 1e6 } }
}

type Following = Setup & {
  readonly words: string[]
  readonly lastBooks: ReadonlyMap<string, number>
}

async function follow(store: GrowingSource, since = 0): Promise<Following> {
  const setup = createHub(store)
  const { hub } = setup
  const { subscriber, words } = createReader()
  hub.addSubscriber(subscriber)
  const style = new WordStyle('x', 'changes', 0)
  const subscription = { ...createSubscription(subscriber, style), since }
  onTestFinished(() => {
    hub.unsubscribe(subscription)
    hub.removeSubscriber(subscriber)
  })
  await hub.subscribe(subscription)
  await hub.start(subscription, store.instruments, noPoints())
  await setup.clock.advance(0)
  return { ...setup, words, lastBooks: style.lastBooks }
}

describe('a hub', () => {
  it('keeps a feed that a reader is about to join when its last other reader leaves', async () => {
    const store = new GrowingSource()
    store.grow(10, false)
    const { hub, clock, errors } = createHub(store)
    const [old, fresh] = [createReader(), createReader()]
    hub.addSubscriber(old.subscriber)
    hub.addSubscriber(fresh.subscriber)
    const first = createSubscription(old.subscriber, new WordStyle('x', 'changes', 0))
    const second = createSubscription(fresh.subscriber, new WordStyle('y', 'full', 10))
    await hub.subscribe(first)
    await hub.start(first, [INSTRUMENT], noPoints())
    store.grow(1)
    await clock.advance(TICK_MS)
    await hub.subscribe(second)
    second.pending.add(NAME)
    store.grow(1)
    await clock.advance(TICK_MS)
    // Several pages of rows: catching up yields to the event loop between them.
    store.busyMs = 6
    store.grow(700, false)
    store.onReadBooks = () => setImmediate(() => hub.unsubscribe(first))
    await hub.start(second, [INSTRUMENT], { ...noPoints(), books: new Map([['M', 12]]) })
    store.busyMs = 0
    store.onReadBooks = () => undefined
    expect([hub.has(first), second.attached.has(NAME)]).toEqual([false, true])
    store.grow(1)
    await clock.advance(20)
    expect(fresh.words.at(-1)).toBe(`update-${store.last}`)
    hub.unsubscribe(second)
    expect(hub.counts.instruments).toBe(0)
    hub.removeSubscriber(old.subscriber)
    hub.removeSubscriber(fresh.subscriber)
    expect(errors).toEqual([])
  })

  it('sends a conflated row once per slot, and the newest', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { hub, clock } = createHub(store)
    const { subscriber, words } = createReader()
    hub.addSubscriber(subscriber)
    const style = new WordStyle('x', 'full', 100)
    const subscription = createSubscription(subscriber, style)
    await hub.subscribe(subscription)
    await hub.start(subscription, [INSTRUMENT], noPoints())
    for (let tick = 0; tick < 60; tick++) {
      store.grow(1)
      await clock.advance(TICK_MS)
    }
    // 300 ms in slots of 100 ms: the first row at once, then one per slot.
    expect(words.filter((one) => one.startsWith('update'))).toHaveLength(4)
    await clock.advance(100)
    expect(words.at(-1)).toBe(`update-${store.last}`)
    hub.unsubscribe(subscription)
    hub.removeSubscriber(subscriber)
  })

  it('sends a gap after the rows before it, also to readers who are joining', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { hub, clock, words } = await follow(store)
    const { subscriber, words: others } = createReader()
    hub.addSubscriber(subscriber)
    const second = createSubscription(subscriber, new WordStyle('y', 'full', 0))
    await hub.subscribe(second)
    second.pending.add(NAME)
    store.gaps.push(createGap({ afterSequence: 5 }))
    store.grow(2, false)
    await hub.start(second, [INSTRUMENT], { ...noPoints(), budget: { rows: 9 } })
    await clock.advance(TICK_MS)
    expect(words.slice(-3)).toEqual(['update-4', 'update-5', 'M-sequence_break'])
    expect(others).toEqual(['snapshot-5', 'M-sequence_break'])
    store.grow(1)
    await clock.advance(TICK_MS)
    expect(others.slice(-2)).toEqual(['M-sequence_break', 'update-6'])
    hub.unsubscribe(second)
    hub.removeSubscriber(subscriber)
  })

  it('lets the feed of a market go some time after its end, and opens it again for new rows', async () => {
    const store = new GrowingSource()
    store.grow(5, false)
    const { hub, clock, words, errors } = await follow(store, 1000)
    const pass = async (ms: number): Promise<void> => {
      clock.stall(ms)
      await clock.advance(TICK_MS)
    }
    const become = async (status: string): Promise<void> => {
      store.status = status
      store.isMarketChanged = true
      store.grow(1)
      await clock.advance(TICK_MS)
    }
    await become('resolved')
    await become('open')
    await pass(1_200_000)
    expect(hub.counts.instruments).toBe(1)
    await become('resolved')
    await pass(500_000)
    // A late row is still sent as one that follows the others.
    store.grow(1)
    await clock.advance(TICK_MS)
    expect([words.at(-1), hub.counts.instruments]).toEqual(['update-9', 1])
    await pass(120_000)
    expect(hub.counts.instruments).toBe(0)
    store.grow(1)
    await clock.advance(TICK_MS)
    expect([words.at(-1), hub.counts.instruments]).toEqual(['snapshot-10', 1])
    // It is let go again, although no further record says that its market has ended.
    await pass(700_000)
    expect(hub.counts.instruments).toBe(0)
    expect(errors).toEqual([])
  })

  it('sends trades that come after a feed was let go, as those that follow the last one', async () => {
    const store = new GrowingSource()
    store.grow(5, false)
    // Of a market that began after the client subscribed, rows are sent from the first one.
    const { hub, clock, words } = await follow(store, 0)
    store.lastTrade = 2
    store.status = 'resolved'
    store.isMarketChanged = true
    store.grow(1)
    await clock.advance(TICK_MS)
    expect(words.slice(-2)).toEqual(['trade-1-after-null', 'trade-2-after-1'])
    clock.stall(700_000)
    await clock.advance(TICK_MS)
    expect(hub.counts.instruments).toBe(0)
    const before = words.length
    store.lastTrade = 4
    store.grow(0)
    await clock.advance(TICK_MS)
    expect(words.slice(before)).toEqual(['snapshot-6', 'trade-3-after-2', 'trade-4-after-3'])
  })

  it('sends a venue-wide gap to a reader of a venue without markets', async () => {
    const silent = createGap({ scope: 'venue', key: '', end: undefined, reason: 'venue_silent' })
    for (const isOpenBefore of [true, false]) {
      const store = new GrowingSource()
      store.instruments.length = 0
      store.grow(3, false)
      if (isOpenBefore) store.gaps.push(silent)
      const { clock, words } = await follow(store)
      await clock.advance(TICK_MS)
      expect(words).toEqual(isOpenBefore ? ['-venue_silent'] : [])
      if (!isOpenBefore) store.gaps.push(silent)
      store.instruments.push(OTHER)
      store.grow(1)
      await clock.advance(2 * TICK_MS)
      expect(words).toContain('snapshot-1')
      expect(words.filter((one) => one === '-venue_silent')).toEqual(['-venue_silent'])
    }
  })

  it('sends a resync before the waiting rows to a reader who missed rows', async () => {
    const { subscriber, words } = createReader()
    const { hub } = createHub(new GrowingSource())
    const cursor = { sequence: 5, whole: () => ({}) }
    const position = { context: { key: 'M' }, cursor, nowMs: () => 0 } as unknown as FeedPosition
    const style = new WordStyle('x', 'full', 1000)
    const channel = new BookChannel(position, style)
    channel.members.add(createSubscription(subscriber, style))
    subscriber.missed.set(channel, { last: 5, reason: 'slow_reader' })
    for (const sequence of [8, 9]) {
      cursor.sequence = sequence
      channel.push({} as never, () => ({}) as never)
      if (sequence === 8) channel.settle()
    }
    await hub.recover(subscriber)
    expect(words).toEqual(['resync-5', 'snapshot-9'])
    expect(subscriber.missed.size).toBe(0)
  })
})

describe('a hub whose store fails', () => {
  it('publishes a gap once when its rows become readable', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { clock, words, errors } = await follow(store)
    store.gaps.push(createGap({ afterSequence: 3 }))
    store.unreadable.add('M')
    store.grow(2)
    await clock.advance(TICK_MS + PAUSE_MS)
    expect(errors.length).toBeGreaterThan(1)
    expect(words.filter((one) => one.startsWith('M-'))).toEqual([])
    store.unreadable.clear()
    await clock.advance(PAUSE_MS)
    expect(words.slice(-3)).toEqual(['M-sequence_break', 'update-4', 'update-5'])
    store.grow(1)
    await clock.advance(TICK_MS)
    expect(words.at(-1)).toBe('update-6')
    expect(words.filter((one) => one.startsWith('M-'))).toEqual(['M-sequence_break'])
  })

  it('publishes the other instruments while one cannot be read', async () => {
    const store = new GrowingSource()
    store.instruments.push(OTHER)
    store.grow(3, false)
    const { clock, words, lastBooks } = await follow(store)
    store.unreadable.add('M')
    store.grow(2)
    await clock.advance(TICK_MS)
    expect(lastBooks.get('N')).toBe(5)
    expect(words.filter((one) => one === 'update-5')).toEqual(['update-5'])
    expect(lastBooks.get('M')).toBe(3)
    store.unreadable.clear()
    await clock.advance(PAUSE_MS)
    expect(lastBooks.get('M')).toBe(5)
    expect(words.filter((one) => one === 'update-5')).toEqual(['update-5', 'update-5'])
  })

  it('continues without a resync after one failed poll', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { clock, words, errors } = await follow(store)
    store.isBroken = true
    await clock.advance(TICK_MS)
    expect(errors).toEqual(['the follower is broken'])
    store.isBroken = false
    store.grow(2)
    await clock.advance(PAUSE_MS)
    expect(words.slice(-2)).toEqual(['update-4', 'update-5'])
    expect([store.followers, words.filter((one) => one.startsWith('resync'))]).toEqual([1, []])
  })

  it('resyncs every book of a rebuilt tape once, also when one cannot be read at first', async () => {
    const store = new GrowingSource()
    store.instruments.push(OTHER)
    store.grow(3, false)
    const { clock, words, errors } = await follow(store)
    store.unreadable.add('M')
    store.missed = 'rebuilt'
    store.grow(1)
    await clock.advance(TICK_MS + 2 * PAUSE_MS)
    expect(errors.length).toBeGreaterThan(2)
    expect(words.filter((one) => one.startsWith('resync'))).toEqual(['resync-3'])
    store.unreadable.clear()
    await clock.advance(PAUSE_MS + TICK_MS)
    expect(words.filter((one) => one === 'snapshot-4')).toHaveLength(2)
    store.grow(1)
    await clock.advance(TICK_MS)
    expect(words.filter((one) => one === 'update-5')).toHaveLength(2)
    expect(words.filter((one) => one.startsWith('resync'))).toEqual(['resync-3', 'resync-3'])
  })

  it('attaches new instruments while another one cannot be read', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { clock, words, lastBooks } = await follow(store)
    store.unreadable.add('M')
    store.grow(1)
    await clock.advance(TICK_MS)
    store.instruments.push(OTHER)
    store.grow(1)
    await clock.advance(PAUSE_MS)
    expect(lastBooks.get('N')).toBe(5)
    expect(words).toContain('snapshot-1')
    expect(lastBooks.get('M')).toBe(3)
  })

  it('publishes a market that could not be read, also when it was read for another reason since', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { hub, clock, words, errors } = await follow(store)
    store.areMarketsUnreadable = true
    store.isMarketChanged = true
    store.grow(1)
    await clock.advance(TICK_MS)
    expect(errors.length).toBeGreaterThan(0)
    store.areMarketsUnreadable = false
    await hub.marketRecord('venueb', 'M')
    await clock.advance(PAUSE_MS)
    expect(words.at(-1)).toBe('market-2')
    expect(words.filter((one) => one.startsWith('market'))).toEqual(['market-2'])
  })

  it('publishes rows while markets cannot be read, and the markets later', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { clock, words, errors } = await follow(store)
    store.areMarketsUnreadable = true
    store.isMarketChanged = true
    store.grow(1)
    await clock.advance(TICK_MS)
    expect(words.at(-1)).toBe('update-4')
    await clock.advance(PAUSE_MS)
    expect(errors.length).toBeGreaterThan(1)
    store.areMarketsUnreadable = false
    await clock.advance(PAUSE_MS)
    expect(words.at(-1)).toBe('market-2')
  })

  it('retries a recovery that failed', async () => {
    const { hub, clock, words, errors } = await follow(new GrowingSource())
    const { subscriber } = createReader()
    let attempts = 0
    const channel = {
      recover(_reader: Subscriber, { last }: { readonly last: number }) {
        if (++attempts === 1) throw new Error('no room')
        words.push(`recovered-${last}`)
      },
    }
    subscriber.missed.set(channel, { last: 5, reason: 'slow_reader' })
    hub.addSubscriber(subscriber)
    await clock.advance(500)
    expect(words.at(-1)).toBe('recovered-5')
    expect([errors, subscriber.missed.size]).toEqual([['no room'], 0])
    hub.removeSubscriber(subscriber)
  })
})
