import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CaptureLog, Connector } from '../capture/contract.ts'
import { createVenueCConnector } from './connector.ts'
import {
  createFakeSink,
  openFakeVenue,
  until,
  type FakeRound,
  type FakeSink,
  type FakeVenue,
} from './fake-venue.testing.ts'
import { changeMessage, entry, newMarketMessage, resolvedFields, type Draft } from './fixtures.ts'
import type { VenueCOptions } from './options.ts'
import { printRoundSlug } from './rounds.ts'

const MINUTE = 60_000
const quiet: CaptureLog = { info: () => undefined, warn: () => undefined, error: () => undefined }

let venue: FakeVenue
let sink: FakeSink
let connector: Connector
let stop: AbortController
let running: Promise<void>
let faults: object[]

beforeEach(async () => {
  venue = await openFakeVenue()
  sink = createFakeSink()
  stop = new AbortController()
  running = Promise.resolve()
  faults = []
})

afterEach(async () => {
  stop.abort()
  await running
  await venue.close()
  expect(faults).toStrictEqual([])
})

function run(options: Partial<VenueCOptions> = {}, unresolved: Unresolved = []): void {
  const quota = { limit: 1000, windowMs: 1000 }
  const log = { ...quiet, error: (fields: object) => void faults.push(fields) }
  connector = createVenueCConnector(
    {
      ...venue.bases,
      assets: ['BTC'],
      windows: ['5m'],
      quotas: { gamma: quota, clob: quota },
      assetsPerSocket: 200,
      ...options,
    },
    { sink, log, unresolved },
  )
  running = connector.run(stop.signal)
}

type Unresolved = Parameters<typeof createVenueCConnector>[1]['unresolved']

