import { describe, expect, it } from 'vitest'
import type { Connector } from '../capture/contract.ts'
import { ManualClock } from '../../lib/clock.testing.ts'
import { FIRST_BOOKS } from '../capture/first-books.ts'
import { createTestSink } from '../capture/sink.testing.ts'
import { VenueCConnector, type VenueCOptions } from './connector.ts'
import { openFakeVenue, type FakeRound, type FakeVenue } from './upstream.testing.ts'
import {
  changeMessage,
  entry,
  newMarketMessage,
  resolvedFields,
  type Draft,
} from './fixtures.testing.ts'
import { createVenueCNormalizer } from './normalize.ts'
import { printRoundSlug } from './fields.ts'

const MINUTE = 60_000
const START_MICROS = 1_790_000_000_000_000

type Unresolved = ConstructorParameters<typeof VenueCConnector>[1]['unresolved']

/** A venue, a sink and a connector between them, on a clock that stands still until it is advanced. */
class Rig {
  readonly clock = new ManualClock(START_MICROS)
  readonly sink = createTestSink(createVenueCNormalizer(), () => this.clock.now())
  venue!: FakeVenue
  readonly stop = new AbortController()
  readonly faults: object[] = []
  connector!: Connector
  running: Promise<void> = Promise.resolve()

  nowMs(): number {
    return this.clock.now() / 1000
  }

  /** Advances the clock until something holds, slowly enough for real sockets to keep up. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await this.clock.advance(20)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  run(options: Partial<VenueCOptions> = {}, unresolved: Unresolved = []): void {
    const quota = { limit: 1000, windowMs: 1000 }
    const log = {
      info: () => undefined,
      warn: () => undefined,
      error: (fields: object) => void this.faults.push(fields),
    }
    this.connector = new VenueCConnector(
      {
        ...this.venue.bases,
        selection: {
          rules: [{ asset: ['BTC'], window: ['5m'], tier: 'full' }],
          pinned: [],
          bounds: { full: 100, polled: 100 },
          booksPerMarket: 2,
        },
        quotas: { gamma: quota, clob: quota },
        tokensPerSocket: 200,
        ...options,
      },
      { sink: this.sink, log, unresolved, clock: this.clock },
    )
    this.running = this.connector.run(this.stop.signal)
  }

  /** True when every token was subscribed, and books came. */
  hasBooks(): boolean {
    return this.connector.status().state === 'recording' && this.sink.frames.length > 0
  }

  /** The commands that a connection received, without PING. */
  commands(index: number): Draft[] {
    return (this.venue.heard[index] ?? []).filter((said): said is Draft => typeof said !== 'string')
  }

  framesWith(text: string): number {
    return this.sink.frames.filter((frame) => frame.text.includes(text)).length
  }

  bookRequests(token: string): number {
    return this.venue.requests.filter(
      ({ pathname, searchParams }) =>
        pathname === '/clob/book' && searchParams.get('token_id') === token,
    ).length
  }

  asksFor({ id }: FakeRound): number {
    return this.venue.requests.filter(({ searchParams }) =>
      searchParams.getAll('condition_ids').includes(id),
    ).length
  }

  asksForClosed(): number {
    return this.venue.requests.filter(({ searchParams }) => searchParams.get('closed') === 'true')
      .length
  }

  /** The newest that Gamma said of a round. */
  lastGamma({ id }: FakeRound): Draft {
    const said = this.sink.answers
      .filter(({ request }) => request.kind === 'gamma_markets')
      .flatMap(({ parsed }) => parsed as Draft[])
      .filter((market) => market['conditionId'] === id)
    return said.at(-1) ?? {}
  }
}

const test = it.extend<{ rig: Rig }>({
  // The empty pattern is how vitest sees that the fixture needs no other.
  // oxlint-disable-next-line no-empty-pattern
  rig: async ({}, use) => {
    const rig = new Rig()
    rig.venue = await openFakeVenue(() => rig.nowMs())
    await use(rig)
    rig.stop.abort()
    await rig.running
    await rig.venue.close()
    expect(rig.faults).toStrictEqual([])
  },
})

