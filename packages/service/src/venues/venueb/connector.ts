import {
  PriorbookError,
  type GapReason,
  type Instrument,
  type Json,
  type MarketRecord,
} from '@priorbook/sdk/domain'
import { SYSTEM_CLOCK, type Clock } from '../../lib/clock.ts'
import type {
  Connector,
  ConnectorContext,
  ConnectorStatus,
  UnresolvedMarket,
} from '../capture/contract.ts'
import { isObject, type NativeObject } from '../capture/fields.ts'
import { createQuota, type Quota } from '../capture/quota.ts'
import { createRest, type Rest } from '../capture/rest.ts'
import { supervise } from '../capture/scheduler.ts'
import { UnfollowedBooks } from '../capture/unfollowed-books.ts'
import { Discovery, VenueBMarkets } from './markets.ts'
import { Poller, toBudget, type TradedMarket } from './polling.ts'
import { ResolutionChecks } from './resolution.ts'
import { createSigner, type Signer } from './signing.ts'
import { VenueBSocket } from './socket.ts'

/** How venue B is reached, with which credentials, and what to record. */
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
  /** The read budget of the account's tier: Basic has 200 tokens per second, and a request costs 10. */
  readonly quota: { readonly tokensPerSecond: number; readonly costPerRequest: number }
  /** Levels per side of polled books; 0 or absent: all. */
  readonly depth?: number
  /** Scales the periods of markets (not those of the network); 1 unless the venue is emulated. */
  readonly speed?: number
  /** Max markets on the socket; the others are polled. */
  readonly socketMarkets?: number
}

const SLOT = 1
const SOCKET_MARKETS = 2_000
const SHARE_OUT_MS = 100
/** Polling replaces a socket that has been away for longer than a reconnect takes. */
const RECONNECT_MS = 1_500

// At speed 1. Markets are listed well before they open, and a round lasts 15 minutes.
const LISTING_MS = 10_000
const EVENTS_MS = 60_000
const SERIES_MS = 3_600_000
const LEAD_MS = 120_000
/** How long the socket keeps a closed market: its last, empty book comes within seconds. */
const LINGER_MS = 15_000
/** How far back trades are requested for a market that was never on the socket. */
const HISTORY_MS = 3_600_000
const FIRST_CHECK_MS = 1_000
const MAX_CHECK_MS = 300_000
const REFUSED_MS = 300_000
const BOOKS = { minIntervalMs: 1_000, maxIntervalMs: 120_000, closingMs: 300_000 }
const TRADES = { minIntervalMs: 5_000, maxIntervalMs: 600_000, closingMs: 300_000 }

/** The connector of venue B: a socket where credentials allow it, polling for the rest. */
export class VenueBConnector implements Connector {
  readonly venue = 'venueb'
  readonly #options: VenueBOptions
  readonly #context: ConnectorContext
  readonly #unfollowed: UnfollowedBooks
  readonly #clock: Clock
  readonly #speed: number
  readonly #quota: Quota
  readonly #rest: Rest
  readonly #signer: Signer | undefined
  readonly #markets: VenueBMarkets
  readonly #discovery: Discovery
  readonly #resolution: ResolutionChecks
  readonly #poller: Poller
  readonly #socket: VenueBSocket | undefined
  /** When each market was last on the socket (wall time): its trades are polled from then on. */
  readonly #onSocketMs = new Map<string, number>()
  #isStopped = false
  #credentials: 'none' | 'valid' | 'refused' = 'none'
  #areBooksRefused = false
  #awaySinceMs: number | undefined