const subscribed = (words: (string | Draft)[] | undefined): string[] => {
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
const commands = (index: number): Draft[] =>
  (venue.heard[index] ?? []).filter((said): said is Draft => typeof said !== 'string')
const bookRequests = (token: string): number =>
  venue.requests.filter(
    ({ pathname, searchParams }) =>
      pathname === '/clob/book' && searchParams.get('token_id') === token,
  ).length
const hasBooks = (): boolean => connector.status().state === 'recording'
const framesWith = (text: string): number =>
  sink.frames.filter((frame) => frame.text.includes(text)).length

function change(round: FakeRound, token: string, changes: Draft = {}): Draft {
  const entries = [entry({ asset_id: token, ...changes })]
  return { ...changeMessage(entries), market: round.id, timestamp: String(Date.now()) }
}

describe('subscriptions', () => {
  it('are spread over sockets, so many on each, and journaled frames know their socket', async () => {
    const rounds = [1, 2, 3].map((index) => venue.addRound(index * MINUTE, 5 * MINUTE))
    run({ assetsPerSocket: 4 })
    await until(() => venue.heard.length === 2 && hasBooks())
    const tokens = venue.heard.map(subscribed)
    expect(tokens.map(({ length }) => length).sort()).toStrictEqual([2, 4])
    expect(tokens.flat().sort()).toStrictEqual(rounds.flatMap((round) => round.tokens).sort())
    const [first] = commands(0)
    expect(first).toMatchObject({ type: 'market', custom_feature_enabled: true })
    // The first books of a socket come as one list, journaled as it came.
    await until(() => sink.frames.length === 2)
    expect(sink.frames.map(({ slot }) => slot).sort()).toStrictEqual([1, 2])
    expect(sink.frames.every(({ parsed }) => Array.isArray(parsed))).toBe(true)
    const { sockets, markets } = connector.status()
    expect(markets).toBe(3)
    expect(sockets.map(({ subscriptions }) => subscriptions).sort()).toStrictEqual([2, 4])
  })

  it('grow by an operation when a round is announced', async () => {
    venue.addRound(MINUTE, 5 * MINUTE)
    run()
    await until(hasBooks)
    const startSeconds = Math.floor(Date.now() / 1000) + 600
    const slug = printRoundSlug('BTC', '5m', startSeconds)
    const assets_ids = ['777', '888']
    const said = { market: '0x7', slug, assets_ids, clob_token_ids: assets_ids }
    venue.send(newMarketMessage(said))
    venue.send(newMarketMessage({ ...said, market: '0x8', slug: slug.replace('btc', 'eth') }))
    await until(() => commands(0).length === 2)
    expect(commands(0)[1]).toStrictEqual({ assets_ids, operation: 'subscribe' })
    expect(connector.status().markets).toBe(2)
  })

  it('leave out other assets, other windows and rounds that start late', async () => {
    const round = venue.addRound(MINUTE, 5 * MINUTE)
    venue.addRound(MINUTE, 5 * MINUTE, 'ETH')
    venue.addRound(MINUTE, 15 * MINUTE).gamma['slug'] = 'btc-updown-15m-1789999800'
    venue.addRound(MINUTE, 5 * MINUTE).gamma['slug'] = 'will-it-rain'
    venue.addRound(61 * MINUTE, 3 * MINUTE)
    run()
    await until(hasBooks)
    expect(subscribed(venue.heard[0])).toStrictEqual([...round.tokens].sort())
    // What concerns others is not journaled.
    expect(sink.answers.some(({ parsed }) => JSON.stringify(parsed).includes('rain'))).toBe(false)
  })

  it('end some seconds after the close', async () => {
    const round = venue.addRound(-1000, 1600)
    venue.addRound(0, 5 * MINUTE)
    run({ speed: 50 })
    await until(() => subscribed(venue.heard[0]).length === 4)
    await until(() => subscribed(venue.heard[0]).length === 2)
    expect(Date.now()).toBeGreaterThan(Date.parse(String(round.gamma['endDate'])))
    expect(commands(0).at(-1)).toStrictEqual({
      assets_ids: round.tokens,
      operation: 'unsubscribe',
    })
  })

  it('find a round by its slug before any list names it', async () => {
    run({ speed: 1 })
    await until(() => venue.requests.some(({ searchParams }) => searchParams.has('slug')))
    const asked = venue.requests.flatMap(({ searchParams }) => searchParams.get('slug') ?? [])
    const starts = asked.map((slug) => Number(slug.split('-').at(-1)))
    expect(asked[0]).toMatch(/^btc-updown-5m-\d{10}$/)
    expect(starts.every((start) => start % 300 === 0)).toBe(true)
    expect(starts[0]! * 1000).toBeLessThanOrEqual(Date.now())
  })
})

describe('a connection', () => {
  it('says PING, and words that are no data are not journaled', async () => {
    venue.addRound(MINUTE, 5 * MINUTE)
    run({ speed: 100 })
    await until(() => (venue.heard[0]?.filter((said) => said === 'PING').length ?? 0) > 2)
    venue.sendText('NO NEW ASSETS')
    venue.send({ event_type: 'best_bid_ask', marker: 1 })
    await until(() => framesWith('marker') === 1)
    expect(framesWith('PONG') + framesWith('NO NEW ASSETS')).toBe(0)
  })

  it('that is lost is noted and made anew with all tokens', async () => {
    const round = venue.addRound(MINUTE, 5 * MINUTE)
    run()
    await until(hasBooks)
    venue.cut()
    await until(() => commands(1).length > 0)
    expect(commands(1)[0]).toMatchObject({ type: 'market', assets_ids: round.tokens })
    const losses = sink.notes.filter(({ note }) => note === 'loss')
    expect(losses).toMatchObject([{ reason: 'disconnected', slot: 1 }])
    await until(() => sink.frames.length === 2)
    // The recorder asks for the books; the connection brought them, so REST is left alone.
    const asked = bookRequests(round.tokens[0])
    connector.recover([instrumentOf(round, 0)], 'disconnected')
    await until(hasBooks)
    expect(bookRequests(round.tokens[0])).toBe(asked)
  })

  it('takes frames beyond 1 MiB and what is no JSON', async () => {
    venue.addRound(MINUTE, 5 * MINUTE)
    run()
    await until(hasBooks)
    venue.send({ event_type: 'best_bid_ask', padding: 'x'.repeat(1_300_000) })
    venue.sendText('{"half":')
    await until(() => framesWith('half') === 1)
    expect(framesWith('padding')).toBe(1)
    expect(sink.frames.find(({ text }) => text.includes('half'))?.parsed).toBeUndefined()
  })
})

describe('books', () => {
  it('that a subscription does not bring are asked for by REST', async () => {
    const round = venue.addRound(0, 5 * MINUTE)
    venue.mute.add(round.tokens[1])
    run()
    const since = performance.now()
    await until(() => bookRequests(round.tokens[1]) > 0)
    expect(performance.now() - since).toBeGreaterThan(3000)
    expect(bookRequests(round.tokens[0])).toBe(0)
    const { request } = sink.answers.find((answer) => answer.request.kind === 'clob_book')!
    const { id: condition_id } = round
    expect(request).toStrictEqual({ kind: 'clob_book', token_id: round.tokens[1], condition_id })
    // Nothing was heard of the token, so that the subscription itself is made anew.
    await until(() => commands(0).length === 3)
    expect(commands(0).slice(1)).toStrictEqual([
      { assets_ids: [round.tokens[1]], operation: 'unsubscribe' },
      { assets_ids: [round.tokens[1]], operation: 'subscribe' },
    ])
  })

  it('of a market that CLOB does not know yet are asked for until it does', async () => {
    const round = venue.addRound(2000, 5 * MINUTE)
    for (const token of round.tokens) venue.books.delete(token)
    run({ speed: 20 })
    await until(() => bookRequests(round.tokens[0]) > 1)
    expect(sink.notes.some((note) => note.note === 'failed' && note.status === 404)).toBe(true)
    for (const token of round.tokens) venue.books.set(token, bookOf(round, token))
    await until(() => framesWith(round.tokens[0]) > 0 && hasBooks())
  })

  it('are recovered at once, again after failures, and once for many calls', async () => {
    const round = venue.addRound(0, 5 * MINUTE)
    run()
    await until(hasBooks)
    venue.bookFailures = 2
    const instruments = [instrumentOf(round, 0)]
    connector.recover(instruments, 'sequence_break')
    connector.recover(instruments, 'sequence_break')
    await until(() => sink.answers.some(({ request }) => request.kind === 'clob_book'))
    expect(bookRequests(round.tokens[0])).toBe(3)
    connector.recover([{ venue: 'venuec', market: '0x1', key: 'unknown' }], 'rejected')
    expect(bookRequests('unknown')).toBe(0)
  })

  it('are compared again and again, and subscribed anew when they differ twice', async () => {
    const round = venue.addRound(-1000, 5 * MINUTE)
    const [up] = round.tokens
    run({ speed: 50 })
    await until(() => bookRequests(up) > 2)
    expect(commands(0)).toHaveLength(1)
    // The venue's book moves on and the socket says nothing of it.
    for (const price of ['0.4', '0.41', '0.42', '0.43']) {
      const asked = bookRequests(up)
      const timestamp = String(Date.now())
      venue.books.set(up, bookOf(round, up, { bids: [{ price, size: '1' }], timestamp }))
      await until(() => bookRequests(up) > asked || commands(0).length > 1)
    }
    await until(() => commands(0).length > 2)
    expect(commands(0)[1]).toStrictEqual({ assets_ids: [up], operation: 'unsubscribe' })
  })

  it('agree where the socket is ahead of REST or behind it by a moment', async () => {
    const round = venue.addRound(-1000, 5 * MINUTE)
    const [up] = round.tokens
    run({ speed: 50 })
    await until(hasBooks)
    // REST shows the book of before, then the one of now; the socket said both.
    venue.send(change(round, up, { price: '0.47', size: '7' }))
    const asked = bookRequests(up)
    await until(() => bookRequests(up) > asked + 2)
    const before = venue.books.get(up)!
    const bids = [...(before['bids'] as Draft[]), { price: '0.47', size: '7' }]
    venue.books.set(up, { ...before, bids, timestamp: String(Date.now()) })
    await until(() => bookRequests(up) > asked + 6)
    expect(commands(0)).toHaveLength(1)
  })

  it('of a token that falls silent are looked into, subscribed anew and given up', async () => {
    const round = venue.addRound(-1000, 5 * MINUTE)
    const [up, down] = round.tokens
    run()
    await until(hasBooks)
    venue.mute.add(up)
    // REST knows of something that the socket never said.
    const timestamp = String(Date.now() + 1)
    venue.books.set(up, bookOf(round, up, { asks: [], timestamp }))
    const pair = setInterval(() => venue.send(change(round, down)), 50)
    const losses = () => sink.notes.filter((note) => note.note === 'loss')
    await until(() => losses().length > 0)
    clearInterval(pair)
    expect(losses()).toMatchObject([{ reason: 'venue_silent', keys: [up] }])
    expect(commands(0).slice(1, 3)).toStrictEqual([
      { assets_ids: [up], operation: 'unsubscribe' },
      { assets_ids: [up], operation: 'subscribe' },
    ])
  })
})

describe('resolution', () => {
  it('is polled after the close until Gamma says it, with the winner of CLOB', async () => {
    const round = venue.addRound(-1000, 1500)
    run({ speed: 50 })
    await until(() => asksForClosed() > 0)
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(String(round.gamma['endDate'])))
    round.gamma = { ...round.gamma, closed: true, acceptingOrders: false }
    await until(() => sink.answers.some(({ request }) => request.kind === 'clob_market'))
    expect(lastGamma(round)['closed']).toBe(true)
    round.gamma = { ...round.gamma, ...resolvedFields(), endDate: round.gamma['endDate'] }
    await until(() => lastGamma(round)['umaResolutionStatus'] === 'resolved')
    await until(() => connector.status().markets === 0)
    // It is over: nobody asks for it any more.
    const asked = asksFor(round)
    const other = venue.addRound(-1000, 1500)
    await until(() => asksFor(other) > 3)
    expect(asksFor(round)).toBe(asked)
  })

  it('is polled for markets of earlier runs, whatever they are about', async () => {
    const round = venue.addRound(-10 * MINUTE, 5 * MINUTE, 'ETH')
    const unknown = venue.addRound(-10 * MINUTE, 5 * MINUTE, 'ETH')
    for (const one of [round, unknown]) one.gamma = { ...one.gamma, ...resolvedFields() }
    run({}, [
      { marketId: round.id, native: { gamma: round.gamma as never } },
      { marketId: unknown.id, native: {} },
    ])
    await until(() => asksFor(round) > 0 && asksFor(unknown) > 0)
    expect(lastGamma(round)['closed']).toBe(true)
  })

  const asksFor = ({ id }: FakeRound): number =>
    venue.requests.filter(({ searchParams }) => searchParams.getAll('condition_ids').includes(id))
      .length
  const asksForClosed = (): number =>
    venue.requests.filter(({ searchParams }) => searchParams.get('closed') === 'true').length
  const lastGamma = ({ id }: FakeRound): Draft =>
    sink.answers
      .filter(({ request }) => request.kind === 'gamma_markets')
      .flatMap(({ parsed }) => parsed as Draft[])
      .filter((market) => market['conditionId'] === id)
      .at(-1) ?? {}
})

it('stops in order and says how it is', async () => {
  run()
  expect(connector.status()).toMatchObject({ venue: 'venuec', state: 'starting', sockets: [] })
  await until(() => connector.status().detail === 'no round was found')
  stop.abort()
  await running
  expect(connector.status().state).toBe('stopped')
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