describe('subscriptions', () => {
  test.concurrent('are spread over sockets up to a maximum per socket, and journaled frames name their socket', async ({
    rig,
  }) => {
    const rounds = [1, 2, 3].map((index) => rig.venue.addRound(index * MINUTE, 5 * MINUTE))
    rig.run({ tokensPerSocket: 4 })
    await rig.until(() => rig.venue.heard.flatMap(subscribed).length === 6)
    const tokens = rig.venue.heard.map(subscribed)
    expect(tokens.map(({ length }) => length).sort((a, b) => a - b)).toStrictEqual([2, 4])
    expect(tokens.flat().sort()).toStrictEqual(rounds.flatMap((round) => round.tokens).sort())
    const [first] = rig.commands(0)
    expect(first).toMatchObject({ type: 'market', custom_feature_enabled: true })
    // The first books of a socket come as one list, journaled as it came.
    await rig.until(() => rig.sink.frames.length === 2)
    expect(rig.sink.frames.map(({ slot }) => slot).sort((a, b) => a - b)).toStrictEqual([1, 2])
    expect(rig.sink.frames.every(({ parsed }) => Array.isArray(parsed))).toBe(true)
    const { sockets, markets } = rig.connector.status()
    expect(markets).toBe(3)
    expect(sockets.map(({ subscriptions }) => subscriptions).sort((a, b) => a - b)).toStrictEqual([
      2, 4,
    ])
  })

  test.concurrent('grow by an operation when a round is announced', async ({ rig }) => {
    rig.venue.addRound(MINUTE, 5 * MINUTE)
    rig.run()
    await rig.until(() => rig.hasBooks())
    const startSeconds = Math.floor(rig.nowMs() / 1000) + 600
    const slug = printRoundSlug('BTC', '5m', startSeconds)
    const assets_ids = ['777', '888']
    const said = { market: '0x7', slug, assets_ids, clob_token_ids: assets_ids }
    rig.venue.send(newMarketMessage(said))
    rig.venue.send(newMarketMessage({ ...said, market: '0x8', slug: slug.replace('btc', 'eth') }))
    await rig.until(() => rig.commands(0).length === 2)
    expect(rig.commands(0)[1]).toStrictEqual({ assets_ids, operation: 'subscribe' })
    expect(rig.connector.status().markets).toBe(2)
  })

  test.concurrent('leave out other assets, other windows and rounds that start late', async ({
    rig,
  }) => {
    const round = rig.venue.addRound(MINUTE, 5 * MINUTE)
    rig.venue.addRound(MINUTE, 5 * MINUTE, 'ETH')
    rig.venue.addRound(MINUTE, 15 * MINUTE).gamma['slug'] = 'btc-updown-15m-1789999800'
    rig.venue.addRound(MINUTE, 5 * MINUTE).gamma['slug'] = 'will-it-rain'
    rig.venue.addRound(61 * MINUTE, 3 * MINUTE)
    rig.run()
    await rig.until(() => rig.hasBooks())
    expect(subscribed(rig.venue.heard[0])).toStrictEqual([...round.tokens].sort())
    // What concerns others is not journaled.
    expect(rig.sink.answers.some(({ parsed }) => JSON.stringify(parsed).includes('rain'))).toBe(
      false,
    )
  })

  test.concurrent('end some seconds after the close', async ({ rig }) => {
    const round = rig.venue.addRound(-1000, 3000)
    rig.venue.addRound(0, 5 * MINUTE)
    rig.run({ speed: 50 })
    await rig.until(() => subscribed(rig.venue.heard[0]).length === 4)
    await rig.until(() => subscribed(rig.venue.heard[0]).length === 2)
    expect(rig.nowMs()).toBeGreaterThan(Date.parse(String(round.gamma['endDate'])))
    expect(rig.commands(0).at(-1)).toStrictEqual({
      assets_ids: round.tokens,
      operation: 'unsubscribe',
    })
  })

  test.concurrent('of a book that was polled wait for room while its polls go on', async ({
    rig,
  }) => {
    const round = rig.venue.addRound(MINUTE, 60 * MINUTE, 'ETH')
    // As many books as are awaited at a time, none of which comes.
    for (let index = 0; index < FIRST_BOOKS / 2 + 20; index++) {
      for (const token of rig.venue.addRound(MINUTE, 5 * MINUTE).tokens) rig.venue.mute.add(token)
    }
    const selecting = (tier: 'full' | 'polled') => ({
      rules: [
        { asset: ['BTC'], window: ['5m'], tier: 'full' as const },
        { asset: ['ETH'], window: ['5m'], tier },
      ],
      pinned: [],
      bounds: { full: 5000, polled: 100 },
      booksPerMarket: 2,
    })
    rig.run({ selection: selecting('polled'), speed: 20 })
    const [token] = round.tokens
    await rig.until(() => rig.sink.book(token)?.isOpen === true)
    await rig.until(() => rig.venue.heard.flatMap(subscribed).length >= FIRST_BOOKS)
    rig.connector.select!(selecting('full'))
    await rig.until(() =>
      rig.sink.notes.some((one) => one.note === 'tier' && one.markets.includes(round.id)),
    )
    const polls = rig.venue.polled.filter((one) => one === token).length
    const hasSocket = (): boolean => rig.venue.heard.flatMap(subscribed).includes(token)
    expect(hasSocket()).toBe(false)
    await rig.until(hasSocket)
    expect(rig.venue.polled.filter((one) => one === token).length).toBeGreaterThan(polls)
    const losses = rig.sink.notes.filter((one) => one.note === 'loss')
    expect(losses.filter(({ keys }) => keys?.includes(token))).toStrictEqual([])
  })

  test.concurrent('open quiet books first after a restart, pinned ones before them', async ({
    rig,
  }) => {
    // Twice as many books as are awaited at a time; those of the first round come last, of the last one first.
    const rounds = Array.from({ length: FIRST_BOOKS }, (_, index) => {
      const round = rig.venue.addRound(MINUTE, 5 * MINUTE)
      round.gamma['volume24hr'] = FIRST_BOOKS - index
      return round
    })
    const pinned = rounds[1]!
    const selection: VenueCOptions['selection'] = {
      rules: [{ asset: ['BTC'], window: ['5m'], tier: 'full' }],
      pinned: [pinned.id],
      bounds: { full: 5000, polled: 0 },
      booksPerMarket: 2,
    }
    const known = rounds.map(({ id, gamma }) => ({ marketId: id, native: { gamma } }))
    rig.run({ selection, tokensPerSocket: 100 }, known as never)
    const said = (): string[] => rig.venue.heard.flatMap(subscribed)
    await rig.until(() => said().length >= FIRST_BOOKS)
    const first = [...rounds.slice(FIRST_BOOKS / 2 + 1), pinned].flatMap(({ tokens }) => tokens)
    expect(said().slice(0, FIRST_BOOKS).sort()).toStrictEqual(first.sort())
    await rig.until(() => said().length === 2 * FIRST_BOOKS)
    // The busiest are spread: no socket has more than a few of the last hundred tokens.
    const last = new Set(rounds.slice(2, 52).flatMap(({ tokens }) => tokens))
    const busy = rig.venue.heard.map((one) => subscribed(one).filter((t) => last.has(t)).length)
    expect(busy).toHaveLength(20)
    expect(Math.max(...busy)).toBeLessThanOrEqual(10)
  })

  test.concurrent('find a round by its slug before any list names it', async ({ rig }) => {
    rig.run({ speed: 1 })
    await rig.until(() => rig.venue.requests.some(({ searchParams }) => searchParams.has('slug')))
    const asked = rig.venue.requests.flatMap(({ searchParams }) => searchParams.get('slug') ?? [])
    const starts = asked.map((slug) => Number(slug.split('-').at(-1)))
    expect(asked[0]).toMatch(/^btc-updown-5m-\d{10}$/)
    expect(starts.every((start) => start % 300 === 0)).toBe(true)
    expect(starts[0]! * 1000).toBeLessThanOrEqual(rig.nowMs())
  })
})

