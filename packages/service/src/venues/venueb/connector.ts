import { PriorbookError, type Json, type MarketRecord } from '@priorbook/sdk/domain'
import type { Connector, ConnectorContext, ConnectorStatus } from '../capture/contract.ts'
import type { NativeObject } from '../capture/fields.ts'
import { createQuota } from '../capture/quota.ts'
import { createRest } from '../capture/rest.ts'
import { toBudget } from './budget.ts'
import { createDiscovery } from './discovery.ts'
import { createEndings } from './endings.ts'
import { createFollowed } from './followed.ts'
import { isLifecycle, normalizeLifecycle } from './lifecycle.ts'
import { isObject } from './market-fields.ts'
import { partition } from './partition.ts'
import { createPoller } from './poller.ts'
import { createSigner, type Signer } from './signing.ts'
import { createStream, type Stream } from './stream.ts'
import { supervise } from './supervise.ts'

/** Where venue B is, who asks, and what to record. */
export type VenueBOptions = {
  /** Such as `https://api.elections.kalshi.com/trade-api/v2`. */
  readonly restBase: string
  /** Such as `wss://external-api-ws.kalshi.com/trade-api/ws/v2`. */
  readonly wsUrl: string
  readonly keyId?: string
  /** PEM text; never logged, never journaled. */
  readonly privateKey?: string
  /** Tickers of the series to record. */
  readonly series: readonly string[]
  /** The read budget of the account's tier: Basic has 200 tokens a second, and a request costs 10. */
  readonly quota: { readonly tokensPerSecond: number; readonly costPerRequest: number }
  /** Levels per side of polled books; 0 or absent: all. */
  readonly depth?: number
  /** Scales the periods of markets (not those of the network); 1 unless the venue is emulated. */
  readonly speed?: number
  /** More markets than this are polled beside the socket. */
  readonly socketMarkets?: number
}

const SLOT = 1
const SOCKET_MARKETS = 2_000
const TICK_MS = 100
// Polling steps in for a socket that is away longer than a reconnect takes.
const GRACE_MS = 1_500

// At speed 1. Listings come well before the opening, and a round lasts 15 minutes.
const LISTING_MS = 10_000
const EVENTS_MS = 60_000
const SERIES_MS = 3_600_000
const LEAD_MS = 120_000
/** The empty book after the close comes within seconds. */
const LINGER_MS = 15_000
// How far back trades of a market are asked for that is found late.
const HISTORY_MS = 3_600_000
const FIRST_CHECK_MS = 1_000
const MAX_CHECK_MS = 300_000
const REFUSED_MS = 300_000
const BOOKS = { minIntervalMs: 1_000, maxIntervalMs: 120_000, closingMs: 300_000 }
const TRADES = { minIntervalMs: 5_000, maxIntervalMs: 600_000, closingMs: 300_000 }

