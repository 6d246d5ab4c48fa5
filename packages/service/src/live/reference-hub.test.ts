import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toMicros, type Gap, type Sample } from '@priorbook/sdk/domain'
import { expect, it, onTestFinished } from 'vitest'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import type { Store, StoreReader } from '../store/store.ts'
import { ReferenceHub, type ReferenceSubscription } from './reference-hub.ts'
import { Subscriber } from './subscriber.ts'

const KEY = 'reference/exchange/BTC'
const START = 1_790_000_000_000_000
const MADE = { origin: 'live', recorder: 'r1', normalizer: 1, venue: 'venuec' } as const

function openStore(): Store {
  const dir = mkdtempSync(join(tmpdir(), 'priorbook-hub-'))
  const store = openEmbeddedStore({ file: join(dir, 'tape.db') })
  onTestFinished(async () => {
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  })
  return store
}

function priceOf(number: number): Sample {
  return {
    kind: 'sample',
    instrument: { venue: 'venuec', market: 'reference', key: KEY },
    metric: 'price',
    value: String(number),
    source: toMicros(START + number * 1_000_000),
    received: toMicros(START + number * 1_000_000 + 5),
    journal: number,
  }
}

/** Appends the prices from `first` to `last`, and gaps. */
async function append(store: Store, first: number, last: number, gaps: Gap[] = []): Promise<void> {
  const samples = Array.from({ length: last - first + 1 }, (_, at) => priceOf(first + at))
  const position = (await store.appliedPosition('venuec')) + Math.max(1, samples.length)
  await store.append({ ...MADE, position, samples, gaps })
}

function gapAfter(afterSequence: number): Gap {
  return {
    venue: 'venuec',
    scope: 'instrument',
    key: KEY,
    reason: 'disconnected',
    start: priceOf(afterSequence).received,
    afterSequence,
    journal: afterSequence + 1,
  }
}

function openHub(store: StoreReader): ReferenceHub {
  const hub = new ReferenceHub({ store, venues: ['venuec'], onError: () => undefined })
  onTestFinished(() => hub.close())
  return hub
}

/** A client whose bytes leave with every turn of the event loop while it reads. */
class Client {
  readonly seen: string[] = []
  isStalled = false
  isReading = true
  mostBuffered = 0
  readonly subscription: ReferenceSubscription
  private waiting: number[] = []
  private left = 0

  constructor(resume: number | undefined, frameBytes = 10) {
    const subscriber = new Subscriber(this.toSink(), () => (this.isStalled = true))
    const said = (text: string): Uint8Array => {
      this.seen.push(text)
      return new Uint8Array(frameBytes)
    }
    this.subscription = {
      subscriber,
      price: (_instrument, _rows, _row, ordinal, previous) => said(`${previous}→${ordinal}`),
      gap: ({ afterSequence, end }) => said(`gap after ${afterSequence}${end ? ', ended' : ''}`),
      wants: () => true,
      resume: new Map(resume === undefined ? [] : [[KEY, resume]]),
      start: 0,
      budget: { rows: 100_000 },
    }
  }

  leave(): void {
    if (!this.isReading) return
    for (const bytes of this.waiting) this.left += bytes
    this.waiting = []
    this.subscription.subscriber.drained()
  }

  private get buffered(): number {
    return this.waiting.reduce((sum, bytes) => sum + bytes, 0)
  }

  private toSink(): ConstructorParameters<typeof Subscriber>[0] {
    const buffered = (): number => this.buffered
    const left = (): number => this.left
    return {
      write: ({ length }) => {
        if (this.waiting.length === 0) setImmediate(() => this.leave())
        this.waiting.push(length)
      },
      cork: () => undefined,
      uncork: () => (this.mostBuffered = Math.max(this.mostBuffered, this.buffered)),
      get buffered() {
        return buffered()
      },
      get left() {
        return left()
      },
    }
  }
}

it('sends earlier prices as fast as a client reads them, with those that come meanwhile', async () => {
  const store = openStore()
  await append(store, 1, 6000, [gapAfter(6000)])
  await append(store, 6001, 12_000, [
    { ...gapAfter(6000), end: priceOf(6001).received, endJournal: 6001 },
  ])
  const hub = openHub(store)
  const client = new Client(5, 1000)
  const joined = hub.subscribe(client.subscription, () => undefined)
  await append(store, 12_001, 12_003)
  await joined
  await append(store, 12_004, 12_004)
  await expect.poll(() => client.seen.at(-1)).toBe('12003→12004')
  expect(client.isStalled).toBe(false)
  expect(client.mostBuffered).toBeLessThan(1_000_000)
  const expected = Array.from({ length: 11_999 }, (_, at) => `${at + 5}→${at + 6}`)
  expected.splice(5995, 0, 'gap after 6000, ended')
  expect(client.seen).toEqual(expected)
})

it('goes on for others while a client that resumes does not read', async () => {
  const store = openStore()
  await append(store, 1, 4000)
  const hub = openHub(store)
  const slow = new Client(1, 1000)
  slow.isReading = false
  const joined = hub.subscribe(slow.subscription, () => undefined)
  const other = new Client(undefined)
  await hub.subscribe(other.subscription, () => undefined)
  await append(store, 4001, 4001, [gapAfter(4001)])
  await expect.poll(() => other.seen).toEqual(['null→4000', '4000→4001', 'gap after 4001'])
  expect(slow.isStalled).toBe(false)
  slow.isReading = true
  slow.leave()
  await joined
  expect(slow.seen.slice(-2)).toEqual(['4000→4001', 'gap after 4001'])
  expect(slow.seen).toHaveLength(4001)
})

it('sends no earlier prices that the client may not read, but the newest', async () => {
  const store = openStore()
  await append(store, 1, 20)
  const hub = openHub(store)
  for (const [start, seen] of [
    [priceOf(19).received, ['18→19', '19→20']],
    [priceOf(20).received, ['18→20']],
    [priceOf(21).received, ['18→20']],
  ] as const) {
    const client = new Client(18)
    await hub.subscribe({ ...client.subscription, start }, () => undefined)
    expect(client.seen).toEqual(seen)
  }
})

it('sends a gap that it found before the store failed', async () => {
  const store = openStore()
  await append(store, 1, 1)
  let failures = 0
  const samples: Store['samples'] = async (query) => {
    if (failures-- > 0) throw new Error('the store is away')
    return store.samples(query)
  }
  const hub = openHub({ ...store, samples })
  const client = new Client(undefined)
  await hub.subscribe(client.subscription, () => undefined)
  failures = 1
  await append(store, 2, 1, [gapAfter(1)])
  await expect.poll(() => client.seen).toEqual(['null→1', 'gap after 1'])
})
