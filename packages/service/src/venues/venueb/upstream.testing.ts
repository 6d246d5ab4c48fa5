import { constants, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer, type WebSocket } from 'ws'
import type { Clock } from '../../lib/clock.ts'

/** A key pair for tests, made once. */
export const KEYS = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})

/** One market of the test venue: sizes in hundredths by price in ten-thousandths, each side's own. */
export type TestMarket = {
  readonly ticker: string
  fields: Record<string, unknown>
  readonly yes: Map<number, number>
  readonly no: Map<number, number>
  readonly trades: Record<string, unknown>[]
}

/** The fees of every series of the test venue. */
export const SERIES_FEES = { fee_type: 'quadratic', fee_multiplier: 0.5 }

type Session = {
  readonly socket: WebSocket
  readonly subs: Map<number, { channel: string; tickers: Set<string>; seq: number }>
}

/** A request as the venue saw it, on the clock of the test. */
export type Seen = { readonly atMs: number; readonly path: string; readonly query: URLSearchParams }

/** A small venue B on loopback: it checks signatures, counts requests, and can misbehave. */
export class TestVenue {
  readonly markets = new Map<string, TestMarket>()
  readonly requests: Seen[] = []
  readonly commands: { readonly cmd: string; readonly params: Record<string, unknown> }[] = []
  badSignatures = 0
  /** What REST answers instead of the right value: a status, or nothing. */
  fault: number | 'hang' | undefined
  /** Every page of /markets names the same next one. */
  repeatsCursor = false
  /** Every page of /markets names a new next one. */
  neverEnds = false
  marketLimit = Infinity
  answersSnapshots = true
  /** How many of the next snapshots are malformed. */
  spoils = 0
  /** How many frames are numbered but not sent. */
  drops = { orderbook_delta: 0, orderbook_snapshot: 0, trade: 0 }
  readonly #sessions = new Set<Session>()
  readonly #server = createServer((request, response) => this.#answer(request, response))
  readonly #sockets = new WebSocketServer({ noServer: true })
  readonly #clock: Clock
  #sids = 0
  #trades = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Wall-clock time, this many milliseconds from now. */
  time(fromNowMs = 0): string {
    return new Date(this.#wallMs() + fromNowMs).toISOString()
  }

  async open(): Promise<void> {
    this.#server.on('upgrade', (request, socket, head) => {
      if (!this.#isSigned(request)) {
        socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
        return
      }
      this.#sockets.handleUpgrade(request, socket, head, (client) => this.#accept(client))
    })
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  async close(): Promise<void> {
    this.closeSockets()
    this.#sockets.close()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  get restBase(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/trade-api/v2`
  }