/** Creates the live part of venue B: socket where credentials allow it, adaptive polling for the rest. */
export function createVenueBConnector(
  options: VenueBOptions,
  context: ConnectorContext,
): Connector {
  const { series, speed = 1, depth = 0, socketMarkets = SOCKET_MARKETS } = options
  const { sink, log } = context
  const { tokensPerSecond, costPerRequest: cost } = options.quota
  const scaled = (ms: number): number => ms / speed
  const quota = createQuota({ limit: tokensPerSecond, windowMs: 1000 })
  const followed = createFollowed(scaled(LEAD_MS), scaled(FIRST_CHECK_MS))
  const inSeries = (ticker: unknown): boolean =>
    typeof ticker === 'string' && series.some((name) => ticker.startsWith(`${name}-`))
  let state: 'starting' | 'running' | 'stopped' = 'starting'
  let credentials: 'none' | 'given' | 'refused' = 'none'
  let areBooksRefused = false
  let awaySince: number | undefined
  /** When a market left the socket or was found: from then on its trades are asked for. */
  const sinceOf = new Map<string, number>()

  const signer = readSigner()
  const basePath = new URL(options.restBase).pathname.replace(/\/$/, '')
  const rest = createRest({
    base: options.restBase,
    quota,
    sink,
    log,
    sign: ({ method = 'GET', path }) =>
      signer === undefined || credentials === 'refused'
        ? {}
        : { headers: signer.headers(method, basePath + path, sink.now() / 1000) },
  })
  const asking = { rest, sink, log, cost }

  const perSecond = tokensPerSecond / cost
  const { listingMs, bookRate, tradeRate } = toBudget(perSecond, series.length, scaled(LISTING_MS))

  const onMarkets = (records: readonly MarketRecord[], name: string | undefined): void => {
    const now = sink.now() / 1000
    for (const record of records) {
      if (record.statusNative === 'finalized') sinceOf.delete(record.marketId)
      followed.update(record, now, name)
    }
  }
  const discovery = createDiscovery({
    ...asking,
    series,
    intervalMs: listingMs,
    eventsMs: Math.max(scaled(EVENTS_MS), listingMs * 6),
    seriesMs: Math.max(scaled(SERIES_MS), listingMs * 60),
    onMarkets,
    onListing(tickers, name) {
      const now = sink.now() / 1000
      // Trading, by what we know, and no longer listed: it may have closed early.
      for (const market of followed.all) {
        if (market.series !== name || tickers.has(market.ticker)) continue
        if (followed.stage(market, now) !== 'over') followed.suspect(market.ticker, now)
      }
    },
  })
  const endings = createEndings({
    ...asking,
    followed,
    maxWaitMs: scaled(MAX_CHECK_MS),
    tickMs: Math.max(50, scaled(500)),
    onMarkets,
  })
  const poller = createPoller({
    ...asking,
    depth,
    books: scalePlan(BOOKS, speed),
    trades: scalePlan(TRADES, speed),
    onUnauthorized() {
      if (areBooksRefused) return
      areBooksRefused = true
      log.error({ keyId: options.keyId }, 'venue B gives no books without valid credentials')
    },
  })
  poller.rates(bookRate, tradeRate)
  const stream = signer === undefined ? undefined : openStream(signer)

  function readSigner(): Signer | undefined {
    const { keyId = '', privateKey = '' } = options
    if (keyId === '' || privateKey === '') {
      log.warn({}, 'no credentials for venue B: books and trades are polled under the quota')
      return undefined
    }
    try {
      const made = createSigner(keyId, privateKey)
      credentials = 'given'
      return made
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      credentials = 'refused'
      log.error({ keyId }, `${error.message}: books and trades are polled under the quota`)
      return undefined
    }
  }

  function openStream(by: Signer): Stream {
    return createStream({
      url: options.wsUrl,
      slot: SLOT,
      signer: by,
      sink,
      log,
      refusedMs: scaled(REFUSED_MS),
      isOurs: (msg) =>
        followed.get(String(msg['market_ticker'])) !== undefined ||
        inSeries(msg['market_ticker']) ||
        inSeries(msg['event_ticker']) ||
        series.includes(String(msg['series_ticker'])),
      onOpen() {
        credentials = 'given'
        share()
      },
      onLife: heedLife,
      onTradesMissed(tickers, sinceMs) {
        for (const ticker of tickers) poller.backfill(ticker, sinceMs)
      },
      onRefused(status) {
        if (credentials !== 'refused') {
          log.error(
            { status, keyId: options.keyId },
            'venue B refused the credentials: books and trades are polled under the quota',
          )
        }
        credentials = 'refused'
      },
    })
  }

  function heedLife(message: NativeObject | undefined): void {
    const now = sink.now() / 1000
    if (!isLifecycle(message)) {
      // A new event, a changed fee, or messages that were lost: the listing knows.
      discovery.hurry()
      return
    }
    let record: MarketRecord
    try {
      record = normalizeLifecycle(message, { received: sink.now(), journal: 0 }).record
    } catch (error) {
      if (error instanceof PriorbookError) return
      throw error
    }
    const market = followed.get(record.marketId)
    // What the message does not say, such as the series, comes from the catalogue.
    if (market === undefined) discovery.hurry()
    else if (record.statusNative === 'finalized') followed.suspect(record.marketId, now)
    else followed.update(record, now)
  }

  /** Gives the socket its markets and the poller the rest; never both the same. */
  function share(): void {
    const isConnected = stream?.connected === true
    if (isConnected) awaySince = undefined
    else awaySince ??= performance.now()
    const isAway = awaySince !== undefined && performance.now() - awaySince > GRACE_MS
    const { socket, polled } = partition({
      followed,
      nowMs: sink.now() / 1000,
      stream: isConnected ? stream : undefined,
      isPolling: stream === undefined || credentials === 'refused' || isAway || isConnected,
      socketMarkets,
      lingerMs: scaled(LINGER_MS),
      historyMs: scaled(HISTORY_MS),
      sinceOf,
    })
    // First no more polls, then the socket: a book under way would overwrite a newer one.
    poller.follow(polled)
    if (isConnected) stream.want(new Set(socket.filter((ticker) => !poller.isBusy(ticker))))
  }

  function describe(): Pick<ConnectorStatus, 'state' | 'detail'> {
    if (state === 'stopped') return { state, detail: 'stopped' }
    if (!discovery.isHealthy) return { state: 'degraded', detail: 'markets cannot be listed' }
    if (!discovery.isStarted) return { state: 'starting', detail: 'listing markets' }
    const out = poller.outages === 0 ? '' : `, ${poller.outages} of them without answer`
    if (credentials !== 'given') {
      const why = credentials === 'none' ? 'no credentials' : 'the credentials were refused'
      return { state: 'no_credentials', detail: `${why}: markets are polled${out}` }
    }
    if (stream?.connected !== true) return { state: 'degraded', detail: 'no socket' }
    if (out !== '') return { state: 'degraded', detail: `polled markets${out}` }
    return { state: 'recording', detail: 'books and trades by socket' }
  }

  return {
    venue: 'venueb',
    async run(signal) {
      state = 'running'
      const now = sink.now() / 1000
      for (const { marketId, native } of context.unresolved) {
        followed.resume(marketId, now, seriesOf(native))
      }
      share()
      const timer = setInterval(share, TICK_MS)
      try {
        const parts = { discovery, endings, poller, ...(stream !== undefined && { stream }) }
        await Promise.all(
          Object.entries(parts).map(([name, part]) =>
            supervise(name, (until) => part.run(until), log, signal),
          ),
        )
      } finally {
        clearInterval(timer)
        state = 'stopped'
      }
    },
    recover(instruments) {
      const keys = instruments.map(({ key }) => key)
      for (const key of keys) poller.hurry(key)
      stream?.recover(keys)
    },
    status() {
      const { connected = false, subscriptions = 0, lastFrame } = stream ?? {}
      const socket = { slot: SLOT, connected, subscriptions }
      return {
        venue: 'venueb',
        ...describe(),
        markets: followed.size,
        sockets:
          stream === undefined ? [] : [lastFrame === undefined ? socket : { ...socket, lastFrame }],
        quota: {
          limit: quota.limit,
          windowMs: quota.windowMs,
          used: quota.used,
          refused: quota.refusals,
        },
      }
    },
  }
}

function scalePlan<Plan extends Readonly<Record<string, number>>>(plan: Plan, speed: number): Plan {
  return Object.fromEntries(
    Object.entries(plan).map(([name, ms]) => [name, ms / speed]),
  ) as unknown as Plan
}

// What an earlier run kept of the market's event, as the catalogue gave it.
function seriesOf(native: Json): string | undefined {
  const event = isObject(native) ? native['event'] : undefined
  const name = isObject(event) ? event['series_ticker'] : undefined
  return typeof name === 'string' ? name : undefined
}
