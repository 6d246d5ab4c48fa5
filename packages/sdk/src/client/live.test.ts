import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocketServer, type WebSocket } from 'ws'
import type { StreamMessage, StreamRequest } from '../wire/index.ts'
import {
  createClient,
  type ClientOptions,
  type LiveMessage,
  type LiveOptions,
  type LiveSubscription,
} from './index.ts'

type Subscribe = Extract<StreamRequest, { readonly op: 'subscribe' }>

/** What the server does with one connection. */
type Script = (peer: Peer) => Promise<void> | void

class Peer {
  readonly socket: WebSocket
  readonly protocols: string
  private readonly requests: StreamRequest[] = []
  private wake: (() => void) | undefined

  constructor(socket: WebSocket, protocols: string) {
    this.socket = socket
    this.protocols = protocols
    socket.on('message', (data: Buffer) => {
      this.requests.push(JSON.parse(data.toString()) as StreamRequest)
      this.wake?.()
    })
  }

  send(...messages: readonly object[]): void {
    for (const message of messages) this.socket.send(JSON.stringify(message))
  }

  async next<Op extends StreamRequest['op']>(
    op: Op,
  ): Promise<Extract<StreamRequest, { readonly op: Op }>> {
    for (;;) {
      const request = this.requests.shift()
      if (request !== undefined) {
        expect(request.op).toBe(op)
        return request as Extract<StreamRequest, { readonly op: Op }>
      }
      await new Promise<void>((resolve) => (this.wake = resolve))
    }
  }
}

const servers: WebSocketServer[] = []

afterEach(() => {
  for (const server of servers.splice(0)) {
    for (const socket of server.clients) socket.terminate()
    server.close()
  }
})

const welcome = (heartbeatMs = 5000): object => ({
  type: 'welcome',
  connection: 'c',
  plan: 'quant',
  server_time: 0,
  heartbeat_ms: heartbeatMs,
  limits: { subscriptions: 10, instruments: 10, replays: 1 },
})

/** A server that plays one script a connection, the last one again and again. */
async function serve(
  scripts: readonly Script[],
  options: Partial<ClientOptions> = {},
): Promise<{
  client: ReturnType<typeof createClient>
  connections: () => number
  errors: unknown[]
}> {
  const server = new WebSocketServer({
    port: 0,
    host: '127.0.0.1',
    handleProtocols: (names) => (names.has('priorbook.v3') ? 'priorbook.v3' : false),
  })
  servers.push(server)
  let count = 0
  const errors: unknown[] = []
  server.on('connection', (socket, request) => {
    const script = scripts[Math.min(++count, scripts.length) - 1]!
    const peer = new Peer(socket, request.headers['sec-websocket-protocol'] ?? '')
    Promise.resolve(script(peer)).catch((error: unknown) => {
      errors.push(error)
      socket.terminate()
    })
  })
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createClient({ url, key: 'pb_live_k', retries: 0, ...options })
  return { client, connections: () => count, errors }
}

const MARKET: LiveSubscription = { venue: 'venueb', market_id: 'M' }
const FAST: LiveOptions = { retry: { baseDelayMs: 1, maxDelayMs: 5 } }

function row(sequence: number, more: object = {}): object {
  const head = { id: `venueb:M:${sequence}`, venue: 'venueb', market_id: 'M', token_id: null }
  return { ...head, sequence, received_time: sequence, source_time: null, ...more }
}

const LADDERS = { bids: { price: [0.5], size: [1] }, asks: { price: [], size: [] } }
const CHANGES = { changes: { side: ['bid'], price: [0.5], size: [2] } }

const snapshot = (sequence: number, previous: number | null = null): object => ({
  type: 'snapshot',
  key: 'M',
  sequence,
  previous_sequence: previous,
  row: row(sequence, LADDERS),
})
const update = (sequence: number, previous: number, body: object = LADDERS): object => ({
  type: 'update',
  key: 'M',
  sequence,
  previous_sequence: previous,
  row: row(sequence, body),
})
const trade = (sequence: number, previous: number | null): object => ({
  type: 'trade',
  key: 'M',
  sequence,
  previous_sequence: previous,
  row: { ...row(sequence), id: `venueb:M/trade:${sequence}` },
})
const price = (sequence: number, previous: number | null): object => ({
  type: 'reference',
  key: 'reference/chainlink/BTC',
  sequence,
  previous_sequence: previous,
  row: { venue: 'venuec', feed: 'chainlink', asset: 'BTC', sequence, price: 1 },
})

