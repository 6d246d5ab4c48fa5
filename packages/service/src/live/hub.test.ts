import type { Gap, Instrument, Micros } from '@priorbook/sdk/domain'
import { BookColumns, type BookRun } from '@priorbook/sdk/tape'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BookChannel } from './book-channel.ts'
import { Hub } from './hub.ts'
import { joinAll } from './join.ts'
import type { LiveSource } from './source.ts'
import type { LiveStyle, LiveText } from './style.ts'
import { Subscriber, type Sink } from './subscriber.ts'
import type { Subscription } from './subscription.ts'
import type { Topic } from './topic.ts'

const INSTRUMENT: Instrument = { venue: 'venueb', market: 'M', key: 'M' }
const NAME = 'venueb:M'
const OTHER: Instrument = { venue: 'venueb', market: 'N', key: 'N' }

/** A store that grows when it is told to; all its instruments have the same rows. */
class GrowingSource {
  readonly columns = new BookColumns(2)
  readonly instruments: Instrument[] = [INSTRUMENT]
  last = 0
  /** How long a page takes, in which nothing else happens. */
  busyMs = 0
  readonly gaps: Gap[] = []
  /** Whose rows cannot be read. */
  readonly unreadable = new Set<string>()
  /** How many have followed; those before the last one that was opened cannot say what is new. */
  followers = 0
  isBroken = false
  /** What the next follower is told beside its changes. */
  missed: 'rebuilt' | undefined
  areMarketsUnreadable = false
  isMarketChanged = false
  unreadableReads = 0
  private revision = 1
  private isChanged = false

  grow(rows: number, isTold = true): void {
    for (let row = 0; row < rows; row++) {
      const number = ++this.last
      const flags = number === 1 ? 1 : 0
      const head = {
        received: number,
        source: number,
        venueSeq: number,
        channel: 0,
        journal: number,
      }
      this.columns.push({ ...head, flags }, [100], [100 + number])
    }
    if (isTold) this.isChanged = true
  }

  toSource(): LiveSource {
    const take = async (): Promise<unknown> => {
      if (this.isBroken) throw new Error('the follower is broken')
      if (!this.isChanged) return undefined
      this.isChanged = false
      const { missed, isMarketChanged } = this
      this.missed = undefined
      if (isMarketChanged) this.revision++
      this.isMarketChanged = false
      return {
        books: this.instruments,
        trades: [],
        markets: isMarketChanged ? [{ venue: 'venueb', marketId: 'M' }] : [],
        gaps: this.gaps,
        missed,
      }
    }
    const follow = async (): Promise<unknown> => {
      this.followers++
      this.isBroken = false
      this.isChanged = false
      return { take, close: () => undefined }
    }
    const readMarket = (): object => {
      if (this.areMarketsUnreadable) throw new Error('no market can be read')
      return { record: { status: 'open' }, knownAt: 0, revision: this.revision }
    }
    const look = (key: string): void => {
      if (!this.unreadable.has(key)) return
      this.unreadableReads++
      throw new Error(`${key} cannot be read`)
    }
    const run = (from: number, to: number): BookRun => ({
      columns: this.columns,
      firstSequence: 1,
      from,
      to,
    })
    return {
      follow,
      instrument: async () => ({ firstSequence: 1, lastSequence: this.last, firstReceived: 1 }),
      latest: async ({ key }: { key: string }) => {
        look(key)
        return run(this.last - 1, this.last)
      },
      books: async ({ key, after, limit }: { key: string; after: number; limit: number }) => {
        look(key)
        const until = performance.now() + this.busyMs
        while (performance.now() < until);
        const to = Math.min(this.last, after + limit)
        return { runs: to > after ? [run(after, to)] : [], hasMore: to < this.last, corrupt: [] }
      },
      trades: async () => ({ rows: {}, ordinals: [], hasMore: false }),
      gaps: async ({ key }: { key: string }) => this.gaps.filter((gap) => gap.key === key),
      market: async () => readMarket(),
      revisions: async (_venue: unknown, _market: unknown, { after }: { after: number }) =>
        after < this.revision ? [readMarket()] : [],
    } as unknown as LiveSource
  }
}