describe('a connection', () => {
  test.concurrent('sends PING, and words that are not data are not journaled', async ({ rig }) => {
    rig.venue.addRound(MINUTE, 5 * MINUTE)
    rig.run({ speed: 100 })
    await rig.until(() => (rig.venue.heard[0]?.filter((said) => said === 'PING').length ?? 0) > 2)
    rig.venue.sendText('NO NEW ASSETS')
    rig.venue.send({ event_type: 'best_bid_ask', marker: 1 })
    await rig.until(() => rig.framesWith('marker') === 1)
    expect(rig.framesWith('PONG') + rig.framesWith('NO NEW ASSETS')).toBe(0)
  })

  test.concurrent('that is lost is noted and replaced by one with all tokens', async ({ rig }) => {
    const round = rig.venue.addRound(MINUTE, 5 * MINUTE)
    rig.run()
    await rig.until(() => rig.hasBooks())
    rig.venue.cut()
    await rig.until(() => rig.commands(1).length > 0)
    expect(rig.commands(1)[0]).toMatchObject({ type: 'market', assets_ids: round.tokens })
    const losses = rig.sink.notes.filter(({ note }) => note === 'loss')
    expect(losses).toMatchObject([{ reason: 'disconnected', slot: 1 }])
    await rig.until(() => rig.sink.frames.length === 2)
    // The recorder asks for the books; the connection brought them, so REST is left alone.
    const asked = rig.bookRequests(round.tokens[0])
    rig.connector.recover([instrumentOf(round, 0)], 'disconnected')
    await rig.until(() => rig.hasBooks())
    expect(rig.bookRequests(round.tokens[0])).toBe(asked)
  })

  test.concurrent('accepts frames beyond 1 MiB and frames that are not JSON', async ({ rig }) => {
    rig.venue.addRound(MINUTE, 5 * MINUTE)
    rig.run()
    await rig.until(() => rig.hasBooks())
    rig.venue.send({ event_type: 'best_bid_ask', padding: 'x'.repeat(1_300_000) })
    rig.venue.sendText('{"half":')
    await rig.until(() => rig.framesWith('half') === 1)
    expect(rig.framesWith('padding')).toBe(1)
    expect(rig.sink.frames.find(({ text }) => text.includes('half'))?.parsed).toBeUndefined()
  })
})

