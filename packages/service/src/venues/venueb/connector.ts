import {
  PriorbookError,
  type CaptureTier,
  type GapReason,
  type Instrument,
  type Json,
  type MarketRecord,
} from '@priorbook/sdk/domain'
import { SYSTEM_CLOCK, type Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/wait.ts'
import type {
  CaptureRequest,
  Connector,
  ConnectorContext,
  ConnectorStatus,
  UnresolvedMarket,
} from '../capture/contract.ts'
import { isObject, type NativeObject } from '../capture/fields.ts'
import { recordsOf } from '../capture/followed-markets.ts'
import { PassPace } from '../capture/pass-pace.ts'
import { createQuota, type Quota } from '../capture/quota.ts'
import { createRest, type Rest } from '../capture/rest.ts'
import { WALK_PATIENCE, withRetries } from '../capture/retries.ts'
import { supervise } from '../capture/scheduler.ts'
import { seriesOfRules } from '../capture/selection/rules.ts'
import { lastWalkMs } from '../capture/selection/last-walk.ts'
import {
  hasBooks,
  rulesNumber,
  Selection,
  type SelectionOptions,
  type SurveyedMarket,
} from '../capture/selection/selection.ts'
import { noteLeftSockets, noteTier } from '../capture/selection/note-tier.ts'
import { tellSelection, toFollowed } from '../capture/selection/told.ts'
import { UnfollowedBooks } from '../capture/unfollowed-books.ts'
import { SeriesDiscovery, type Discovery } from './discovery.ts'
import { VenueBMarkets, type VenueBMarket } from './markets.ts'
import { contextOf, normalizeCatalogAnswer } from './catalog.ts'
import { partition } from './partition.ts'
import { Poller, toBudget } from './polling.ts'
import { ResolutionChecks } from './resolution.ts'
import { createSigner, type Signer } from './signing.ts'
import { VenueBSocket } from './socket.ts'
import { VenueBSockets } from './sockets.ts'
import { VenueWalk } from './venue-walk.ts'

/** How venue B is reached, with which credentials, and what to record. */
export type VenueBOptions = {
  /** Such as `https://api.elections.kalshi.com/trade-api/v2`. */
  readonly restBase: string
  /** Such as `wss://external-api-ws.kalshi.com/trade-api/ws/v2`. */
  readonly wsUrl: string
  readonly keyId?: string
  /** PEM text; never logged, never journaled. */
  readonly privateKey?: string
  /** Which markets are recorded, and how. */
  readonly selection: SelectionOptions
  /** The read budget of the account's tier: Basic has 200 tokens per second, and a request costs 10. */
  readonly quota: { readonly tokensPerSecond: number; readonly costPerRequest: number }
  /** Levels per side of polled books; 0 or absent: all. */
  readonly depth?: number
  /** Scales the periods of markets (not those of the network); 1 unless the venue is emulated. */
  readonly speed?: number
  /** Max markets per socket. */
  readonly socketMarkets?: number
}

const SOCKET_MARKETS = 2_000
const SHARE_OUT_MS = 100

// At speed 1. Markets are listed well before they open, and a round lasts 15 minutes.
const LISTING_MS = 10_000
const EVENTS_MS = 60_000
const SERIES_MS = 3_600_000
const WALK_MS = 3_600_000
const REVIEW_MS = 60_000
const LEAD_MS = 120_000
/** How long the socket keeps a closed market: its last, empty book comes within seconds. */
const LINGER_MS = 15_000
/** How far back trades are requested for a market that was never on the socket. */
const HISTORY_MS = 3_600_000
const FIRST_CHECK_MS = 1_000
/** The time between the checks of two markets of an earlier run. */
const RESUMED_CHECK_MS = 10
const MAX_CHECK_MS = 300_000
const REFUSED_MS = 300_000
const BOOKS = { minIntervalMs: 1_000, maxIntervalMs: 120_000, closingMs: 300_000 }
const TRADES = { minIntervalMs: 5_000, maxIntervalMs: 600_000, closingMs: 300_000 }

/** The connector of venue B: a socket where credentials allow it, polling for the rest. */
export class VenueBConnector implements Connector {
  readonly venue = 'venueb'
  readonly #options: VenueBOptions
  readonly #context: Omit<ConnectorContext, 'unresolved'>
  #unresolved: readonly UnresolvedMarket[]
  readonly #unfollowed: UnfollowedBooks
  readonly #clock: Clock
  readonly #speed: number
  readonly #quota: Quota
  readonly #rest: Rest
  readonly #signer: Signer | undefined
  readonly #markets: VenueBMarkets
  #discovery: Discovery
  #discoveryStop = new AbortController()
  readonly #resolution: ResolutionChecks
  readonly #poller: Poller
  readonly #sockets: VenueBSockets | undefined
  readonly #selection: Selection
  /** The series of all markets that are recorded; undefined where any market may be. */
  #series: readonly string[] | undefined
  #selected: SelectionOptions
  readonly #listingMs: number
  /** When each market was last on the socket (wall time): its trades are polled from then on. */
  readonly #onSocketMs = new Map<string, number>()
  #isStopped = false
  #credentials: 'none' | 'valid' | 'refused' = 'none'
  #areBooksRefused = false
  readonly #sharing = new PassPace()

  constructor(options: VenueBOptions, context: ConnectorContext) {
    this.#options = options
    const { unresolved, ...rest } = context
    this.#context = rest
    this.#unresolved = unresolved
    this.#unfollowed = new UnfollowedBooks(context.sink)
    this.#clock = context.clock ?? SYSTEM_CLOCK
    this.#speed = options.speed ?? 1
    const { tokensPerSecond, costPerRequest } = options.quota
    this.#quota = createQuota({ limit: tokensPerSecond, windowMs: 1000 }, this.#clock)
    this.#signer = this.#createSigner()
    this.#rest = this.#createRest(costPerRequest)
    this.#markets = new VenueBMarkets(this.#scaled(LEAD_MS), this.#scaled(FIRST_CHECK_MS))
    const rate = tokensPerSecond / costPerRequest
    this.#selected = this.#bounded(options.selection)
    this.#series = seriesOfRules(this.#selected.rules)
    this.#selection = new Selection(this.#selected)
    const budget = toBudget(rate, this.#series?.length ?? 1, this.#scaled(LISTING_MS))
    this.#listingMs = budget.listingMs
    this.#discovery = this.#createDiscovery(
      lastWalkMs(context.walked, this.#selected, this.#nowMs()),
    )
    this.#resolution = this.#createResolution()
    this.#poller = this.#createPoller(budget.bookRate, budget.tradeRate)
    this.#sockets = this.#signer === undefined ? undefined : this.#createSockets(this.#signer)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log } = this.#context
    this.resume(this.#unresolved)
    this.#unresolved = []
    this.#followPinned()
    this.#shareOut()
    const timer = this.#clock.setInterval(() => this.#shareOutIfDue(), SHARE_OUT_MS)
    const reviews = this.#clock.setInterval(() => this.#review(), this.#scaled(REVIEW_MS))
    const parts = {
      discovery: { run: (until: AbortSignal) => this.#runDiscovery(until) },
      resolution: this.#resolution,
      polling: this.#poller,
      ...(this.#sockets !== undefined && { sockets: this.#sockets }),
    }
    try {
      await Promise.all(
        Object.entries(parts).map(([name, part]) =>
          supervise(`venue B: ${name}`, (until) => part.run(until), log, signal, this.#clock),
        ),
      )
    } finally {
      timer.cancel()
      reviews.cancel()
      this.#isStopped = true
    }
  }

  recover(instruments: readonly Instrument[], _reason: GapReason): void {
    const keys = instruments.map(({ key }) => key)
    for (const key of keys) this.#poller.hurry(key)
    this.#sockets?.recover(keys)
  }

  resume(unresolved: readonly UnresolvedMarket[]): void {
    const nowMs = this.#nowMs()
    let checkMs = nowMs
    for (const { marketId, native, facts } of unresolved) {
      if (facts === undefined) {
        this.#markets.resume(marketId, nowMs, seriesOf(native))
        continue
      }
      if (this.#markets.get(marketId) !== undefined) continue
      this.#selection.adopt(facts, activityOf(facts, native), nowMs)
      // All of them at once would take the whole quota.
      this.#markets.adopt({ ...facts, native: {} }, nowMs, (checkMs += RESUMED_CHECK_MS))
    }
    this.#review()
  }

  select(selection: SelectionOptions): void {
    this.#selected = this.#bounded(selection)
    this.#selection.change(this.#selected)
    this.#sockets?.setBound(this.#selected.bounds.full)
    this.#series = seriesOfRules(this.#selected.rules)
    this.#review()
    this.#followPinned()
    // What was not selected before was not kept, so everything is listed again.
    this.#discovery = this.#createDiscovery(undefined)
    this.#discoveryStop.abort()
  }

  // Without credentials books are polled, whatever tier they have.
  #bounded(selection: SelectionOptions): SelectionOptions {
    if (this.#signer !== undefined) return selection
    const { full, polled } = selection.bounds
    return { ...selection, bounds: { full: Math.min(full, polled), polled } }
  }

  // Lists by series do not have the markets of others, so pinned ones are asked for by name.
  #followPinned(): void {
    for (const ticker of this.#selected.pinned) {
      this.#markets.resume(ticker, this.#nowMs(), undefined)
    }
  }

  async survey(signal: AbortSignal): Promise<Iterable<SurveyedMarket>> {
    const stop = new AbortController()
    const running = this.#discover(AbortSignal.any([signal, stop.signal]))
    while (!signal.aborted && !this.#discovery.isStarted)
      await sleep(SURVEY_MS, signal, this.#clock)
    stop.abort()
    await running
    this.#selection.review(this.#nowMs(), () => true)
    return this.#selection.survey()
  }

  status(): ConnectorStatus {
    const { limit, windowMs, used, refusals } = this.#quota
    return {
      venue: 'venueb',
      ...this.#state(),
      markets: this.#markets.size,
      tiers: this.#selection.counts,
      sockets: this.#sockets?.status ?? [],
      quota: { limit, windowMs, used, refused: refusals },
    }
  }

  async #runDiscovery(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#discoveryStop = new AbortController()
      await this.#discover(AbortSignal.any([signal, this.#discoveryStop.signal]))
    }
  }

  // A call in flight fails when it is stopped.
  async #discover(signal: AbortSignal): Promise<void> {
    try {
      await this.#discovery.run(signal)
    } catch (error) {
      if (!signal.aborted) throw error
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
    if (this.#sockets?.areConnected !== true) return { state: 'degraded', detail: 'no socket' }
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

  #createDiscovery(walkedMs: number | undefined): Discovery {
    return this.#series === undefined
      ? this.#createWalk(walkedMs)
      : this.#createSeriesDiscovery(this.#series)
  }

  #createWalk(walkedMs: number | undefined): Discovery {
    const { sink, log } = this.#context
    return new VenueWalk({
      rest: withRetries(this.#rest, WALK_PATIENCE, this.#clock),
      log,
      sink,
      clock: this.#clock,
      walkMs: this.#scaled(WALK_MS),
      recentMs: this.#listingMs,
      walkedMs,
      rules: rulesNumber(this.#selected),
      tell: (request, value, of) => this.#tell(request, value, of),
      isKnown: (marketId) => this.#selection.tierOf(marketId) !== undefined,
      onMarkets: (records) => this.#updateMarkets(records, undefined),
      onWalked: (tickers) => this.#suspectUnlisted(tickers, undefined),
    })
  }

  #createSeriesDiscovery(series: readonly string[]): Discovery {
    const marketsMs = this.#listingMs
    return new SeriesDiscovery({
      rest: this.#rest,
      log: this.#context.log,
      clock: this.#clock,
      series,
      marketsMs,
      eventsMs: Math.max(this.#scaled(EVENTS_MS), marketsMs * 6),
      seriesMs: Math.max(this.#scaled(SERIES_MS), marketsMs * 60),
      onMarkets: (records, series) => this.#updateMarkets(records, series),
      tell: (request, value) => this.#tell(request, value, 'all'),
      onListing: (tickers, name) => this.#suspectUnlisted(tickers, name),
    })
  }

  // A market that should trade and is not listed any more may have closed early.
  #suspectUnlisted(tickers: ReadonlySet<string>, series: string | undefined): void {
    const nowMs = this.#nowMs()
    for (const market of this.#markets) {
      if (tickers.has(market.marketId)) continue
      if (series !== undefined && market.series !== series) continue
      if (this.#markets.stageOf(market, nowMs) === 'over') continue
      this.#markets.suspect(market.marketId, nowMs)
    }
  }

  /** Decides about the markets of an answer, and says so in its request. */
  #tell(request: CaptureRequest, value: unknown, of: 'all' | 'known'): CaptureRequest | undefined {
    const at = { received: this.#context.sink.now(), journal: 0 }
    const nowMs = this.#nowMs()
    let records: MarketRecord[]
    try {
      records = recordsOf(normalizeCatalogAnswer(value, at, contextOf(request)))
    } catch (error) {
      // The recorder puts a malformed answer into quarantine.
      if (!(error instanceof PriorbookError)) throw error
      return request
    }
    return tellSelection(request, records, (record) => {
      const { marketId } = record
      if (of === 'known' && this.#selection.tierOf(marketId) === undefined) return UNKNOWN
      const decision = this.#selection.judge(record, activityOf(record, record.native), nowMs)
      return toFollowed(decision, this.#markets.get(marketId) !== undefined)
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

  #createSockets(signer: Signer): VenueBSockets {
    const { log } = this.#context
    return new VenueBSockets({
      clock: this.#clock,
      perSocket: this.#options.socketMarkets ?? SOCKET_MARKETS,
      markets: this.#options.selection.bounds.full,
      create: (slot) => this.#createSocket(signer, slot),
      supervise: (socket, slot, signal) =>
        supervise(
          `venue B: socket ${slot}`,
          (until) => socket.run(until),
          log,
          signal,
          this.#clock,
        ),
    })
  }

  #createSocket(signer: Signer, slot: number): VenueBSocket {
    const { log, sink } = this.#context
    const { wsUrl, keyId } = this.#options
    return new VenueBSocket({
      url: wsUrl,
      slot,
      hasLifecycles: slot === 1,
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
    if (this.#series === undefined) return this.#isHeard(msg)
    const series = this.#series
    const isOfSeries = (ticker: unknown): boolean =>
      typeof ticker === 'string' && series.some((name) => ticker.startsWith(`${name}-`))
    return (
      this.#markets.get(String(msg['market_ticker'])) !== undefined ||
      isOfSeries(msg['market_ticker']) ||
      isOfSeries(msg['event_ticker']) ||
      series.includes(String(msg['series_ticker']))
    )
  }

  // A market that is not known yet is looked up; the message itself is not kept, for it may be any market's.
  #isHeard(msg: NativeObject): boolean {
    const ticker = String(msg['market_ticker'])
    if (this.#markets.get(ticker) !== undefined) return true
    const { additional_metadata: more, event_type: type } = msg
    const event = isObject(more) ? more['event_ticker'] : msg['event_ticker']
    if (type === 'created' && typeof event === 'string') this.#discovery.hurry(event)
    return false
  }

  #updateMarkets(records: readonly MarketRecord[], series: string | undefined): void {
    const nowMs = this.#nowMs()
    for (const record of records) {
      if (record.statusNative === 'finalized') {
        this.#onSocketMs.delete(record.marketId)
        this.#selection.forget([record.marketId])
      }
      this.#markets.update(record, nowMs, series)
      this.#decideUnlisted(record, nowMs)
    }
  }

  // A market that no list named: its record came by its name alone.
  #decideUnlisted(record: MarketRecord, nowMs: number): void {
    const { marketId, native } = record
    if (this.#selection.tierOf(marketId) !== undefined) return
    const decision = this.#selection.judge(record, activityOf(record, native), nowMs)
    if (decision === undefined || decision.tier === 'none') return
    const { sink, log } = this.#context
    noteTier({ ...decision, markets: [marketId] }, sink, log)
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

  /** Says which markets are recorded in another tier from now on, and reads those that were not before. */
  #review(): void {
    const { log, sink } = this.#context
    const isFollowed = (id: string): boolean => this.#markets.get(id) !== undefined
    for (const change of this.#selection.review(this.#nowMs(), isFollowed)) {
      for (const id of change.markets) {
        if (change.tier === 'none' || isFollowed(id)) continue
        this.#discovery.hurry(this.#selection.factsOf(id)?.eventTicker)
      }
      const followed = change.markets.filter(isFollowed)
      noteTier({ ...change, markets: followed }, sink, log)
      if (change.tier === 'polled') {
        noteLeftSockets(
          followed.filter((key) => this.#sockets?.holds(key)),
          sink,
        )
      }
    }
  }

  #tierOf({ marketId }: VenueBMarket): CaptureTier {
    return this.#selection.tierOf(marketId) ?? 'none'
  }

  #shareOutIfDue(): void {
    const isDue = this.#sharing.isDue(this.#markets.size, this.#clock.monotonicMs())
    if (isDue || this.#sockets?.haveRoomAgain() === true) this.#shareOut()
  }

  /** Gives the sockets their markets and the poller the rest; never the same market to both. */
  #shareOut(): void {
    this.#sharing.begin(this.#markets.size, this.#clock.monotonicMs())
    const sockets = this.#credentials === 'refused' ? undefined : this.#sockets
    sockets?.look(this.#selection.counts.full)
    const { subscribed, muted, polled, waiting, over } = partition({
      markets: this.#markets,
      nowMs: this.#nowMs(),
      tierOf: (market) => this.#tierOf(market),
      orderOf: ({ marketId }) => this.#selection.openingOrderOf(marketId),
      sockets,
      lingerMs: this.#scaled(LINGER_MS),
      historyMs: this.#scaled(HISTORY_MS),
      onSocketMs: this.#onSocketMs,
    })
    // Polls end before a socket starts: a polled book in flight would overwrite a newer one.
    this.#poller.follow(polled)
    const polledKeys = polled.map(({ key }) => key)
    this.#closeUnfollowed(new Set([...subscribed, ...waiting, ...polledKeys]))
    const carried = new Set([...subscribed, ...waiting])
    sockets?.carry(carried, new Set(muted), (key) => !this.#poller.isBusy(key))
    if (this.#selection.forget(over)) this.#review()
  }

  #closeUnfollowed(followed: ReadonlySet<string>): void {
    const isFollowed = (key: string): boolean =>
      followed.has(key) || this.#sockets?.holds(key) === true || this.#poller.isBusy(key)
    const unfollowed = [...this.#markets].filter(({ marketId }) => !isFollowed(marketId))
    this.#unfollowed.check(
      unfollowed.map((market) => ({
        market,
        keys: [market.marketId],
        isSelected: hasBooks(this.#tierOf(market)),
      })),
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

const SURVEY_MS = 50
const UNKNOWN = { tier: 'none', why: 'its event is not known' } as const

// Contracts of the last day; where the venue does not say, of the market's whole life.
function activityOf({ volume }: Pick<MarketRecord, 'volume'>, native: Json): number {
  const market = isObject(native) ? native['market'] : undefined
  const day = isObject(market) ? Number(market['volume_24h_fp'] ?? NaN) : NaN
  return Number.isFinite(day) ? day : Number(volume ?? 0)
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
