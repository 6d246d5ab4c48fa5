import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEmulator, type Emulator } from '../../emulator.ts'
import { connect, get, signedHeaders, type ClientAddress, type Message } from './client.testing.ts'

type Sides = Record<'yes' | 'no', Map<string, number>>
type Market = { ticker: string; status: string; close_time: string; [field: string]: unknown }

let emulator: Emulator
let address: ClientAddress

beforeAll(async () => {
  emulator = await startEmulator({
    seed: 5,
    speed: 200,
    venues: ['venueb'],
    rates: { changes: 0.5, trades: 0.1, pauses: 0 },
    log: { memory: true },
  })
  address = emulator.addresses.venueb!
})
afterAll(() => emulator.close())

/** Open markets that stay open for a while yet: windows are short at this speed. */
async function openMarkets(series = 'KXBTCD', leastMs = 4_000): Promise<Market[]> {
  for (;;) {
    const path = `/markets?status=open&series_ticker=${series}`
    const { markets } = (await get(address, path)) as { markets: Market[] }
    if (Date.parse(markets[0]!.close_time) - Date.now() > leastMs) return markets
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Folds what the socket said of one market; counts are kept in hundredths. */
function fold(messages: readonly Message[], ticker: string): Sides {
  const sides: Sides = { yes: new Map(), no: new Map() }
  const hundredths = (text: string): number => Math.round(Number(text) * 100)
  for (const { type, msg } of messages) {
    if (msg['market_ticker'] !== ticker) continue
    if (type === 'orderbook_snapshot') {
      for (const side of ['yes', 'no'] as const) {
        const levels = (msg[`${side}_dollars_fp`] ?? []) as [string, string][]
        sides[side] = new Map(levels.map(([price, count]) => [price, hundredths(count)]))
      }
    } else if (type === 'orderbook_delta') {
      const side = sides[msg['side'] as 'yes' | 'no']
      const price = msg['price_dollars'] as string
      const count = (side.get(price) ?? 0) + hundredths(msg['delta_fp'] as string)
      if (count < 0) throw new Error(`${price} of ${ticker} went below nothing`)
      if (count === 0) side.delete(price)
      else side.set(price, count)
    }
  }
  return sides
}

describe('venue B on the wire', () => {
  it('numbers every message of a subscription and folds to the book of REST', async () => {
    const client = await connect(address)
    const [market] = await openMarkets()
    const { ticker } = market!
    client.send({
      id: 1,
      cmd: 'subscribe',
      params: { channels: ['orderbook_delta', 'trade'], market_tickers: [ticker] },
    })
    const first = await client.wait(({ type }) => type === 'subscribed')
    expect(first).toEqual({
      id: 1,
      type: 'subscribed',
      msg: { channel: 'orderbook_delta', sid: 1 },
    })
    await client.wait(({ seq }) => (seq ?? 0) > 30)
    client.send({
      id: 2,
      cmd: 'update_subscription',
      params: { sid: 1, action: 'get_snapshot', market_tickers: [ticker] },
    })
    const asked = await client.wait(({ id }) => id === 2)
    expect(asked.type).toBe('orderbook_snapshot')
    const index = client.messages.indexOf(asked)
    const books = client.messages.slice(0, index)
    expect(fold(books, ticker)).toEqual(fold([asked], ticker))
    for (const sid of [1, 2]) {
      const numbers = client.messages.filter((message) => message.sid === sid).map(({ seq }) => seq)
      expect(numbers).toEqual(numbers.map((_, place) => place + 1))
    }
    await client.close()
  })

  it('says the truth in its log: every sent payload is the book after the frame', async () => {
    const client = await connect(address)
    const { ticker } = (await openMarkets('KXETHD'))[0]!
    client.send({
      id: 1,
      cmd: 'subscribe',
      params: { channels: ['orderbook_delta'], market_ticker: ticker },
    })
    await client.wait(({ seq }) => (seq ?? 0) > 40)
    await client.close()
    const connection = emulator.truth.entries.findLast(
      (entry) => entry.type === 'connection' && entry.state === 'opened',
    )
    const name = connection?.type === 'connection' ? connection.connection : ''
    const frames = emulator.truth.entries.filter(
      (entry) => entry.type === 'frame' && entry.connection === name,
    )
    const heard = client.messages.filter(({ type }) => type.startsWith('orderbook'))
    expect(frames.length).toBeGreaterThanOrEqual(heard.length)
    heard.forEach((message, index) => {
      const entry = frames[index]!
      const payload = entry.type === 'frame' ? entry.payloads[0]! : undefined
      if (payload?.kind !== 'full' && payload?.kind !== 'change') throw new Error('no book')
      expect(payload.seq).toBe(message.seq)
      const { yes, no } = fold(heard.slice(0, index + 1), ticker)
      const key = (price: number): string => (price / 10_000).toFixed(4)
      expect(new Map(payload.book.bids.map((l) => [key(l.price), l.size / 10_000]))).toEqual(yes)
      expect(
        new Map(payload.book.asks.map((l) => [key(10_000 - l.price), l.size / 10_000])),
      ).toEqual(no)
    })
  })

  it('adds and removes markets, lists and ends subscriptions, and names errors by number', async () => {
    const client = await connect(address)
    const [one, two] = await openMarkets('KXBTCD')
    const command = (id: number, cmd: string, params?: object): void =>
      client.send({ id, cmd, ...(params === undefined ? {} : { params }) })
    const answer = (id: number): Promise<Message> => client.wait((message) => message.id === id)
    command(1, 'subscribe', { channels: ['orderbook_delta'], market_tickers: [one!.ticker] })
    await answer(1)
    command(2, 'update_subscription', {
      sids: [1],
      action: 'add_markets',
      market_tickers: [two!.ticker],
    })
    const added = await answer(2)
    expect(added).toMatchObject({
      type: 'ok',
      sid: 1,
      msg: { market_tickers: [one!.ticker, two!.ticker] },
    })
    await client.wait(
      ({ type, msg }) => type === 'orderbook_snapshot' && msg['market_ticker'] === two!.ticker,
    )
    command(3, 'update_subscription', {
      sid: 1,
      action: 'delete_markets',
      market_tickers: [one!.ticker],
    })
    expect(await answer(3)).toMatchObject({ type: 'ok', msg: { market_tickers: [two!.ticker] } })
    command(4, 'list_subscriptions')
    expect(await answer(4)).toEqual({
      id: 4,
      type: 'ok',
      msg: [{ channel: 'orderbook_delta', sid: 1 }],
    })
    command(5, 'unsubscribe', { sids: [1] })
    expect(await answer(5)).toMatchObject({ type: 'unsubscribed', sid: 1 })
    const wrong: [string, object | undefined, number][] = [
      ['subscribe', undefined, 2],
      ['subscribe', {}, 3],
      ['unsubscribe', {}, 4],
      ['nonsense', {}, 5],
      ['unsubscribe', { sids: [9] }, 7],
      ['subscribe', { channels: ['nonsense'] }, 8],
      ['update_subscription', { sids: [1, 2], action: 'add_markets' }, 12],
      ['update_subscription', { sid: 1, action: 'nonsense' }, 13],
      ['subscribe', { channels: ['orderbook_delta'] }, 14],
      ['update_subscription', { sid: 1 }, 15],
    ]
    for (const [index, [cmd, params, code]] of wrong.entries()) {
      command(100 + index, cmd, params)
      expect(await answer(100 + index)).toMatchObject({ type: 'error', msg: { code } })
    }
    client.socket.send('{')
    await client.wait(({ type, msg }) => type === 'error' && msg['code'] === 1)
    await client.close()
  })

  it('sends a close as two empty books, and lifecycle messages on their channel', async () => {
    const client = await connect(address)
    const [market] = await openMarkets('KXBTC15M', 1_000)
    const { ticker } = market!
    client.send({
      id: 1,
      cmd: 'subscribe',
      params: {
        channels: ['orderbook_delta', 'market_lifecycle_v2', 'ticker'],
        market_tickers: [ticker],
      },
    })
    await client.wait(
      ({ msg }) => msg['market_ticker'] === ticker && msg['event_type'] === 'settled',
    )
    const empty = client.messages.filter(
      ({ type, msg }) => type === 'orderbook_snapshot' && Object.keys(msg).length === 2,
    )
    expect(empty.map(({ msg }) => msg['market_ticker'])).toEqual([ticker, ticker])
    const life = client.messages.filter(({ msg }) => msg['market_ticker'] === ticker)
    expect(life.some(({ msg }) => msg['event_type'] === 'determined' && msg['result'])).toBe(true)
    expect(client.messages.some(({ msg }) => msg['event_type'] === 'created')).toBe(true)
    expect(client.messages.some(({ type }) => type === 'ticker')).toBe(true)
    const settled = (await get(address, `/markets/${ticker}`)) as { market: Market }
    expect(settled.market.status).toBe('finalized')
    await client.close()
  })

  it('wants a good signature for the socket and for signed books', async () => {
    const bad = { ...address, keyId: 'other' }
    await expect(connect(bad)).rejects.toThrow('401')
    const [market] = await openMarkets()
    const path = `/trade-api/v2/markets/${market!.ticker}/orderbook`
    const url = `${address.rest}/markets/${market!.ticker}/orderbook`
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(url, { headers })).status
    expect(await status(signedHeaders(address, path))).toBe(200)
    expect(await status(signedHeaders(address, `${path}?depth=1`))).toBe(401)
    expect(await status(signedHeaders(address, path, -60_000))).toBe(401)
    expect(await status({})).toBe(200)
  })

  it('walks pages of markets without missing or repeating one', async () => {
    const seen: string[] = []
    let cursor = ''
    do {
      const page = (await get(address, `/markets?limit=5&cursor=${cursor}`)) as {
        cursor: string
        markets: Market[]
      }
      seen.push(...page.markets.map(({ ticker }) => ticker))
      cursor = page.cursor
    } while (cursor !== '')
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.length).toBeGreaterThan(20)
    const first = (await get(address, '/events?status=open&with_nested_markets=true')) as {
      events: { event_ticker: string; markets: Market[] }[]
    }
    expect(first.events.length).toBe(4)
    for (const { event_ticker, markets } of first.events) {
      const whole = (await get(address, `/events/${event_ticker}`)) as { markets: Market[] }
      expect(whole.markets.length).toBe(markets.length)
    }
  })

  it('bills a batch of books per item, refuses beyond the quota and remembers the peak', async () => {
    const strict = await startEmulator({ venues: ['venueb'], speed: 1 })
    const own = strict.addresses.venueb!
    const tickers = Array.from({ length: 19 }, (_, n) => `tickers=T${n}`).join('&')
    const status = async (): Promise<number> =>
      (await fetch(`${own.rest}/markets/orderbooks?${tickers}`)).status
    expect(await status()).toBe(200)
    expect((await fetch(`${own.rest}/exchange/status`)).status).toBe(200)
    const refused = await fetch(`${own.rest}/exchange/status`)
    expect(refused.status).toBe(429)
    expect(await refused.json()).toEqual({ error: 'too many requests' })
    expect(refused.headers.get('retry-after')).toBeNull()
    expect(strict.quotaPeaks().venueb).toEqual({
      default: { limit: 200, windowMs: 1_000, peak: 210, requests: 3, refused: 1 },
    })
    await strict.close()
  })
})