describe('books', () => {
  test.concurrent('that a subscription does not bring are requested by REST', async ({ rig }) => {
    const round = rig.venue.addRound(0, 5 * MINUTE)
    rig.venue.mute.add(round.tokens[1])
    rig.run()
    const since = rig.clock.monotonicMs()
    await rig.until(() => rig.sink.answers.some(({ request }) => request.kind === 'clob_book'))
    expect(rig.clock.monotonicMs() - since).toBeGreaterThan(3000)
    expect(rig.bookRequests(round.tokens[0])).toBe(0)
    const { request } = rig.sink.answers.find((answer) => answer.request.kind === 'clob_book')!
    const { id: condition_id } = round
    expect(request).toStrictEqual({ kind: 'clob_book', token_id: round.tokens[1], condition_id })
    // Nothing was heard of the token, so it is subscribed again.
    await rig.until(() => rig.commands(0).length === 3)
    expect(rig.commands(0).slice(1)).toStrictEqual([
      { assets_ids: [round.tokens[1]], operation: 'unsubscribe' },
      { assets_ids: [round.tokens[1]], operation: 'subscribe' },
    ])
  })

  test.concurrent('of a market that CLOB does not know yet are requested until it does', async ({
    rig,
  }) => {
    const round = rig.venue.addRound(2000, 5 * MINUTE)
    for (const token of round.tokens) rig.venue.books.delete(token)
    rig.run({ speed: 20 })
    await rig.until(() => rig.bookRequests(round.tokens[0]) > 1)
    expect(rig.sink.notes.some((note) => note.note === 'failed' && note.status === 404)).toBe(true)
    for (const token of round.tokens) rig.venue.books.set(token, bookOf(round, token))
    await rig.until(() => rig.framesWith(round.tokens[0]) > 0 && rig.hasBooks())
  })

  test.concurrent('are recovered at once, again after failures, and once for many calls', async ({
    rig,
  }) => {
    const round = rig.venue.addRound(0, 5 * MINUTE)
    rig.run()
    await rig.until(() => rig.hasBooks())
    rig.venue.bookFailures = 2
    const instruments = [instrumentOf(round, 0)]
    rig.connector.recover(instruments, 'sequence_break')
    rig.connector.recover(instruments, 'sequence_break')
    await rig.until(() => rig.sink.answers.some(({ request }) => request.kind === 'clob_book'))
    expect(rig.bookRequests(round.tokens[0])).toBe(3)
    rig.connector.recover([{ venue: 'venuec', market: '0x1', key: 'unknown' }], 'rejected')
    expect(rig.bookRequests('unknown')).toBe(0)
  })

  test.concurrent('are compared periodically, and subscribed again when they differ twice', async ({
    rig,
  }) => {
    const round = rig.venue.addRound(-1000, 5 * MINUTE)
    const [up, down] = round.tokens
    rig.run({ speed: 50 })
    await rig.until(() => rig.bookRequests(up) > 2)
    expect(rig.commands(0)).toHaveLength(1)
    // The other token lives: it is not the socket that is silent.
    const other = rig.clock.setInterval(
      () => rig.venue.send(change(rig, round, down, { price: '0.01' })),
      50,
    )
    // The venue's book moves on and the socket says nothing of it.
    for (const price of ['0.4', '0.41', '0.42', '0.43']) {
      const asked = rig.bookRequests(up)
      const timestamp = String(rig.nowMs())
      rig.venue.books.set(up, bookOf(round, up, { bids: [{ price, size: '1' }], timestamp }))
      await rig.until(() => rig.bookRequests(up) > asked || rig.commands(0).length > 1)
    }
    await rig.until(() => rig.commands(0).length > 2)
    other.cancel()
    const commands = rig
      .commands(0)
      .slice(1)
      .map(({ assets_ids, operation }) => [operation, assets_ids])
    expect(commands).toContainEqual(['unsubscribe', [up]])
    expect(commands).toContainEqual(['subscribe', [up]])
  })

  test.concurrent('agree where the socket is ahead of REST or behind it by a moment', async ({
    rig,
  }) => {
    const round = rig.venue.addRound(-1000, 5 * MINUTE)
    const [up] = round.tokens
    rig.run({ speed: 50 })
    await rig.until(() => rig.hasBooks())
    // REST shows the book of before, then the one of now; the socket said both.
    rig.venue.send(change(rig, round, up, { price: '0.47', size: '7' }))
    const asked = rig.bookRequests(up)
    await rig.until(() => rig.bookRequests(up) > asked + 2)
    const before = rig.venue.books.get(up)!
    const bids = [...(before['bids'] as Draft[]), { price: '0.47', size: '7' }]
    rig.venue.books.set(up, { ...before, bids, timestamp: String(rig.nowMs()) })
    await rig.until(() => rig.bookRequests(up) > asked + 6)
    expect(rig.commands(0)).toHaveLength(1)
  })

  test.concurrent('of a token that falls silent are compared, subscribed again and given up', async ({
    rig,
  }) => {
    const round = rig.venue.addRound(-1000, 5 * MINUTE)
    const [up, down] = round.tokens
    rig.run()
    await rig.until(() => rig.hasBooks())
    rig.venue.mute.add(up)
    // REST knows of something that the socket never said.
    const timestamp = String(rig.nowMs() + 1)
    rig.venue.books.set(up, bookOf(round, up, { asks: [], timestamp }))
    const pair = rig.clock.setInterval(() => rig.venue.send(change(rig, round, down)), 50)
    const losses = () => rig.sink.notes.filter((note) => note.note === 'loss')
    await rig.until(() => losses().length > 0)
    pair.cancel()
    expect(losses()).toMatchObject([{ reason: 'venue_silent', keys: [up] }])
    expect(rig.commands(0).slice(1, 3)).toStrictEqual([
      { assets_ids: [up], operation: 'unsubscribe' },
      { assets_ids: [up], operation: 'subscribe' },
    ])
  })
})

