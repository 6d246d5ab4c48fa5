import { afterEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.testing.ts'
import { toReading, type CaptureNote, type CaptureRequest } from '../capture/contract.ts'
import type { RestAnswer, RestCall } from '../capture/rest.ts'
import { turnUntil } from '../capture/turn.testing.ts'
import { createVenueBNormalizer } from './normalize.ts'
import { VenueWalk } from './venue-walk.ts'

const normalizer = createVenueBNormalizer()
const HOUR_MS = 3_600_000

type Event = { ticker: string; markets: string[] }

/** A venue with some events, two to a page. */
class Venue {
  readonly clock = new ManualClock()
  readonly calls: string[] = []
  readonly kept: CaptureRequest[] = []
  readonly notes: CaptureNote[] = []
  readonly known = new Set<string>()
  walked: string[] = []
  failing = 0
  events: Event[] = []
  created: Event[] = []
  readonly stop = new AbortController()
  running = Promise.resolve()

  run(walkedMs?: number): VenueWalk {
    const walk = new VenueWalk({
      clock: this.clock,
      sink: { now: () => this.clock.now(), note: (note) => void this.notes.push(note) },
      rest: { send: (call) => Promise.resolve(this.answer(call)) },
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
      walkMs: HOUR_MS,
      recentMs: 10_000,
      walkedMs,
      rules: 7,
      tell: (request) => request,
      isKnown: (id) => this.known.has(id),
      onMarkets: (records) => {
        for (const { marketId } of records) this.known.add(marketId)
      },
      onWalked: (tickers) => void (this.walked = [...tickers]),
    })
    this.running = walk.run(this.stop.signal)
    return walk
  }

  private answer(call: RestCall): RestAnswer {
    const { path, query = {}, request } = call
    const { status, cursor = '0', ...times } = query as Record<string, string>
    const filter = Object.keys(times).find((name) => name.startsWith('min_')) ?? status ?? ''
    this.calls.push([path, filter, cursor].filter((part) => part !== '').join(' '))
    if (this.failing > 0) {
      this.failing--
      return { ok: false, status: 503, why: 'down' }
    }
    const value = this.page(path, filter, Number(cursor))
    if (value === undefined) return { ok: false, status: 404, why: 'not found' }
    const complete = call.describe === undefined ? request : call.describe(value)
    if (complete !== undefined) this.kept.push(complete)
    const at = { received: this.clock.now(), journal: 1 }
    return { ok: true, value, reading: toReading(() => normalizer.answer(request, value, at)) }
  }

  private page(path: string, filter: string, from: number): unknown {
    if (path === '/series') return { series: [{ ticker: 'KXA', category: 'Politics' }] }
    if (path === '/markets') {
      const markets = filter === 'min_created_ts' ? this.created.flatMap(toMarkets) : []
      return { markets, cursor: '' }
    }
    if (path !== '/events') {
      const event = [...this.events, ...this.created].find(({ ticker }) => path.endsWith(ticker))
      return event && { event: toEvent(event) }
    }
    if (filter === 'unopened') return { events: [], cursor: '' }
    const next = from + 2 < this.events.length ? String(from + 2) : ''
    return { events: this.events.slice(from, from + 2).map(toEvent), cursor: next }
  }
}

const toMarkets = ({ ticker, markets }: Event): object[] =>
  markets.map((market) => ({ ticker: market, event_ticker: ticker, status: 'active' }))

const toEvent = (event: Event): object => ({
  event_ticker: event.ticker,
  series_ticker: 'KXA',
  title: 'Who?',
  markets: toMarkets(event),
})

describe('a walk over venue B', () => {
  let venue = new Venue()

  afterEach(async () => {
    venue.stop.abort()
    await venue.running
    venue = new Venue()
  })

  const until = (name: string, isSo: () => boolean): Promise<void> =>
    turnUntil(venue.clock, name, isSo)
  const EVENTS = ['KXA-1', 'KXA-2', 'KXA-3'].map((ticker) => ({ ticker, markets: [`${ticker}-X`] }))

  it('lists all events, says so, and repeats what their series say', async () => {
    venue.events = EVENTS
    const walk = venue.run()
    await until('a walk', () => walk.isStarted)
    expect(venue.walked).toStrictEqual(['KXA-1-X', 'KXA-2-X', 'KXA-3-X'])
    expect(venue.notes).toMatchObject([{ note: 'walked' }])
    expect(venue.kept.filter(({ facts }) => facts !== undefined)).toHaveLength(2)
    await until('a list of what is new', () => venue.calls.includes('/markets min_updated_ts 0'))
    expect(venue.calls.filter((call) => call.startsWith('/events'))).toHaveLength(3)
  })

  it('is repeated where a page failed, and is not complete before', async () => {
    venue.events = EVENTS
    venue.failing = 2
    const walk = venue.run()
    await until('a walk', () => walk.isStarted)
    expect(venue.calls.filter((call) => call === '/events unopened 0')).toHaveLength(2)
    expect(venue.notes).toHaveLength(1)
  })

  it('is not repeated by a restart within the hour, but what is new is listed', async () => {
    venue.events = EVENTS
    venue.created = [{ ticker: 'KXA-9', markets: ['KXA-9-X'] }]
    const walk = venue.run(venue.clock.now() / 1000 - 60_000)
    await until('the new market', () => venue.known.has('KXA-9-X'))
    expect(walk.isStarted).toBe(true)
    expect(venue.calls.filter((call) => call.startsWith('/events '))).toStrictEqual([])
    expect(venue.calls).toContain('/events/KXA-9 0')
  })

  it('is due after an older walk', async () => {
    const walk = venue.run(venue.clock.now() / 1000 - 2 * HOUR_MS)
    await until('a walk', () => walk.isStarted)
    expect(venue.notes).toMatchObject([{ note: 'walked', rules: 7 }])
  })

  it('reads an event that a socket named, and forgets one that the venue does not know', async () => {
    venue.events = EVENTS
    const walk = venue.run()
    await until('a walk', () => walk.isStarted)
    venue.created = [{ ticker: 'KXA-8', markets: ['KXA-8-X', 'KXA-8-Y'] }]
    walk.hurry('KXA-8')
    walk.hurry('KXA-NONE')
    await until('its markets', () => venue.known.has('KXA-8-Y'))
    await until('the other', () => venue.calls.includes('/events/KXA-NONE 0'))
    await venue.clock.advance(60_000)
    expect(venue.calls.filter((call) => call.includes('KXA-NONE'))).toHaveLength(1)
  })
})
