import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer, type WebSocket } from 'ws'
import type { Json } from '@priorbook/sdk/domain'
import { SYSTEM_CLOCK, type Clock } from '../../lib/clock.ts'
import type { CaptureLog } from '../capture/contract.ts'
import { createTestSink as createSink, type TestSink } from '../capture/sink.testing.ts'
import type { Draft } from './fixtures.testing.ts'
import { createVenueANormalizer } from './normalize.ts'

/** A small upstream of venue A on loopback, and a sink that keeps what a connector gives it. */

/** The credentials that the upstream accepts. */
export const KEY = { apiKey: 'test-key', apiSecret: 'test-secret' } as const

/** One request as the upstream saw it. */
type Seen = {
  readonly path: string
  readonly query: URLSearchParams
  readonly atMs: number
}

/** What the upstream answers; tests replace single functions. */
export type Script = {
  list(query: URLSearchParams): unknown
  detail(topicId: string): unknown
  book(marketId: string, tokenId: string): unknown
  lastTrade(marketId: string): unknown
  /** A status other than 200 is sent as it is. */
  refuse(seen: Seen): { readonly status: number; readonly body: unknown } | undefined
  refuseSocket(): number | undefined
  /** How far the venue's clock is ahead of ours. */
  skewMs: number
}

/** The upstream with everything that was requested of it. */
export type TestUpstream = {
  readonly restBase: string
  readonly wsUrl: string
  readonly script: Script
  readonly seen: Seen[]
  /** Signatures, keys and times that were wrong. */
  readonly faults: string[]
  /** Topics in the addresses of sockets, and the commands that came on them. */
  readonly opened: string[][]
  readonly commands: Draft[]
  /** Sends a frame to all sockets. */
  push(frame: unknown): void
  disconnect(): void
  readonly sockets: number
  close(): Promise<void>
}