const word = (text: string): Uint8Array => Buffer.from(`${text} `)
const TEXT = {
  snapshot: (_c: unknown, _s: unknown, _w: unknown, sequence: number) =>
    word(`snapshot-${sequence}`),
  update: (_c: unknown, _s: unknown, _w: unknown, sequence: number) => word(`update-${sequence}`),
  resync: (_c: unknown, last: number) => word(`resync-${last}`),
  market: (_s: unknown, { revision }: { revision: number }) => word(`market-${revision}`),
  gap: (_s: unknown, { key, reason }: Gap) => word(`${key}-${reason}`),
} as unknown as LiveText<LiveStyle, unknown>

function createReader(): { readonly subscriber: Subscriber; readonly words: string[] } {
  const words: string[] = []
  const sink: Sink = {
    write: (bytes) => void words.push(...Buffer.from(bytes).toString().trim().split(' ')),
    cork: () => undefined,
    uncork: () => undefined,
    buffered: 0,
    left: 0,
  }
  return { subscriber: new Subscriber(sink, () => undefined), words }
}

function subscribe(subscriber: Subscriber, style: LiveStyle): Subscription<LiveStyle, unknown> {
  return {
    subscriber,
    venue: 'venueb',
    style,
    datasets: new Set(['books', 'markets']),
    since: 0,
    wants: () => true,
    admits: () => true,
    pending: new Set(),
    topics: new Set(),
  }
}

function createGap(more: { readonly [Name in keyof Gap]?: Gap[Name] | undefined }): Gap {
  const [start, end] = [3 as Micros, 4 as Micros]
  const name = { venue: 'venueb', scope: 'instrument', key: 'M' } as const
  return { ...name, start, end, afterSequence: 0, reason: 'sequence_break', ...more } as Gap
}