describe('resolution', () => {
  test.concurrent('is polled after the close until Gamma publishes it, with the winner from CLOB', async ({
    rig,
  }) => {
    const round = rig.venue.addRound(-1000, 1500)
    rig.run({ speed: 50 })
    await rig.until(() => rig.asksForClosed() > 0)
    expect(rig.nowMs()).toBeGreaterThanOrEqual(Date.parse(String(round.gamma['endDate'])))
    round.gamma = { ...round.gamma, closed: true, acceptingOrders: false }
    await rig.until(() => rig.sink.answers.some(({ request }) => request.kind === 'clob_market'))
    expect(rig.lastGamma(round)['closed']).toBe(true)
    round.gamma = { ...round.gamma, ...resolvedFields(), endDate: round.gamma['endDate'] }
    await rig.until(() => rig.lastGamma(round)['umaResolutionStatus'] === 'resolved')
    await rig.until(() => rig.connector.status().markets === 0)
    // It is over and not requested any more.
    const asked = rig.asksFor(round)
    const other = rig.venue.addRound(-1000, 1500)
    await rig.until(() => rig.asksFor(other) > 3)
    expect(rig.asksFor(round)).toBe(asked)
  })

  test.concurrent('is polled for all markets of earlier runs', async ({ rig }) => {
    const round = rig.venue.addRound(-10 * MINUTE, 5 * MINUTE, 'ETH')
    const unknown = rig.venue.addRound(-10 * MINUTE, 5 * MINUTE, 'ETH')
    for (const one of [round, unknown]) one.gamma = { ...one.gamma, ...resolvedFields() }
    rig.run({}, [
      { marketId: round.id, native: { gamma: round.gamma as never } },
      { marketId: unknown.id, native: {} },
    ])
    const isSaid = (one: FakeRound): boolean => rig.lastGamma(one)['closed'] === true
    await rig.until(() => isSaid(round) && isSaid(unknown))
    // It is resolved, so it is not requested again, and never subscribed.
    expect([rig.asksFor(round), rig.venue.heard]).toStrictEqual([1, []])
  })
})