/** Starts an upstream that knows no market yet. */
export async function openTestUpstream(
  script: Partial<Script> = {},
  clock: Clock = SYSTEM_CLOCK,
): Promise<TestUpstream> {
  const nowMs = (): number => Math.floor(clock.now() / 1000)
  const complete: Script = {
    list: () => ({ marketTopics: [], total: 0, offset: 0, limit: 100, hasMore: false }),
    detail: () => ({ code: -1130, msg: 'no such topic' }),
    book: (_marketId, tokenId) => ({ tokenId, timestamp: nowMs(), bids: [], asks: [] }),
    lastTrade: (marketId) => ({ marketId: Number(marketId), lastTradePrice: '0.5' }),
    refuse: () => undefined,
    refuseSocket: () => undefined,
    skewMs: 0,
    ...script,
  }
  const seen: Seen[] = []
  const faults: string[] = []
  const opened: string[][] = []
  const commands: Draft[] = []
  const server = createServer((request, response) => {
    const { path, text, query } = parts(request)
    const one = { path, query, atMs: clock.monotonicMs() }
    seen.push(one)
    const refusal = complete.refuse(one)
    if (refusal === undefined) {
      faults.push(...faultsOf(request, text, 'as sent', nowMs() + complete.skewMs))
    }
    response.writeHead(refusal?.status ?? 200, {
      'content-type': 'application/json',
      date: new Date(nowMs() + complete.skewMs).toUTCString(),
    })
    response.end(JSON.stringify(refusal === undefined ? answer(complete, one) : refusal.body))
  })
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    const { text, query } = parts(request)
    const status = complete.refuseSocket()
    if (status !== undefined) {
      socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\n\r\n`)
      return
    }
    faults.push(...faultsOf(request, text, 'sorted', nowMs() + complete.skewMs))
    sockets.handleUpgrade(request, socket, head, (client: WebSocket) => {
      opened.push((query.get('topic') ?? '').split('|'))
      client.on('message', (data: Buffer) => {
        const command = JSON.parse(data.toString()) as Draft
        commands.push(command)
        const { command: subType } = command
        client.send(JSON.stringify({ type: 'COMMAND', data: 'SUCCESS', subType, code: '00000000' }))
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    restBase: `http://127.0.0.1:${port}/sapi/v1/w3w/wallet/prediction`,
    wsUrl: `ws://127.0.0.1:${port}/sapi/wss`,
    script: complete,
    seen,
    faults,
    opened,
    commands,
    push(frame) {
      for (const client of sockets.clients) client.send(JSON.stringify(frame))
    },
    disconnect() {
      for (const client of sockets.clients) client.terminate()
    },
    get sockets() {
      return sockets.clients.size
    },
    async close() {
      for (const client of sockets.clients) client.terminate()
      sockets.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function parts(request: IncomingMessage): { path: string; text: string; query: URLSearchParams } {
  const url = request.url ?? ''
  const [path = '', text = ''] = url.split('?', 2)
  return {
    path: path.replace('/sapi/v1/w3w/wallet/prediction', ''),
    text,
    query: new URLSearchParams(text),
  }
}

// An implementation of its own, so that it does not repeat a mistake of the code under test.
function faultsOf(
  request: IncomingMessage,
  text: string,
  order: 'as sent' | 'sorted',
  venueMs: number,
): string[] {
  const faults: string[] = []
  if (request.headers['x-mbx-apikey'] !== KEY.apiKey) faults.push('key')
  const [signed = '', signature] = text.split('&signature=')
  const expected = createHmac('sha256', KEY.apiSecret).update(signed).digest('hex')
  if (signature !== expected) faults.push(`signature of ${text}`)
  const names = signed.split('&').map((pair) => pair.split('=', 1)[0]!)
  if (order === 'sorted' && names.join() !== [...names].sort().join()) faults.push('order')
  const timestamp = Number(new URLSearchParams(text).get('timestamp'))
  if (Math.abs(timestamp - venueMs) > 10_000) faults.push(`timestamp ${timestamp}`)
  return faults
}

function answer(script: Script, { path, query }: Seen): unknown {
  const marketId = query.get('marketId') ?? ''
  switch (path) {
    case '/market/list':
      return script.list(query)
    case '/market/detail':
      return script.detail(query.get('marketTopicId') ?? '')
    case '/order-book':
      return script.book(marketId, query.get('tokenId') ?? '')
    case '/order-book/last-trade-price':
      return script.lastTrade(marketId)
    default:
      return { code: -1, msg: `no route ${path}` }
  }
}

/** Creates a sink on the wall clock, or on the clock of a test. */
export function createTestSink(clock?: Clock): TestSink {
  return createSink(createVenueANormalizer(), clock && (() => clock.now()))
}

/** A log that keeps its errors. */
export function createTestLog(): CaptureLog & { readonly errors: string[] } {
  const errors: string[] = []
  return {
    errors,
    info: () => undefined,
    warn: () => undefined,
    error: (_fields, message) => void errors.push(message),
  }
}

/** A round with topic `id` and market `id` + 1,000, from `startMs` to `endMs` after now. */
export function roundObject(
  id: number,
  startMs: number,
  endMs: number,
  changes: { readonly topic?: Draft; readonly market?: Draft } = {},
  now = Date.now(),
): { [key: string]: Json } {
  return JSON.parse(
    JSON.stringify({
      marketTopicId: id,
      vendor: 'PREDICT_FUN',
      chainId: '56',
      slug: `btc-updown-15m-${id}`,
      title: `Round ${id}`,
      symbol: 'BTCUSDT',
      publishedAt: now - 60_000,
      startDate: now + startMs,
      endDate: now + endMs,
      status: 'REGISTERED',
      markets: [
        {
          marketId: id + 1000,
          externalId: String(id),
          status: 'REGISTERED',
          tradingStatus: 'OPEN',
          outcomes: [
            { name: 'Up', price: '0.5', chance: '0.5', index: 0, tokenId: `${id}01` },
            { name: 'Down', price: '0.5', chance: '0.5', index: 1, tokenId: `${id}02` },
          ],
          ...changes.market,
        },
      ],
      ...changes.topic,
    }),
  ) as { [key: string]: Json }
}
