import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer, type WebSocket } from 'ws'
import { bookMessage, clobMarket, gammaMarket, type Draft } from './fixtures.testing.ts'
import { printRoundSlug } from './rounds.ts'

/** A round of the fake venue: what Gamma says of it, and its two tokens. */
export type FakeRound = { readonly id: string; readonly tokens: [string, string]; gamma: Draft }

/** A real HTTP and WebSocket server that speaks as much of venue C as its connector's tests need. */
export interface FakeVenue {
  readonly bases: { readonly gammaBase: string; readonly clobBase: string; readonly wsUrl: string }
  readonly rounds: FakeRound[]
  /** Adds a round that starts in `startsInMs` and lasts `lastsMs`. */
  addRound(startsInMs: number, lastsMs: number, asset?: string): FakeRound
  /** Books by token; one that is not here is not known to CLOB. */
  readonly books: Map<string, Draft>
  /** Tokens whose books the socket does not send when they are subscribed. */
  readonly mute: Set<string>
  /** Messages of clients, by connection in order of arrival. */
  readonly heard: (string | Draft)[][]
  /** Paths with queries, in order of arrival. */
  readonly requests: URL[]
  /** How many of the next requests for a book fail with 500. */
  bookFailures: number
  send(frame: unknown): void
  sendText(text: string): void
  /** Cuts every connection. */
  cut(): void
  close(): Promise<void>
}

/** Opens the fake venue on a free port; its rounds follow the given wall clock, in milliseconds. */
export async function openFakeVenue(nowMs: () => number): Promise<FakeVenue> {
  const books = new Map<string, Draft>()
  const mute = new Set<string>()
  const heard: (string | Draft)[][] = []
  const requests: URL[] = []
  const rounds: FakeRound[] = []
  const server = createServer((request, response) => answer(request, response))
  const sockets = new WebSocketServer({ server, path: '/ws/market' })
  const clients = new Set<WebSocket>()

  sockets.on('connection', (client) => {
    const words: (string | Draft)[] = []
    heard.push(words)
    clients.add(client)
    client.on('close', () => clients.delete(client))
    client.on('error', () => undefined)
    client.on('message', (data: Buffer) => {
      const text = data.toString()
      if (text === 'PING') {
        words.push(text)
        client.send('PONG')
        return
      }
      const said = JSON.parse(text) as Draft
      words.push(said)
      if (said['operation'] === 'unsubscribe') return
      const found = (said['assets_ids'] as string[]).flatMap((token) =>
        mute.has(token) ? [] : (books.get(token) ?? []),
      )
      if (found.length > 0) client.send(JSON.stringify(found))
    })
  })

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://fake')
    requests.push(url)
    const [status, body] = route(url)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }

  function route(url: URL): [number, unknown] {
    const { pathname, searchParams } = url
    if (pathname === '/gamma/markets') return [200, listMarkets(searchParams)]
    if (pathname === '/clob/book') {
      if (venue.bookFailures > 0) {
        venue.bookFailures--
        return [500, { error: 'later' }]
      }
      const book = books.get(searchParams.get('token_id') ?? '')
      return book === undefined ? [404, { error: 'No orderbook exists' }] : [200, book]
    }
    const round = rounds.find(({ id }) => pathname === `/clob/markets/${id}`)
    return round === undefined ? [404, { error: 'market not found' }] : [200, toClob(round)]
  }

  function listMarkets(query: URLSearchParams): unknown {
    const ids = query.getAll('condition_ids')
    const slug = query.get('slug')
    const closed = query.get('closed') ?? 'false'
    const from = query.get('end_date_min')
    const to = query.get('end_date_max')
    const offset = Number(query.get('offset') ?? 0)
    return rounds
      .map(({ gamma }) => gamma)
      .filter((market) => slug === null || market['slug'] === slug)
      .filter((market) => ids.length === 0 || ids.includes(market['conditionId'] as string))
      .filter((market) => slug !== null || String(market['closed']) === closed)
      .filter(({ endDate }) => from === null || String(endDate) >= from)
      .filter(({ endDate }) => to === null || String(endDate) <= to)
      .slice(offset, offset + 100)
  }

  const venue: FakeVenue = {
    bases: await listen(),
    rounds,
    addRound(startsInMs, lastsMs, asset = 'BTC') {
      const index = rounds.length + 1
      const startMs = nowMs() + startsInMs
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
        books.set(token, bookMessage({ market: id, asset_id: token, timestamp: '1' }))
      }
      const round = { id, tokens, gamma }
      rounds.push(round)
      return round
    },
    books,
    mute,
    heard,
    requests,
    bookFailures: 0,
    send(frame) {
      for (const client of clients) client.send(JSON.stringify(frame))
    },
    sendText(text) {
      for (const client of clients) client.send(text)
    },
    cut() {
      for (const client of clients) client.terminate()
    },
    async close() {
      for (const client of clients) client.terminate()
      sockets.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
    },
  }
  return venue

  async function listen(): Promise<FakeVenue['bases']> {
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    const { port } = server.address() as AddressInfo
    const host = `127.0.0.1:${port}`
    const http = `http://${host}`
    return { gammaBase: `${http}/gamma`, clobBase: `${http}/clob`, wsUrl: `ws://${host}/ws/market` }
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