test.concurrent('stops in order and reports its state', async ({ rig }) => {
  rig.run()
  expect(rig.connector.status()).toMatchObject({ venue: 'venuec', state: 'starting', sockets: [] })
  await rig.until(() => rig.connector.status().detail === 'no market was found')
  rig.stop.abort()
  await rig.running
  expect(rig.connector.status().state).toBe('stopped')
})

function instrumentOf(
  round: FakeRound,
  index: 0 | 1,
): { venue: 'venuec'; market: string; key: string } {
  return { venue: 'venuec', market: round.id, key: round.tokens[index] }
}

function bookOf(round: FakeRound, token: string, changes: Draft = {}): Draft {
  const bids = [{ price: '0.48', size: '15.25' }]
  const asks = [{ price: '0.5', size: '2' }]
  const event_type = 'book'
  return { event_type, market: round.id, asset_id: token, timestamp: '1', bids, asks, ...changes }
}

/** The tokens that a connection feeds after all that it was told. */
function subscribed(words: (string | Draft)[] | undefined): string[] {
  const tokens = new Set<string>()
  for (const said of words ?? []) {
    if (typeof said === 'string') continue
    for (const token of said['assets_ids'] as string[]) {
      if (said['operation'] === 'unsubscribe') tokens.delete(token)
      else tokens.add(token)
    }
  }
  return [...tokens].sort()
}

function change(rig: Rig, round: FakeRound, token: string, changes: Draft = {}): Draft {
  const entries = [entry({ asset_id: token, ...changes })]
  return { ...changeMessage(entries), market: round.id, timestamp: String(rig.nowMs()) }
}