  get wsUrl(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}/trade-api/ws/v2`
  }

  get sessions(): number {
    return this.#sessions.size
  }

  /** Lists a market that is open for an hour, with one level on each side. */
  list(ticker: string, fields: Record<string, unknown> = {}): TestMarket {
    const market: TestMarket = {
      ticker,
      fields: {
        ticker,
        event_ticker: ticker.split('-').slice(0, 2).join('-'),
        status: 'active',
        open_time: this.time(-60_000),
        close_time: this.time(3_600_000),
        result: '',
        ...fields,
      },
      yes: new Map([[4000, 1000]]),
      no: new Map([[5500, 700]]),
      trades: [],
    }
    this.markets.set(ticker, market)
    return market
  }

  /** Changes one level and sends it to the subscribers. */
  change(ticker: string, side: 'yes' | 'no', price: number, delta: number): void {
    const market = this.markets.get(ticker)!
    const size = (market[side].get(price) ?? 0) + delta
    if (size === 0) market[side].delete(price)
    else market[side].set(price, size)
    const msg = {
      market_ticker: ticker,
      market_id: 'id',
      price_dollars: dollars(price),
      delta_fp: contracts(delta),
      side,
      ts_ms: this.#wallMs(),
    }
    this.#publish('orderbook_delta', 'orderbook_delta', ticker, msg)
  }

  trade(ticker: string): string {
    const trade_id = `T${++this.#trades}`
    const prices = { yes_price_dollars: '0.4000', no_price_dollars: '0.6000', count_fp: '1.00' }
    const trade = { trade_id, ...prices, taker_side: 'yes' }
    const created_time = this.time()
    this.markets.get(ticker)!.trades.push({ ...trade, ticker, created_time })
    const msg = { ...trade, market_ticker: ticker, ts_ms: this.#wallMs() }
    this.#publish('trade', 'trade', ticker, msg)
    return trade_id
  }

  life(msg: Record<string, unknown>): void {
    this.#publish('market_lifecycle_v2', 'market_lifecycle_v2', undefined, msg)
  }

  /** Ends the subscriptions of a channel with an error. */
  end(channel: string, code: number): void {
    for (const { socket, subs } of this.#sessions) {
      for (const [sid, sub] of subs) {
        if (sub.channel !== channel) continue
        subs.delete(sid)
        const msg = { code, msg: 'on request' }
        socket.send(JSON.stringify({ type: 'error', sid, seq: ++sub.seq, msg }))
      }
    }
  }

  closeSockets(): void {
    for (const { socket } of this.#sessions) socket.terminate()
  }

  /** Tickers that are subscribed on this channel, over all subscriptions. */
  subscribed(channel: string): string[] {
    return [...this.#sessions]
      .flatMap(({ subs }) => [...subs.values()])
      .flatMap((sub) => (sub.channel === channel ? [...sub.tickers] : []))
      .sort()
  }

  subscriptions(channel: string): number {
    const all = [...this.#sessions].flatMap(({ subs }) => [...subs.values()])
    return all.filter((sub) => sub.channel === channel).length
  }

  asked(pattern: RegExp): Seen[] {
    return this.requests.filter(({ path }) => pattern.test(path))
  }

  /** The most requests that arrived within any span of this length. */
  most(spanMs: number): number {
    const times = this.requests.map(({ atMs }) => atMs)
    let most = 0
    let from = 0
    times.forEach((time, index) => {
      while (times[from]! <= time - spanMs) from++
      most = Math.max(most, index - from + 1)
    })
    return most
  }

  #wallMs(): number {
    return Math.floor(this.#clock.now() / 1000)
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url!, 'http://venue')
    const path = url.pathname.replace('/trade-api/v2', '')
    this.requests.push({ atMs: this.#clock.monotonicMs(), path, query: url.searchParams })
    if (request.headers['kalshi-access-key'] !== undefined && !this.#isSigned(request)) {
      reply(response, 401, { error: 'signature' })
      return
    }
    if (this.fault === 'hang') return
    if (this.fault !== undefined) {
      reply(response, this.fault, { error: 'on request' })
      return
    }
    const value = this.#resource(path, url.searchParams)
    reply(response, value === undefined ? 404 : 200, value ?? { error: 'not found' })
  }

  #resource(path: string, query: URLSearchParams): object | undefined {
    const [, first, second, third] = path.split('/')
    if (first === 'series') return { series: { ticker: second, title: 'A series', ...SERIES_FEES } }
    if (first === 'events') return { events: this.#events(query), cursor: '' }
    if (first !== 'markets') return undefined
    if (second === 'trades') return { trades: this.#tradesOf(query), cursor: '' }
    if (second === undefined) {
      const cursor = this.repeatsCursor ? 'again' : this.neverEnds ? `c${Math.random()}` : ''
      return { markets: this.#listed(query), cursor }
    }
    const market = this.markets.get(decodeURIComponent(second))
    if (market === undefined) return undefined
    if (third === undefined) return { market: market.fields }
    return { orderbook_fp: { yes_dollars: levels(market.yes), no_dollars: levels(market.no) } }
  }

  #listed(query: URLSearchParams): object[] {
    const tickers = query.get('tickers')?.split(',')
    const series = query.get('series_ticker')
    const words = { unopened: ['initialized'], open: ['active'] }[query.get('status') ?? '']
    return [...this.markets.values()]
      .filter(({ ticker }) => tickers?.includes(ticker) ?? ticker.startsWith(`${series}-`))
      .filter(({ fields }) => words?.includes(String(fields['status'])) ?? true)
      .map(({ fields }) => fields)
  }

  #events(query: URLSearchParams): object[] {
    const series_ticker = query.get('series_ticker')
    return this.#listed(query).map((market) => {
      const { event_ticker } = market as { event_ticker: string }
      return { event_ticker, series_ticker, title: 'An event', markets: [market] }
    })
  }

  #tradesOf(query: URLSearchParams): object[] {
    const since = Number(query.get('min_ts')) * 1000
    const trades = this.markets.get(query.get('ticker') ?? '')?.trades ?? []
    return trades.filter(({ created_time }) => Date.parse(String(created_time)) >= since).reverse()
  }

  #isSigned(request: IncomingMessage): boolean {
    const { headers, method, url } = request
    const text = `${String(headers['kalshi-access-timestamp'])}${method}${url!.split('?')[0]}`
    const isRight =
      headers['kalshi-access-key'] === 'key-1' &&
      verify(
        'sha256',
        Buffer.from(text),
        {
          key: createPublicKey(KEYS.publicKey),
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
        },
        Buffer.from(String(headers['kalshi-access-signature']), 'base64'),
      )
    if (!isRight) this.badSignatures++
    return isRight
  }

  #accept(socket: WebSocket): void {
    const session: Session = { socket, subs: new Map() }
    this.#sessions.add(session)
    socket.on('close', () => this.#sessions.delete(session))
    socket.on('error', () => socket.terminate())
    socket.on('message', (data: Buffer) => {
      const command = JSON.parse(data.toString()) as {
        id: number
        cmd: string
        params: Record<string, unknown>
      }
      this.commands.push(command)
      this.#command(session, command.id, command.cmd, command.params)
    })
  }

  #command(session: Session, id: number, cmd: string, params: Record<string, unknown>): void {
    const { socket, subs } = session
    const send = (message: object): void => socket.send(JSON.stringify(message))
    const tickers = (params['market_tickers'] ?? []) as string[]
    const tooMany = { id, type: 'error', msg: { code: 26, msg: 'market limit' } }
    if (cmd === 'subscribe') {
      const [channel] = params['channels'] as [string]
      if (tickers.length > this.marketLimit) {
        send(tooMany)
        return
      }
      const sid = ++this.#sids
      subs.set(sid, { channel, tickers: new Set(tickers), seq: 0 })
      send({ id, type: 'subscribed', msg: { channel, sid } })
      if (channel === 'orderbook_delta')
        for (const one of tickers) this.#snapshot(session, sid, one)
      return
    }
    const [sid] = params['sids'] as [number]
    const sub = subs.get(sid)
    if (sub === undefined) {
      send({ id, type: 'error', msg: { code: 7, msg: 'Unknown subscription ID' } })
    } else if (cmd === 'unsubscribe') {
      subs.delete(sid)
      send({ id, type: 'unsubscribed', sid, seq: ++sub.seq })
    } else if (params['action'] === 'get_snapshot') {
      if (this.answersSnapshots) for (const one of tickers) this.#snapshot(session, sid, one, id)
    } else if (params['action'] === 'delete_markets') {
      for (const one of tickers) sub.tickers.delete(one)
      send({ id, type: 'ok', sid, seq: ++sub.seq, msg: { market_tickers: [...sub.tickers] } })
    } else if (sub.tickers.size + tickers.length > this.marketLimit) {
      send({ ...tooMany, sid, seq: ++sub.seq })
    } else {
      for (const one of tickers) sub.tickers.add(one)
      send({ id, type: 'ok', sid, seq: ++sub.seq, msg: { market_tickers: [...sub.tickers] } })
      if (sub.channel !== 'orderbook_delta') return
      for (const one of tickers) this.#snapshot(session, sid, one)
    }
  }