async function follow(store: GrowingSource): Promise<{
  readonly hub: Hub<LiveStyle, unknown>
  readonly words: string[]
  readonly troubles: string[]
}> {
  const troubles: string[] = []
  const hub = new Hub<LiveStyle, unknown>({
    source: store.toSource(),
    text: TEXT,
    contextOf: ({ key }) => key,
    now: () => 1,
    onTrouble: (error) => void troubles.push((error as Error).message),
  })
  const { subscriber, words } = createReader()
  hub.enter(subscriber)
  const subscription = subscribe(subscriber, { name: 'x', mode: 'changes', conflateMs: 0 })
  onTestFinished(() => {
    hub.end(subscription)
    hub.leave(subscriber)
  })
  await hub.open(subscription)
  const none = { books: new Map(), trades: new Map(), budget: 1e6 }
  await joinAll(hub, subscription, store.instruments, none)
  return { hub, words, troubles }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe('a hub', () => {
  it('keeps what a reader is brought to, though its last other reader leaves meanwhile', async () => {
    const store = new GrowingSource()
    store.grow(10, false)
    const hub = new Hub<LiveStyle, unknown>({
      source: store.toSource(),
      text: TEXT,
      contextOf: () => ({}),
      now: () => 1,
      onTrouble: (error) => expect.unreachable(String(error)),
    })
    const [old, fresh] = [createReader(), createReader()]
    hub.enter(old.subscriber)
    hub.enter(fresh.subscriber)
    const first = subscribe(old.subscriber, { name: 'x', mode: 'changes', conflateMs: 0 })
    const second = subscribe(fresh.subscriber, { name: 'y', mode: 'full', conflateMs: 10 })
    await hub.open(first)
    const none = { books: new Map(), trades: new Map(), budget: 1e6 }
    await joinAll(hub, first, [INSTRUMENT], none)
    store.grow(1)
    await pause(30)
    await hub.open(second)
    second.pending.add(NAME)
    store.grow(1)
    await pause(30)
    // Rows of several pages pile up: bringing the reader there lets the event loop turn.
    store.busyMs = 6
    store.grow(700, false)
    const bring = hub.bring.bind(hub)
    hub.bring = async (topic: Topic<LiveStyle, unknown>) => {
      if (hub.has(first)) setImmediate(() => hub.end(first))
      return bring(topic)
    }
    await joinAll(hub, second, [INSTRUMENT], { ...none, books: new Map([['M', 12]]) })
    store.busyMs = 0
    expect([hub.has(first), second.topics.has(hub.topics.get(NAME)!)]).toEqual([false, true])
    store.grow(1)
    await expect.poll(() => fresh.words.at(-1)).toBe(`update-${store.last}`)
    hub.end(second)
    expect(hub.topics.size).toBe(0)
    hub.leave(old.subscriber)
    hub.leave(fresh.subscriber)
  })

  it('tells a gap behind the rows before it, to those who join as well', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { hub, words } = await follow(store)
    const { subscriber, words: others } = createReader()
    hub.enter(subscriber)
    const second = subscribe(subscriber, { name: 'y', mode: 'full', conflateMs: 0 })
    await hub.open(second)
    second.pending.add(NAME)
    store.gaps.push(createGap({ afterSequence: 5 }))
    store.grow(2, false)
    await joinAll(hub, second, [INSTRUMENT], { books: new Map(), trades: new Map(), budget: 9 })
    hub.flush()
    expect(words.slice(-3)).toEqual(['update-4', 'update-5', 'M-sequence_break'])
    expect(others).toEqual(['snapshot-5', 'M-sequence_break'])
    store.grow(1)
    await expect.poll(() => others.slice(-2)).toEqual(['M-sequence_break', 'update-6'])
    hub.end(second)
    hub.leave(subscriber)
  })

  it('tells a reader of a venue without markets that it is interrupted, now or later', async () => {
    const silent = createGap({ scope: 'venue', key: '', end: undefined, reason: 'venue_silent' })
    for (const isOpenBefore of [true, false]) {
      const store = new GrowingSource()
      store.instruments.length = 0
      store.grow(3, false)
      if (isOpenBefore) store.gaps.push(silent)
      const { hub, words } = await follow(store)
      hub.flush()
      expect(words).toEqual(isOpenBefore ? ['-venue_silent'] : [])
      if (!isOpenBefore) store.gaps.push(silent)
      store.instruments.push(OTHER)
      store.grow(1)
      await expect.poll(() => words).toContain('snapshot-1')
      expect(words.filter((one) => one === '-venue_silent')).toEqual(['-venue_silent'])
    }
  })

  it('begins anew for a reader who missed rows before it sends those that wait', async () => {
    const { subscriber, words } = createReader()
    const hub = new Hub<LiveStyle, unknown>({} as never)
    const cursor = { sequence: 5, whole: () => ({}) }
    const topic = { context: {}, cursor } as unknown as Topic<LiveStyle, unknown>
    const style: LiveStyle = { name: 'x', mode: 'full', conflateMs: 1000 }
    const channel = new BookChannel<LiveStyle, unknown>(topic, style, TEXT)
    channel.members.add(subscribe(subscriber, style))
    subscriber.missed.set(channel, { last: 5, reason: 'slow_reader' })
    for (const sequence of [8, 9]) {
      cursor.sequence = sequence
      channel.take({} as never, () => ({}) as never)
      if (sequence === 8) channel.settle()
    }
    await hub.recover(subscriber)
    expect(words).toEqual(['resync-5', 'snapshot-9'])
    expect(subscriber.missed.size).toBe(0)
  })
})