/** Follows until a message is the last one wanted. */
async function follow(
  client: ReturnType<typeof createClient>,
  isLast: (message: LiveMessage) => boolean,
  options: LiveOptions = FAST,
  subscription: LiveSubscription = MARKET,
): Promise<string[]> {
  const seen: string[] = []
  for await (const message of client.live(subscription, options)) {
    seen.push(show(message))
    if (isLast(message)) break
  }
  return seen
}

function show(message: LiveMessage): string {
  if ('sequence' in message) return `${message.type} ${message.sequence}`
  return message.type === 'disconnected' ? `disconnected ${message.reason}` : message.type
}

const isUpdate =
  (sequence: number) =>
  (message: LiveMessage): boolean =>
    message.type === 'update' && message.sequence === sequence

describe('a live stream', () => {
  it('subscribes with the key as a subprotocol and hands messages on', async () => {
    let asked: Subscribe | undefined
    let protocols = ''
    const { client } = await serve([
      async (peer) => {
        protocols = peer.protocols
        peer.send(welcome())
        asked = await peer.next('subscribe')
        peer.send({ type: 'subscribed', id: asked.id }, snapshot(3), update(4, 3), update(9, 4))
      },
    ])
    const seen = await follow(client, isUpdate(9), FAST, { ...MARKET, mode: 'full', depth: 5 })
    expect(seen).toEqual(['welcome', 'subscribed', 'snapshot 3', 'update 4', 'update 9'])
    expect(asked).toEqual({ op: 'subscribe', id: 'live-1', ...MARKET, mode: 'full', depth: 5 })
    expect(protocols).toMatch(/^priorbook\.v3, ?priorbook\.key\.pb_live_k$/)
  })

  it('reconnects and goes on from the last rows of books and trades', async () => {
    const resumes: unknown[] = []
    const { client } = await serve([
      async (peer) => {
        peer.send(welcome())
        await peer.next('subscribe')
        peer.send(snapshot(3), trade(1, null), update(4, 3), trade(2, 1))
        peer.socket.close(1001, 'shutting_down')
      },
      async (peer) => {
        peer.send(welcome())
        resumes.push((await peer.next('subscribe')).resume)
        peer.send(update(4, 3), update(5, 4), trade(3, 2))
        peer.socket.close(1011)
      },
      async (peer) => {
        peer.send(welcome())
        resumes.push((await peer.next('subscribe')).resume)
        peer.send(update(6, 5))
      },
    ])
    expect(await follow(client, isUpdate(6))).toEqual([
      'welcome',
      'snapshot 3',
      'trade 1',
      'update 4',
      'trade 2',
      'disconnected shutting_down',
      'welcome',
      'update 5',
      'trade 3',
      'disconnected broken',
      'welcome',
      'update 6',
    ])
    expect(resumes).toEqual([
      { M: 4, 'M/trade': 2 },
      { M: 5, 'M/trade': 3 },
    ])
  })

  it('tells of holes that nobody announced, and is silent where the server spoke', async () => {
    const { client } = await serve([
      async (peer) => {
        peer.send(welcome())
        await peer.next('subscribe')
        const resync = {
          type: 'resync',
          key: 'M',
          venue: 'venueb',
          market_id: 'M',
          after_sequence: 8,
          reason: 'slow_reader',
        }
        peer.send(snapshot(3), update(7, 6), update(8, 7), resync, snapshot(20), update(21, 20))
      },
    ])
    expect(await follow(client, isUpdate(21))).toEqual([
      'welcome',
      'snapshot 3',
      'hole 7',
      'update 7',
      'update 8',
      'resync',
      'snapshot 20',
      'update 21',
    ])
  })

  it('tells of reference prices that a slow reader missed', async () => {
    const { client } = await serve([
      async (peer) => {
        peer.send(welcome())
        await peer.next('subscribe_reference')
        peer.send(price(7, null), price(8, 7), price(12, 8), price(13, 12))
      },
    ])
    const isLast = (message: LiveMessage): boolean => show(message) === 'reference 13'
    expect(await follow(client, isLast, FAST, { reference: 'btc' })).toEqual([
      'welcome',
      'reference 7',
      'reference 8',
      'hole 12',
      'reference 12',
      'reference 13',
    ])
  })

  it('goes on with what still comes of a market that has closed, and asks for more after a reconnection', async () => {
    const resumes: unknown[] = []
    const { client } = await serve([
      async (peer) => {
        peer.send(welcome())
        resumes.push((await peer.next('subscribe')).resume)
        const gap = { venue: 'venueb', scope: 'instrument', key: 'M', reason: 'market_closed' }
        peer.send(snapshot(3), { type: 'gap', gap }, update(4, 3, CHANGES), { type: 'gap', gap })
        peer.socket.close()
      },
      async (peer) => {
        peer.send(welcome())
        resumes.push((await peer.next('subscribe')).resume)
        peer.send(snapshot(9), update(10, 9, CHANGES))
      },
    ])
    expect(await follow(client, isUpdate(10))).toEqual([
      'welcome',
      'snapshot 3',
      'gap',
      'update 4',
      'gap',
      'disconnected broken',
      'welcome',
      'snapshot 9',
      'update 10',
    ])
    expect(resumes).toEqual([undefined, { M: 4 }])
  })

  it('asks for a new book when changes of the old one are missing', async () => {
    const resumes: unknown[] = []
    const script: Script = async (peer) => {
      peer.send(welcome())
      resumes.push((await peer.next('subscribe')).resume)
      if (resumes.length === 1) peer.send(snapshot(3), update(4, 3, CHANGES), update(7, 6, CHANGES))
      else peer.send(snapshot(8), update(9, 8, CHANGES))
    }
    const { client } = await serve([script])
    expect(await follow(client, isUpdate(9))).toEqual([
      'welcome',
      'snapshot 3',
      'update 4',
      'hole 7',
      'update 7',
      'disconnected hole',
      'welcome',
      'snapshot 8',
      'update 9',
    ])
    expect(resumes).toEqual([undefined, undefined])
  })

  it('leaves a connection on which nothing comes', async () => {
    const { client } = await serve([
      async (peer) => {
        peer.send(welcome(1))
        await peer.next('subscribe')
        peer.send(snapshot(1))
      },
      async (peer) => {
        peer.send(welcome())
        await peer.next('subscribe')
        peer.send(update(2, 1))
      },
    ])
    expect(await follow(client, isUpdate(2))).toEqual([
      'welcome',
      'snapshot 1',
      'disconnected silent',
      'welcome',
      'update 2',
    ])
  })

  it('does not pile up what nobody takes: it drains, reconnects and resumes', async () => {
    let resume: unknown
    const { client } = await serve([
      async (peer) => {
        peer.send(welcome())
        await peer.next('subscribe')
        peer.send(
          snapshot(1),
          ...Array.from({ length: 200 }, (_, index) => update(index + 2, index + 1)),
        )
      },
      async (peer) => {
        peer.send(welcome())
        const asked = await peer.next('subscribe')
        resume = asked.resume
        const last = asked.resume!['M']!
        peer.send(update(last + 1, last), update(1000, last + 1))
      },
    ])
    const seen: LiveMessage[] = []
    for await (const message of client.live(MARKET, { ...FAST, maxQueue: 50 })) {
      seen.push(message)
      if (seen.length === 2) await new Promise((resolve) => setTimeout(resolve, 200))
      if (isUpdate(1000)(message)) break
    }
    expect(seen.map(show)).toContain('disconnected reader_behind')
    expect(seen.filter(({ type }) => type === 'hole')).toEqual([])
    const rows = seen.flatMap((message) => ('row' in message ? [message] : []))
    const numbers = rows.map((message) => ('sequence' in message ? message.sequence : 0))
    const last = (resume as { M: number }).M
    expect(numbers).toEqual([...Array.from({ length: last + 1 }, (_, index) => index + 1), 1000])
  })

  it('ends quietly with its signal', async () => {
    const controller = new AbortController()
    const { client } = await serve([
      async (peer) => {
        peer.send(welcome())
        await peer.next('subscribe')
        peer.send(snapshot(1))
      },
    ])
    const seen: string[] = []
    for await (const message of client.live(MARKET, { ...FAST, signal: controller.signal })) {
      seen.push(show(message))
      if (message.type === 'snapshot') setTimeout(() => controller.abort(), 10)
    }
    expect(seen).toEqual(['welcome', 'snapshot 1'])
  })

  it('throws what the server will not change its mind about', async () => {
    const closing =
      (code: number): Script =>
      (peer) => {
        peer.send(welcome())
        peer.socket.close(code, 'x')
      }
    for (const [code, reason] of [
      [4401, 'unauthenticated'],
      [4403, 'plan_required'],
      [4410, 'revoked'],
    ] as const) {
      const { client, connections } = await serve([closing(code)])
      const failed = follow(client, () => false)
      await expect(failed).rejects.toMatchObject({
        code: 'stream_refused',
        reason,
        closeCode: code,
      })
      expect(connections()).toBe(1)
    }
    const { client } = await serve([
      async (peer) => {
        peer.send(welcome())
        const { id } = await peer.next('subscribe')
        peer.send({ type: 'error', id, code: 'unknown_market', message: 'no', hint: 'H' })
      },
    ])
    await expect(follow(client, () => false)).rejects.toMatchObject({
      reason: 'unknown_market',
      hint: 'H',
    })
  })

  it('says what the server said before the welcome', async () => {
    const error = { type: 'error', code: 'expired_key', message: 'The key has expired.' }
    const { client } = await serve([
      (peer) => {
        peer.send(error)
        peer.socket.close(4401, 'unauthenticated')
      },
    ])
    await expect(follow(client, () => false)).rejects.toMatchObject({
      reason: 'unauthenticated',
      errorCode: 'expired_key',
      message: 'The key has expired.',
      closeCode: 4401,
    })
  })

  it('comes back after a limit, and while the old connection still counts', async () => {
    const refusing =
      (code: string, closeCode: number): Script =>
      (peer) => {
        peer.send({ type: 'error', code, message: 'not now' })
        peer.socket.close(closeCode)
      }
    const serving: Script = async (peer) => {
      peer.send(welcome())
      const { resume } = await peer.next('subscribe')
      const last = resume?.['M'] ?? 0
      peer.send(last === 0 ? snapshot(1) : update(last + 1, last))
      if (last === 0) peer.socket.close(1001)
    }
    const { client } = await serve([
      serving,
      refusing('too_many_connections', 4403),
      refusing('rate_limited', 4401),
      serving,
    ])
    const seen = await follow(client, isUpdate(2))
    expect(seen.filter((word) => !word.startsWith('disconnected'))).toEqual([
      'welcome',
      'snapshot 1',
      'welcome',
      'update 2',
    ])
    const first = await serve([refusing('too_many_connections', 4403)])
    await expect(follow(first.client, () => false)).rejects.toMatchObject({
      reason: 'plan_required',
      errorCode: 'too_many_connections',
    })
  })

  it('gives up where it is told to', async () => {
    const { client, connections } = await serve([
      async (peer) => {
        peer.send(welcome())
        await peer.next('subscribe')
        peer.socket.terminate()
      },
    ])
    // A connection that lasts longer than the longest wait is none that failed.
    const retry = { baseDelayMs: 1, maxDelayMs: 60_000 }
    const failed = follow(client, () => false, { retry, reconnects: 3 })
    await expect(failed).rejects.toMatchObject({ code: 'network_failed' })
    expect(connections()).toBe(4)
  })

  it('says by REST why nothing can be reached', async () => {
    const client = createClient({ url: 'http://127.0.0.1:9', key: 'pb_live_k', retries: 0 })
    await expect(follow(client, () => false)).rejects.toMatchObject({ code: 'network_failed' })
  })

  it('is not disturbed by nonsense', async () => {
    const { client } = await serve([
      async (peer) => {
        peer.send(welcome())
        await peer.next('subscribe')
        peer.socket.send('{')
        peer.socket.send(Buffer.from([1, 2]))
        peer.socket.send('null')
        peer.send({ type: 'news', of: 'later versions' }, snapshot(1), update(2, 1))
      },
    ])
    expect(await follow(client, isUpdate(2))).toEqual(['welcome', 'news', 'snapshot 1', 'update 2'])
  })
})

