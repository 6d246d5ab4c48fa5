import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { WebSocketServer, type WebSocket } from 'ws'
import { bookMessage, clobMarket, gammaMarket, type Draft } from './fixtures.testing.ts'
import { printRoundSlug } from './fields.ts'

/** A round of the fake venue: what Gamma says of it, and its two tokens. */
export type FakeRound = { readonly id: string; readonly tokens: [string, string]; gamma: Draft }

/** Opens the fake venue on a free port; its rounds follow the given wall clock, in milliseconds. */
export async function openFakeVenue(nowMs: () => number): Promise<FakeVenue> {
  const venue = new FakeVenue(nowMs)
  await venue.listen()
  return venue
}

/** A real HTTP and WebSocket server that speaks as much of venue C as its connector's tests need. */
export class FakeVenue {
  readonly rounds: FakeRound[] = []
  /** Books by token; one that is not here is not known to CLOB. */
  readonly books = new Map<string, Draft>()
  /** Tokens whose books the socket does not send when they are subscribed. */
  readonly mute = new Set<string>()
  /** Messages of clients, by connection in order of arrival. */
  readonly heard: (string | Draft)[][] = []
  /** Paths with queries, in order of arrival. */
  readonly requests: URL[] = []
  /** Tokens whose books were requested together with others, in order. */
  readonly polled: string[] = []
  /** How many of the next requests for a book fail with 500. */
  bookFailures = 0
  readonly #nowMs: () => number
  readonly #server = createServer((request, response) => void this.#answer(request, response))
  readonly #sockets = new WebSocketServer({ server: this.#server, path: '/ws/market' })
  readonly #clients = new Set<WebSocket>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
    this.#sockets.on('connection', (client) => this.#connect(client))
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve)
    })
  }

  get bases(): { readonly gammaBase: string; readonly clobBase: string; readonly wsUrl: string } {
    const { port } = this.#server.address() as AddressInfo
    const host = `127.0.0.1:${port}`
    const http = `http://${host}`
    return { gammaBase: `${http}/gamma`, clobBase: `${http}/clob`, wsUrl: `ws://${host}/ws/market` }
  }

  /** Adds a round that starts in `startsInMs` and lasts `lastsMs`. */
  addRound(startsInMs: number, lastsMs: number, asset = 'BTC'): FakeRound {
    const index = this.rounds.length + 1
    const startMs = this.#nowMs() + startsInMs
    const id = `0x${String(index).padStart(64, '0')}`
    const tokens: [string, string] = [`${index}0000001`, `${index}0000002`]
    const gamma = gammaMarket({
      conditionId: id,
      id: String(index),
      slug: printRoundSlug(asset, '5m', Math.floor(startMs / 1000)),
      eventStartTime: new Date(startMs).toISOString(),
      endDate: new Date(startMs + lastsMs).toISOString(),
      clobTokenIds: JSON.stringify(tokens),
    })
    for (const token of tokens) {
      this.books.set(token, bookMessage({ market: id, asset_id: token, timestamp: '1' }))
    }
    const round = { id, tokens, gamma }
    this.rounds.push(round)
    return round
  }

  send(frame: unknown): void {
    this.sendText(JSON.stringify(frame))
  }

  sendText(text: string): void {
    for (const client of this.#clients) client.send(text)
  }

  /** Cuts every connection. */
  cut(): void {
    for (const client of this.#clients) client.terminate()
  }

  async close(): Promise<void> {
    this.cut()
    this.#sockets.close()
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
    })
  }

  #connect(client: WebSocket): void {
    const words: (string | Draft)[] = []
    this.heard.push(words)
    this.#clients.add(client)
    client.on('close', () => this.#clients.delete(client))
    client.on('error', () => undefined)
    client.on('message', (data: Buffer) => {
      const text = data.toString()
      if (text === 'PING') {
        words.push(text)
        client.send('PONG')
        return
      }
      const command = JSON.parse(text) as Draft
      words.push(command)
      if (command['operation'] === 'unsubscribe') return
      const found = (command['assets_ids'] as string[]).flatMap((token) =>
        this.mute.has(token) ? [] : (this.books.get(token) ?? []),
      )
      if (found.length > 0) client.send(JSON.stringify(found))
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://fake')
    this.requests.push(url)
    const [status, body] =
      request.method === 'POST' ? [200, this.#manyBooks(await text(request))] : this.#route(url)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }

  // CLOB /books: a request for several tokens.
  #manyBooks(body: string): unknown {
    const tokens = (JSON.parse(body) as { token_id: string }[]).map(({ token_id: token }) => token)
    this.polled.push(...tokens)
    return tokens.flatMap((token) => this.books.get(token) ?? [])
  }

  #route({ pathname, searchParams }: URL): [number, unknown] {
    if (pathname === '/gamma/markets') return [200, this.#listMarkets(searchParams)]
    if (pathname === '/clob/book') {
      if (this.bookFailures > 0) {
        this.bookFailures--
        return [500, { error: 'later' }]
      }
      const book = this.books.get(searchParams.get('token_id') ?? '')
      return book === undefined ? [404, { error: 'No orderbook exists' }] : [200, book]
    }
    const round = this.rounds.find(({ id }) => pathname === `/clob/markets/${id}`)
    return round === undefined ? [404, { error: 'market not found' }] : [200, toClob(round)]
  }

  #listMarkets(query: URLSearchParams): unknown {
    const ids = query.getAll('condition_ids')
    const slug = query.get('slug')
    const closed = query.get('closed') ?? 'false'
    const from = query.get('end_date_min')
    const to = query.get('end_date_max')
    const offset = Number(query.get('offset') ?? 0)
    return this.rounds
      .map(({ gamma }) => gamma)
      .filter((market) => slug === null || market['slug'] === slug)
      .filter((market) => ids.length === 0 || ids.includes(market['conditionId'] as string))
      .filter((market) => slug !== null || String(market['closed']) === closed)
      .filter(({ endDate }) => from === null || String(endDate) >= from)
      .filter(({ endDate }) => to === null || String(endDate) <= to)
      .slice(offset, offset + 100)
  }
}

function toClob({ id, tokens, gamma }: FakeRound): Draft {
  const winner = gamma['closed'] === true ? 1 : -1
  return clobMarket({
    condition_id: id,
    closed: gamma['closed'],
    tokens: tokens.map((token_id, index) => ({
      token_id,
      outcome: index === 0 ? 'Up' : 'Down',
      winner: index === winner,
    })),
  })
}