describe('a hub whose store is in trouble', () => {
  it('loses no gap, and tells it once', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { words, troubles } = await follow(store)
    store.gaps.push(createGap({ afterSequence: 3 }))
    store.unreadable.add('M')
    store.grow(2)
    await expect.poll(() => troubles.length).toBeGreaterThan(1)
    expect(words.filter((one) => one.startsWith('M-'))).toEqual([])
    store.unreadable.clear()
    await expect.poll(() => words.slice(-3)).toEqual(['M-sequence_break', 'update-4', 'update-5'])
    store.grow(1)
    await expect.poll(() => words.at(-1)).toBe('update-6')
    expect(words.filter((one) => one.startsWith('M-'))).toEqual(['M-sequence_break'])
  })

  it('keeps no instrument waiting for one that cannot be read', async () => {
    const store = new GrowingSource()
    store.instruments.push(OTHER)
    store.grow(3, false)
    const { hub, words } = await follow(store)
    store.unreadable.add('M')
    store.grow(2)
    await expect.poll(() => hub.topics.get('venueb:N')!.cursor.sequence).toBe(5)
    expect(words.filter((one) => one === 'update-5')).toEqual(['update-5'])
    expect(hub.topics.get(NAME)!.cursor.sequence).toBe(3)
    store.unreadable.clear()
    await expect.poll(() => hub.topics.get(NAME)!.cursor.sequence).toBe(5)
    expect(words.filter((one) => one === 'update-5')).toEqual(['update-5', 'update-5'])
  })

  it('goes on when it was not told once what is new', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { words, troubles } = await follow(store)
    store.isBroken = true
    await expect.poll(() => troubles).toEqual(['the follower is broken'])
    store.isBroken = false
    store.grow(2)
    await expect.poll(() => words.slice(-2)).toEqual(['update-4', 'update-5'])
    expect([store.followers, words.filter((one) => one.startsWith('resync'))]).toEqual([1, []])
  })

  it('begins every book of a rebuilt tape anew once, though one of them cannot be read', async () => {
    const store = new GrowingSource()
    store.instruments.push(OTHER)
    store.grow(3, false)
    const { words, troubles } = await follow(store)
    store.unreadable.add('M')
    store.missed = 'rebuilt'
    store.grow(1)
    await expect.poll(() => troubles.length, { timeout: 5000 }).toBeGreaterThan(2)
    expect(words.filter((one) => one.startsWith('resync'))).toEqual(['resync-3'])
    store.unreadable.clear()
    await expect.poll(() => words.filter((one) => one === 'snapshot-4')).toHaveLength(2)
    store.grow(1)
    await expect.poll(() => words.filter((one) => one === 'update-5')).toHaveLength(2)
    expect(words.filter((one) => one.startsWith('resync'))).toEqual(['resync-3', 'resync-3'])
  })

  it('lets new instruments join while another one cannot be read', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { hub, words } = await follow(store)
    store.unreadable.add('M')
    store.grow(1)
    await expect.poll(() => store.unreadableReads).toBeGreaterThan(0)
    store.instruments.push(OTHER)
    store.grow(1)
    await expect.poll(() => hub.topics.get('venueb:N')?.cursor.sequence).toBe(5)
    expect(words).toContain('snapshot-1')
    expect(hub.topics.get(NAME)!.cursor.sequence).toBe(3)
  })

  it('tells a market that could not be read, though others have read it since', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { hub, words, troubles } = await follow(store)
    store.areMarketsUnreadable = true
    store.isMarketChanged = true
    store.grow(1)
    await expect.poll(() => troubles.length).toBeGreaterThan(0)
    store.areMarketsUnreadable = false
    await hub.records.find('venueb', 'M')
    await expect.poll(() => words.at(-1)).toBe('market-2')
    expect(words.filter((one) => one.startsWith('market'))).toEqual(['market-2'])
  })

  it('reads markets again that could not be read, and keeps no rows waiting for them', async () => {
    const store = new GrowingSource()
    store.grow(3, false)
    const { words, troubles } = await follow(store)
    store.areMarketsUnreadable = true
    store.isMarketChanged = true
    store.grow(1)
    await expect.poll(() => words.at(-1)).toBe('update-4')
    await expect.poll(() => troubles.length).toBeGreaterThan(1)
    store.areMarketsUnreadable = false
    await expect.poll(() => words.at(-1)).toBe('market-2')
  })

  it('tries a recovery again that failed', async () => {
    const { hub, words, troubles } = await follow(new GrowingSource())
    const { subscriber } = createReader()
    let attempts = 0
    const channel = {
      recover(_reader: Subscriber, { last }: { readonly last: number }) {
        if (++attempts === 1) throw new Error('no room')
        words.push(`recovered-${last}`)
      },
    }
    subscriber.missed.set(channel, { last: 5, reason: 'slow_reader' })
    hub.enter(subscriber)
    await expect.poll(() => words.at(-1)).toBe('recovered-5')
    expect([troubles, subscriber.missed.size]).toEqual([['no room'], 0])
    hub.leave(subscriber)
  })
})