  constructor(options: VenueBOptions, context: ConnectorContext) {
    this.#options = options
    this.#context = context
    this.#unfollowed = new UnfollowedBooks(context.sink)
    this.#clock = context.clock ?? SYSTEM_CLOCK
    this.#speed = options.speed ?? 1
    const { tokensPerSecond, costPerRequest } = options.quota
    this.#quota = createQuota({ limit: tokensPerSecond, windowMs: 1000 }, this.#clock)
    this.#signer = this.#createSigner()
    this.#rest = this.#createRest(costPerRequest)
    this.#markets = new VenueBMarkets(this.#scaled(LEAD_MS), this.#scaled(FIRST_CHECK_MS))
    const rate = tokensPerSecond / costPerRequest
    const budget = toBudget(rate, options.series.length, this.#scaled(LISTING_MS))
    this.#discovery = this.#createDiscovery(budget.listingMs)
    this.#resolution = this.#createResolution()
    this.#poller = this.#createPoller(budget.bookRate, budget.tradeRate)
    this.#socket = this.#signer === undefined ? undefined : this.#createSocket(this.#signer)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log, unresolved } = this.#context
    this.resume(unresolved)
    this.#shareOut()
    const timer = this.#clock.setInterval(() => this.#shareOut(), SHARE_OUT_MS)
    const parts = {
      discovery: this.#discovery,
      resolution: this.#resolution,
      polling: this.#poller,
      ...(this.#socket !== undefined && { socket: this.#socket }),
    }
    try {
      await Promise.all(
        Object.entries(parts).map(([name, part]) =>
          supervise(`venue B: ${name}`, (until) => part.run(until), log, signal, this.#clock),
        ),
      )
    } finally {
      timer.cancel()
      this.#isStopped = true
    }
  }

  recover(instruments: readonly Instrument[], _reason: GapReason): void {
    const keys = instruments.map(({ key }) => key)
    for (const key of keys) this.#poller.hurry(key)
    this.#socket?.recover(keys)
  }

  resume(unresolved: readonly UnresolvedMarket[]): void {
    for (const { marketId, native } of unresolved) {
      this.#markets.resume(marketId, this.#nowMs(), seriesOf(native))
    }
  }

  status(): ConnectorStatus {
    const { limit, windowMs, used, refusals } = this.#quota
    return {
      venue: 'venueb',
      ...this.#state(),
      markets: this.#markets.size,
      sockets: this.#socket === undefined ? [] : [statusOf(this.#socket)],
      quota: { limit, windowMs, used, refused: refusals },
    }
  }

  #state(): Pick<ConnectorStatus, 'state' | 'detail'> {
    if (this.#isStopped) return { state: 'stopped', detail: 'stopped' }
    if (!this.#discovery.isHealthy) return { state: 'degraded', detail: 'markets cannot be listed' }
    if (!this.#discovery.isStarted) return { state: 'starting', detail: 'listing markets' }
    const { outages } = this.#poller
    const out = outages === 0 ? '' : `, ${outages} of them without answer`
    if (this.#credentials !== 'valid') {
      const why = this.#credentials === 'none' ? 'no credentials' : 'the credentials were refused'
      return { state: 'no_credentials', detail: `${why}: markets are polled${out}` }
    }
    if (this.#socket?.connected !== true) return { state: 'degraded', detail: 'no socket' }
    if (out !== '') return { state: 'degraded', detail: `polled markets${out}` }
    return { state: 'recording', detail: 'books and trades by socket' }
  }

  #createSigner(): Signer | undefined {
    const { keyId = '', privateKey = '' } = this.#options
    const { log } = this.#context
    if (keyId === '' || privateKey === '') {
      log.warn({}, 'no credentials for venue B: books and trades are polled under the quota')
      return undefined
    }
    try {
      const signer = createSigner(keyId, privateKey)
      this.#credentials = 'valid'
      return signer
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      this.#credentials = 'refused'
      log.error({ keyId }, `${error.message}: books and trades are polled under the quota`)
      return undefined
    }
  }

  #createRest(cost: number): Rest {
    const { sink, log } = this.#context
    const { restBase } = this.#options
    const basePath = new URL(restBase).pathname.replace(/\/$/, '')
    return createRest({
      base: restBase,
      quota: this.#quota,
      cost,
      sink,
      log,
      sign: ({ method = 'GET', path }) =>
        this.#signer === undefined || this.#credentials === 'refused'
          ? {}
          : { headers: this.#signer.headers(method, basePath + path, this.#nowMs()) },
    })
  }

  #createDiscovery(marketsMs: number): Discovery {
    return new Discovery({
      rest: this.#rest,
      log: this.#context.log,
      clock: this.#clock,
      series: this.#options.series,
      marketsMs,
      eventsMs: Math.max(this.#scaled(EVENTS_MS), marketsMs * 6),
      seriesMs: Math.max(this.#scaled(SERIES_MS), marketsMs * 60),
      onMarkets: (records, series) => this.#updateMarkets(records, series),
      onListing: (tickers, series) => {
        const nowMs = this.#nowMs()
        // A market that should trade and is not listed any more may have closed early.
        for (const market of this.#markets) {
          if (market.series !== series || tickers.has(market.marketId)) continue
          if (this.#markets.stageOf(market, nowMs) === 'over') continue
          this.#markets.suspect(market.marketId, nowMs)
        }
      },
    })
  }

  #createResolution(): ResolutionChecks {
    return new ResolutionChecks({
      rest: this.#rest,
      log: this.#context.log,
      sink: this.#context.sink,
      clock: this.#clock,
      markets: this.#markets,
      maxWaitMs: this.#scaled(MAX_CHECK_MS),
      tickMs: Math.max(50, this.#scaled(500)),
      onMarkets: (records, series) => this.#updateMarkets(records, series),
    })
  }

  #createPoller(bookRate: number, tradeRate: number): Poller {
    const { log, sink } = this.#context
    const { depth = 0, keyId } = this.#options
    return new Poller({
      rest: this.#rest,
      log,
      sink,
      clock: this.#clock,
      depth,
      books: scalePlan(BOOKS, this.#speed),
      trades: scalePlan(TRADES, this.#speed),
      bookRate,
      tradeRate,
      onUnauthorized: () => {
        if (this.#areBooksRefused) return
        this.#areBooksRefused = true
        log.error({ keyId }, 'venue B gives no books without valid credentials')
      },
    })
  }

  #createSocket(signer: Signer): VenueBSocket {
    const { log, sink } = this.#context
    const { wsUrl, keyId } = this.#options
    return new VenueBSocket({
      url: wsUrl,
      slot: SLOT,
      signer,
      sink,
      log,
      clock: this.#clock,
      refusedMs: this.#scaled(REFUSED_MS),
      isRecorded: (msg) => this.#isRecorded(msg),
      onOpen: () => {
        this.#credentials = 'valid'
        this.#shareOut()
      },
      onLifecycle: (record) => this.#applyLifecycle(record),
      onTradesMissed: (tickers, sinceMs) => {
        for (const ticker of tickers) this.#poller.backfill(ticker, sinceMs)
      },
      onRefused: (status) => {
        if (this.#credentials !== 'refused') {
          const message =
            'venue B refused the credentials: books and trades are polled under the quota'
          log.error({ status, keyId }, message)
        }
        this.#credentials = 'refused'
      },
    })
  }

  #isRecorded(msg: NativeObject): boolean {
    const { series } = this.#options
    const isOfSeries = (ticker: unknown): boolean =>
      typeof ticker === 'string' && series.some((name) => ticker.startsWith(`${name}-`))
    return (
      this.#markets.get(String(msg['market_ticker'])) !== undefined ||
      isOfSeries(msg['market_ticker']) ||
      isOfSeries(msg['event_ticker']) ||
      series.includes(String(msg['series_ticker']))
    )
  }

  #updateMarkets(records: readonly MarketRecord[], series: string | undefined): void {
    const nowMs = this.#nowMs()
    for (const record of records) {
      if (record.statusNative === 'finalized') this.#onSocketMs.delete(record.marketId)
      this.#markets.update(record, nowMs, series)
    }
  }

  #applyLifecycle(record: MarketRecord | undefined): void {
    // A new event, a changed fee or lost messages.
    if (record === undefined) this.#discovery.hurry()
    else if (this.#markets.get(record.marketId) === undefined) {
      // Lists have only markets that trade or will trade, so one that was never listed is asked for by name.
      this.#markets.hear(record, this.#nowMs())
      this.#discovery.hurry()
    } else if (record.statusNative === 'finalized') {
      this.#markets.suspect(record.marketId, this.#nowMs())
    } else {
      this.#markets.update(record, this.#nowMs())
    }
  }

  /** Gives the socket its markets and the poller the rest; never the same market to both. */
  #shareOut(): void {
    const socket = this.#socket
    const isConnected = socket?.connected === true
    if (isConnected) this.#awaySinceMs = undefined
    else this.#awaySinceMs ??= this.#clock.monotonicMs()
    const awayMs =
      this.#awaySinceMs === undefined ? 0 : this.#clock.monotonicMs() - this.#awaySinceMs
    const isPolling =
      socket === undefined ||
      this.#credentials === 'refused' ||
      awayMs > RECONNECT_MS ||
      isConnected
    const { subscribed, polled } = partition({
      markets: this.#markets,
      nowMs: this.#nowMs(),
      socket: isConnected ? socket : undefined,
      isPolling,
      socketMarkets: this.#options.socketMarkets ?? SOCKET_MARKETS,
      lingerMs: this.#scaled(LINGER_MS),
      historyMs: this.#scaled(HISTORY_MS),
      onSocketMs: this.#onSocketMs,
    })
    // Polls end before the socket starts: a polled book in flight would overwrite a newer one.
    this.#poller.follow(polled)
    if (isPolling) this.#closeUnfollowed(new Set([...subscribed, ...polled.map(({ key }) => key)]))
    if (!isConnected) return
    socket.want(new Set(subscribed.filter((ticker) => !this.#poller.isBusy(ticker))))
  }

  #closeUnfollowed(followed: ReadonlySet<string>): void {
    const isFollowed = (key: string): boolean =>
      followed.has(key) || this.#socket?.holds(key) === true || this.#poller.isBusy(key)
    const unfollowed = [...this.#markets].filter(({ marketId }) => !isFollowed(marketId))
    this.#unfollowed.check(
      unfollowed.map((market) => ({ market, keys: [market.marketId] })),
      this.#nowMs(),
    )
  }

  #scaled(ms: number): number {
    return ms / this.#speed
  }

  #nowMs(): number {
    return this.#context.sink.steadyNow() / 1000
  }
}

/** What decides whether the socket or the poller brings a market. */
export type PartitionInput = {
  readonly markets: VenueBMarkets
  readonly nowMs: number
  /** Absent while no socket is connected. */
  readonly socket: Pick<VenueBSocket, 'holds' | 'isMuted'> | undefined
  /** False while a reconnect is expected. */
  readonly isPolling: boolean
  readonly socketMarkets: number
  readonly lingerMs: number
  readonly historyMs: number
  /** When each market was last on the socket; updated here. */
  readonly onSocketMs: Map<string, number>
}

/** The markets of the socket, and the markets to poll with the time from which trades are unknown. */
export type Partition = {
  readonly subscribed: readonly string[]
  readonly polled: readonly TradedMarket[]
}

const FAR_MS = Number.MAX_SAFE_INTEGER

/**
 * Divides the markets, giving the soonest-closing ones to the socket. A market that the socket still
 * holds is never polled: a polled book would overwrite the book that the socket's changes apply to.
 */
export function partition(input: PartitionInput): Partition {
  const { markets, nowMs, socket, onSocketMs } = input
  const subscribed: string[] = []
  const polled: TradedMarket[] = []
  const byClose = [...markets].sort((a, b) => (a.closeMs ?? FAR_MS) - (b.closeMs ?? FAR_MS))
  for (const market of byClose) {
    const { marketId: key, openMs = 0, closeMs = FAR_MS } = market
    const stage = markets.stageOf(market, nowMs)
    const isLingering = stage === 'over' && nowMs < closeMs + input.lingerMs && closeMs !== FAR_MS
    if (stage === 'early' || (stage === 'over' && !isLingering)) {
      onSocketMs.delete(key)
      continue
    }
    const hasRoom = subscribed.length < input.socketMarkets
    if (socket !== undefined && !socket.isMuted(key) && hasRoom) {
      subscribed.push(key)
      onSocketMs.set(key, nowMs)
      continue
    }
    if (socket?.holds(key) === true || !input.isPolling || isLingering || nowMs < openMs) continue
    const sinceMs = onSocketMs.get(key) ?? Math.max(openMs, nowMs - input.historyMs)
    polled.push({ key, sinceMs, ...(closeMs !== FAR_MS && { closesInMs: closeMs - nowMs }) })
  }
  return { subscribed, polled }
}

function statusOf({
  connected,
  subscriptions,
  lastFrame,
}: VenueBSocket): ConnectorStatus['sockets'][number] {
  const socket = { slot: SLOT, connected, subscriptions }
  return lastFrame === undefined ? socket : { ...socket, lastFrame }
}

function scalePlan<Plan extends Readonly<Record<string, number>>>(plan: Plan, speed: number): Plan {
  return Object.fromEntries(
    Object.entries(plan).map(([name, ms]) => [name, ms / speed]),
  ) as unknown as Plan
}

// From the event that an earlier run recorded with the market.
function seriesOf(native: Json): string | undefined {
  const event = isObject(native) ? native['event'] : undefined
  const name = isObject(event) ? event['series_ticker'] : undefined
  return typeof name === 'string' ? name : undefined
}