describe('a replay over the socket', () => {
  const of = (message: object): object => ({ ...message, replay: 'replay' })
  const state = (word: string, more: object = {}): object =>
    of({ type: 'replay_state', state: word, time: 0, ...more })
  const RANGE = { markets: [MARKET], start_time: 0, end_time: new Date(1) }

  it('ends with the proof of its rows', async () => {
    let asked: unknown
    const { client } = await serve([
      async (peer) => {
        peer.send(welcome())
        asked = await peer.next('replay')
        peer.send(state('started'), of(snapshot(1)), of(update(2, 1)))
        peer.send(state('finished', { rows: 3 }))
      },
    ])
    const seen: string[] = []
    const failed = (async () => {
      for await (const message of client.socketReplay(RANGE)) seen.push(message.type)
    })()
    await expect(failed).rejects.toMatchObject({ code: 'incomplete_replay' })
    expect(seen).toEqual(['replay_state', 'snapshot', 'update', 'replay_state'])
    expect(asked).toEqual({
      op: 'replay',
      id: 'replay',
      markets: [MARKET],
      start_time: 0,
      end_time: '1970-01-01T00:00:00.001Z',
      speed: 'max',
    })
  })

  it('pauses the server while its own loop is slow, and says nothing of it', async () => {
    const ops: string[] = []
    const rows = 30_000
    const arrived = Promise.withResolvers<void>()
    const { client } = await serve([
      async (peer) => {
        peer.socket.on('message', (data: Buffer) => {
          ops.push((JSON.parse(data.toString()) as StreamRequest).op)
        })
        peer.send(welcome())
        await peer.next('replay')
        for (let index = 1; index <= rows; index++) peer.send(of(update(index, index - 1)))
        // The answer comes when all before it has arrived.
        peer.socket.ping()
        peer.socket.once('pong', () => setTimeout(arrived.resolve, 100))
        await peer.next('pause')
        peer.send(state('paused'))
        await peer.next('resume')
        peer.send(state('running'), state('stopped'))
      },
    ])
    const seen: string[] = []
    for await (const message of client.socketReplay(RANGE)) {
      if (seen.length === 0) await arrived.promise
      seen.push(message.type === 'replay_state' ? message.state : message.type)
    }
    expect(ops).toEqual(['replay', 'pause', 'resume'])
    expect(seen).toHaveLength(rows + 1)
    expect(seen.at(-1)).toBe('stopped')
  })

  it('is steered, and stops', async () => {
    const { client } = await serve([
      async (peer) => {
        peer.send(welcome())
        await peer.next('replay')
        peer.send(state('started'))
        await peer.next('pause')
        peer.send(state('paused'))
        expect(await peer.next('seek')).toMatchObject({ time: 5 })
        peer.send(state('sought'))
        await peer.next('resume')
        peer.send(state('running'))
        await peer.next('stop')
        peer.send(state('stopped'))
      },
    ])
    const replay = client.socketReplay(RANGE)
    const seen: string[] = []
    for await (const message of replay) {
      if (message.type !== 'replay_state') continue
      seen.push(message.state)
      if (message.state === 'started') replay.pause()
      if (message.state === 'paused') replay.seek(5)
      if (message.state === 'sought') replay.resume()
      if (message.state === 'running') replay.stop()
    }
    expect(seen).toEqual(['started', 'paused', 'sought', 'running', 'stopped'])
  })

  it('says when it broke off', async () => {
    const { client } = await serve([
      async (peer) => {
        peer.send(welcome())
        await peer.next('replay')
        peer.send(of(snapshot(1)))
        peer.socket.close(1001, 'shutting_down')
      },
    ])
    const failed = (async () => {
      const seen: StreamMessage[] = []
      for await (const message of client.socketReplay(RANGE)) seen.push(message)
    })()
    await expect(failed).rejects.toThrow(/shutting_down/)
  })
})