  #snapshot({ socket, subs }: Session, sid: number, ticker: string, id?: number): void {
    const market = this.markets.get(ticker)!
    const sub = subs.get(sid)!
    const yes = market.yes.size === 0 ? {} : { yes_dollars_fp: levels(market.yes) }
    const no = market.no.size === 0 ? {} : { no_dollars_fp: levels(market.no) }
    const isSpoiled = this.spoils > 0
    if (isSpoiled) this.spoils--
    const sides = isSpoiled ? { yes_dollars_fp: 'spoiled' } : { ...yes, ...no }
    const msg = { market_ticker: ticker, market_id: 'id', ...sides }
    const seq = ++sub.seq
    if (this.drops.orderbook_snapshot > 0) {
      this.drops.orderbook_snapshot--
      return
    }
    socket.send(
      JSON.stringify({
        type: 'orderbook_snapshot',
        sid,
        seq,
        ...(id !== undefined && { id }),
        msg,
      }),
    )
  }

  #publish(channel: string, type: string, ticker: string | undefined, msg: object): void {
    for (const { socket, subs } of this.#sessions) {
      for (const [sid, sub] of subs) {
        if (sub.channel !== channel || (ticker !== undefined && !sub.tickers.has(ticker))) continue
        const seq = ++sub.seq
        if ((channel === 'orderbook_delta' || channel === 'trade') && this.drops[channel] > 0) {
          this.drops[channel]--
          continue
        }
        socket.send(JSON.stringify({ type, sid, seq, msg }))
      }
    }
  }
}

function levels(side: ReadonlyMap<number, number>): [string, string][] {
  return [...side]
    .sort(([a], [b]) => a - b)
    .map(([price, size]) => [dollars(price), contracts(size)])
}

const dollars = (price: number): string => (price / 10_000).toFixed(4)
const contracts = (size: number): string => (size / 100).toFixed(2)

function reply(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}
