import {
  PriorbookError,
  type CaptureDecision,
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
  Reading,
  UnresolvedMarket,
} from '../capture/contract.ts'
import { isObject } from '../capture/fields.ts'
import { recordsOf } from '../capture/followed-markets.ts'
import { PassPace } from '../capture/pass-pace.ts'
import { createQuota, type Quota, type QuotaOptions } from '../capture/quota.ts'
import { createRest, type Rest } from '../capture/rest.ts'
import { WALK_PATIENCE, withRetries } from '../capture/retries.ts'
import { repeat } from '../capture/scheduler.ts'
import { lastWalkMs } from '../capture/selection/last-walk.ts'
import { roundsOfRules } from '../capture/selection/rules.ts'
import { noteLeftSockets, noteTier } from '../capture/selection/note-tier.ts'
import {
  hasBooks,
  rulesNumber,
  Selection,
  type SelectionOptions,
  type SurveyedMarket,
} from '../capture/selection/selection.ts'
import { tellSelection, toFollowed } from '../capture/selection/told.ts'
import { UnfollowedBooks } from '../capture/unfollowed-books.ts'
import { BookKeeper } from './books.ts'
import { normalizeGammaMarkets, parseClobMarket } from './catalog.ts'
import { parseGammaMarket } from './gamma.ts'
import {
  isOver,
  isPastEnd,
  RoundDiscovery,
  VenueCMarkets,
  withSureClose,
  type Discovery,
  type VenueCMarket,
} from './markets.ts'
import { CatalogClient } from './pages.ts'
import { PolledBooks } from './polled-books.ts'
import { ReferenceSockets, type ReferenceSocketsOptions } from './reference-sockets.ts'
import { ResolutionPoll } from './resolution.ts'
import { TokenSockets } from './socket.ts'
import { VenueWalk } from './venue-walk.ts'

/** Where venue C is and what to record. */
export type VenueCOptions = {
  /** The catalogue, such as https://gamma-api.polymarket.com. */
  readonly gammaBase: string
  /** Books and winners, such as https://clob.polymarket.com. */
  readonly clobBase: string
  /** Such as wss://ws-subscriptions-clob.polymarket.com/ws/market. */
  readonly wsUrl: string
  /** Which markets are recorded, and how. */
  readonly selection: SelectionOptions
  /** Absent: no reference prices are recorded. */
  readonly reference?: Pick<ReferenceSocketsOptions, 'url' | 'feeds' | 'assets'>
  /** The venue allows 300 lists of markets and 1,500 books in any 10 s. */
  readonly quotas: { readonly gamma: QuotaOptions; readonly clob: QuotaOptions }
  /** Max tokens per socket. Above 500 the venue sends no first books; 200 is the usual safe number. */
  readonly tokensPerSocket: number
  /** How long before its start a round is subscribed; one hour by default. */
  readonly aheadMs?: number
  /** How much faster than in production periods run; limits of the network are never scaled. */
  readonly speed?: number
}

const AHEAD_MS = 3_600_000
// Periods at speed 1. The venue asks for the PING.
const PING_MS = 10_000
const REFERENCE_PING_MS = 5_000
const NO_REFERENCE = { url: '', feeds: [], assets: [] }
const NEXT_ROUNDS_MS = 15_000
const REFRESH_MS = 30_000
const RESOLUTION_MS = 1_000
const WALK_MS = 3_600_000
const REVIEW_MS = 60_000
const POLLED_MS = 30_000
/** How long books are followed after the close: the last changes arrive late. */
const LINGER_MS = 5_000
/** How often tokens and markets are looked at: a period of the network, at any speed. */
const TICK_MS = 200
/** Max markets that are requested by id after a review. */
const MAX_MISSING = 500

/** The connector of venue C: it finds rounds, keeps their books, and follows them to their end. */
export class VenueCConnector implements Connector {
  readonly venue = 'venuec'
  readonly #context: Omit<ConnectorContext, 'unresolved'>
  #unresolved: readonly UnresolvedMarket[]
  readonly #unfollowed: UnfollowedBooks
  readonly #clock: Clock
  readonly #speed: number
  readonly #aheadMs: number
  readonly #quotas: { readonly gamma: Quota; readonly clob: Quota }
  readonly #markets: VenueCMarkets
  readonly #client: CatalogClient
  #discovery: Discovery
  #isReviewDue = false
  readonly #resolution: ResolutionPoll
  readonly #sockets: TokenSockets
  readonly #books: BookKeeper
  readonly #polled: PolledBooks
  readonly #selection: Selection
  #selected: SelectionOptions
  readonly #references: ReferenceSockets
  readonly #watched = new Set<VenueCMarket>()
  readonly #aligning = new PassPace()
  #reviewedMs = -Infinity
  #scannedMs = -Infinity
  readonly #stopped = new AbortController()
  #isOver = false

  constructor(options: VenueCOptions, context: ConnectorContext) {
    const { speed = 1, aheadMs = AHEAD_MS } = options
    const { sink, log } = context
    const { unresolved, ...rest } = context
    this.#context = rest
    this.#unresolved = unresolved
    this.#unfollowed = new UnfollowedBooks(context.sink)
    this.#clock = context.clock ?? SYSTEM_CLOCK
    this.#speed = speed
    this.#aheadMs = aheadMs
    this.#quotas = {
      gamma: createQuota(options.quotas.gamma, this.#clock),
      clob: createQuota(options.quotas.clob, this.#clock),
    }
    const gamma = this.#createRest(options.gammaBase, this.#quotas.gamma)
    const clob = this.#createRest(options.clobBase, this.#quotas.clob)
    this.#selected = options.selection
    this.#selection = new Selection(options.selection)
    const markets = new VenueCMarkets((record) => this.#isWanted(record), speed)
    this.#markets = markets
    const onRecord = (record: MarketRecord): void => void markets.update(record)
    const client = new CatalogClient({
      gamma: withRetries(gamma, WALK_PATIENCE, this.#clock),
      clob,
      log,
      onRecord,
      tell: (request, value) => this.#tell(request, value),
    })
    const now = (): number => this.#nowMs()
    this.#client = client
    this.#discovery = this.#createDiscovery(
      lastWalkMs(context.walked, options.selection, this.#nowMs()),
    )
    this.#resolution = new ResolutionPoll({ markets, client, speed, log, now })
    const sockets = this.#createSockets(options)
    this.#sockets = sockets
    this.#references = this.#createReferences(options)
    const { clob: quota } = this.#quotas
    this.#books = new BookKeeper({ clob, quota, sockets, speed, sink, log, clock: this.#clock })
    const everyMs = POLLED_MS / speed
    this.#polled = new PolledBooks({ clob, sink, clock: this.#clock, everyMs })
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#stopped.abort(), { once: true })
    if (signal.aborted) this.#stopped.abort()
    const until = this.#stopped.signal
    this.resume(this.#unresolved)
    this.#unresolved = []
    const scaled = (ms: number): number => ms / this.#speed
    const resolution = this.#resolution
    const resolutionMs = Math.max(TICK_MS, scaled(RESOLUTION_MS))
    await Promise.all([
      this.#sockets.run(until),
      this.#references.run(until),
      this.#repeat('new markets', scaled(NEXT_ROUNDS_MS), () => this.#discovery.findNew(until)),
      this.#repeat('the list of markets', TICK_MS, () => this.#scanIfDue(until)),
      this.#repeat('tiers', TICK_MS, () => this.#reviewIfDue(until)),
      this.#repeat('polled books', TICK_MS, () => this.#polled.poll(until)),
      this.#repeat('fresh records', scaled(REFRESH_MS), () => this.#discovery.refresh(until)),
      this.#repeat('resolutions', resolutionMs, () => resolution.poll(until)),
      this.#repeat('books', TICK_MS, () => {
        this.#alignIfDue()
        this.#books.tick(until)
      }),
    ])
    await this.#books.settled()
    this.#isOver = true
  }

  recover(instruments: readonly Instrument[], reason: GapReason): void {
    this.#books.recover(instruments, reason, this.#stopped.signal)
  }

  resume(unresolved: readonly UnresolvedMarket[]): void {
    for (const { marketId, native, facts } of unresolved) {
      if (this.#markets.get(marketId) !== undefined) continue
      const record = recordIn(native, this.#context.sink.now())
      this.#markets.resume(marketId, record)
      const known = facts ?? record
      if (known === undefined) continue
      const activity = activityOf({ ...known, native: toNative(native) })
      this.#selection.adopt({ ...known, marketId }, activity, this.#nowMs())
    }
    this.#isReviewDue = true
  }

  select(selection: SelectionOptions): void {
    this.#selected = selection
    this.#selection.change(selection)
    this.#isReviewDue = true
    // What was not selected before was not kept, so everything is listed again.
    this.#discovery = this.#createDiscovery(undefined)
  }

  async survey(signal: AbortSignal): Promise<Iterable<SurveyedMarket>> {
    while (!signal.aborted && this.#discovery.scans === 0) {
      await this.#discovery.scan(signal)
      if (this.#discovery.scans === 0) await sleep(TICK_MS, signal, this.#clock)
    }
    await this.#discovery.findNew(signal)
    this.#selection.review(this.#nowMs(), () => true)
    return this.#selection.survey()
  }

  status(): ConnectorStatus {
    const { gamma, clob } = this.#quotas
    return {
      venue: 'venuec',
      ...this.#state(),
      markets: this.#watched.size,
      tiers: this.#selection.counts,
      sockets: [...this.#sockets.status, ...this.#references.status],
      quota: {
        limit: clob.limit,
        windowMs: clob.windowMs,
        used: clob.used,
        refused: clob.refusals + gamma.refusals,
      },
    }
  }

  #state(): Pick<ConnectorStatus, 'state' | 'detail'> {
    const sockets = this.#sockets
    if (this.#isOver) return { state: 'stopped', detail: 'stopped' }
    if (this.#discovery.scans === 0) return { state: 'starting', detail: 'looking for markets' }
    if (this.#markets.size === 0) return { state: 'degraded', detail: 'no market was found' }
    const down = sockets.status.filter((one) => one.subscriptions > 0 && !one.connected).length
    if (down > 0) return { state: 'degraded', detail: `${down} sockets are not connected` }
    if (sockets.homeless > 0) {
      return { state: 'degraded', detail: `no socket is left for ${sockets.homeless} tokens` }
    }
    const { missing } = this.#books
    if (missing > 0) return { state: 'degraded', detail: `${missing} tokens have no book` }
    const { pending } = this.#resolution
    const detail = `${this.#watched.size} markets recorded, ${pending} wait for resolution`
    return { state: 'recording', detail }
  }

  #createRest(base: string, quota: Quota): Rest {
    const { sink, log } = this.#context
    return createRest({ base, quota, sink, log })
  }

  #createSockets({ wsUrl, tokensPerSocket }: VenueCOptions): TokenSockets {
    const { sink, log } = this.#context
    return new TokenSockets({
      url: wsUrl,
      tokensPerSocket,
      pingMs: PING_MS / this.#speed,
      sink,
      log,
      clock: this.#clock,
      onSubscribed: (tokens) => this.#books.subscribed(tokens),
      onFrame: (reading) => this.#onFrame(reading),
      expectsData: (tokens) => this.#books.expectsData(tokens),
    })
  }

  #createReferences({ reference = NO_REFERENCE }: VenueCOptions): ReferenceSockets {
    const { sink, log } = this.#context
    const pingMs = REFERENCE_PING_MS / this.#speed
    return new ReferenceSockets({ ...reference, pingMs, sink, log, clock: this.#clock })
  }

  #onFrame(reading: Reading): boolean {
    for (const record of recordsOf(reading)) this.#markets.update(record)
    return this.#books.heard(reading.events)
  }

  #createDiscovery(walkedMs: number | undefined): Discovery {
    const markets = this.#markets
    const speed = this.#speed
    const client = this.#client
    const now = (): number => this.#nowMs()
    const rounds = roundsOfRules(this.#selected.rules)
    if (rounds !== undefined) {
      const aheadMs = this.#aheadMs
      return new RoundDiscovery({ ...rounds, aheadMs, speed, markets, client, now })
    }
    return new VenueWalk({
      markets,
      client,
      sink: this.#context.sink,
      walkMs: WALK_MS / speed,
      walkedMs,
      rules: rulesNumber(this.#selected),
      isKnown: (marketId) => this.#selection.tierOf(marketId) !== undefined,
      now,
    })
  }

  #isWanted(record: MarketRecord): boolean {
    const decision = this.#decide(record)
    return decision !== undefined && decision.tier !== 'none'
  }

  #decide(record: MarketRecord): CaptureDecision | undefined {
    return this.#selection.judge(record, activityOf(record), this.#nowMs())
  }

  /** Decides about the markets of an answer, and says so in its request. */
  #tell(request: CaptureRequest, value: unknown): CaptureRequest | undefined {
    const at = { received: this.#context.sink.now(), journal: 0 }
    try {
      const records = recordsOf(normalizeGammaMarkets(value, at))
      return tellSelection(request, records, (record) =>
        toFollowed(this.#decide(record), this.#markets.get(record.marketId) !== undefined),
      )
    } catch (error) {
      // The recorder puts a malformed answer into quarantine.
      if (!(error instanceof PriorbookError)) throw error
      return request
    }
  }

  async #scanIfDue(signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs < this.#scannedMs + this.#discovery.scanMs) return
    this.#scannedMs = nowMs
    await this.#discovery.scan(signal)
  }

  async #reviewIfDue(signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonicMs()
    if (!this.#isReviewDue && nowMs < this.#reviewedMs + REVIEW_MS / this.#speed) return
    this.#isReviewDue = false
    this.#reviewedMs = nowMs
    await this.#review(signal)
  }

  /** Says which markets are recorded in another tier from now on, and reads those that are not followed. */
  async #review(signal: AbortSignal): Promise<void> {
    const { log, sink } = this.#context
    const isFollowed = (id: string): boolean => this.#markets.get(id) !== undefined
    for (const change of this.#selection.review(this.#nowMs(), isFollowed)) {
      const followed = change.markets.filter(isFollowed)
      noteTier({ ...change, markets: followed }, sink, log)
      if (change.tier === 'polled') {
        noteLeftSockets(
          followed.flatMap((id) => this.#watchedTokens(id)),
          sink,
        )
      }
    }
    const missing = new Set(this.#selected.pinned.filter((id) => !isFollowed(id)))
    for (const { tier, facts } of this.#selection.survey()) {
      if (tier !== 'none' && !isFollowed(facts.marketId)) missing.add(facts.marketId)
    }
    await this.#client.byCondition([...missing].slice(0, MAX_MISSING), false, signal)
  }

  #watchedTokens(marketId: string): readonly string[] {
    const market = this.#markets.get(marketId)
    return market !== undefined && this.#watched.has(market) ? market.tokens : []
  }

  #alignIfDue(): void {
    const nowMs = this.#clock.monotonicMs()
    const { size } = this.#markets
    if (!this.#books.hasRoomAgain() && !this.#aligning.isDue(size, nowMs)) return
    this.#aligning.begin(size, nowMs)
    this.#align()
  }

  /** Watches the markets that are due and stops watching those that are over. */
  #align(): void {
    const polled = new Set<string>()
    const over: string[] = []
    const due = new Set<VenueCMarket>()
    for (const market of this.#markets) {
      const isDue = this.#isDue(market)
      const tier = this.#tierOf(market)
      if (isDue && tier === 'polled') for (const token of market.tokens) polled.add(token)
      if (isOver(market)) over.push(market.marketId)
      if (isDue && tier === 'full') due.add(market)
    }
    this.#watch([...due], polled)
    const gone: string[] = []
    for (const market of this.#watched) {
      if (due.has(market)) continue
      this.#watched.delete(market)
      gone.push(...this.#books.unwatch(market))
    }
    if (gone.length > 0) this.#sockets.remove(gone)
    this.#sockets.addHomeless(this.#selection.held.full)
    this.#polled.follow(polled)
    this.#closeUnfollowed(polled)
    if (this.#selection.forget(over)) this.#isReviewDue = true
  }

  /** Watches as many of these markets as have room for their first books. Tokens of others that are polled stay so. */
  #watch(due: readonly VenueCMarket[], polled: Set<string>): void {
    const known = due.filter((market) => this.#watched.has(market))
    const admitted = this.#unwatched(due).filter((market) => {
      if (this.#books.admit(market)) return true
      for (const token of market.tokens) if (this.#polled.follows(token)) polled.add(token)
      return false
    })
    for (const market of admitted) this.#watched.add(market)
    // One that is watched may have got tokens.
    const fresh = [...known, ...admitted]
      .map((market) => this.#books.watch(market))
      .filter((tokens) => tokens.length > 0)
    if (fresh.length > 0) this.#sockets.add(fresh, this.#selection.held.full)
  }

  #unwatched(due: readonly VenueCMarket[]): readonly VenueCMarket[] {
    return due
      .filter((market) => !this.#watched.has(market))
      .map((market) => ({ market, order: this.#selection.openingOrderOf(market.marketId) }))
      .sort((a, b) => a.order - b.order)
      .map(({ market }) => market)
  }

  #closeUnfollowed(polled: ReadonlySet<string>): void {
    const unfollowed = [...this.#markets].filter(
      (market) => !this.#watched.has(market) && !market.tokens.some((token) => polled.has(token)),
    )
    this.#unfollowed.check(
      unfollowed.map((market) => ({
        market: withSureClose(market),
        keys: market.tokens,
        isSelected: hasBooks(this.#tierOf(market)),
      })),
      this.#nowMs(),
    )
  }

  #tierOf({ marketId }: VenueCMarket): CaptureTier {
    return this.#selection.tierOf(marketId) ?? 'none'
  }

  #isDue(market: VenueCMarket): boolean {
    const nowMs = this.#nowMs()
    if (market.tokens.length === 0 || market.openMs - nowMs > this.#aheadMs) return false
    // A market that closed before its time brings nothing more. After a close in time, the last frames do.
    if (isOver(market) && (!market.isRound || nowMs < market.closeMs)) return false
    return !isPastEnd(market, nowMs - LINGER_MS / this.#speed)
  }

  #repeat(name: string, everyMs: number, task: () => Promise<void> | void): Promise<void> {
    const { log } = this.#context
    return repeat(`venue C: ${name}`, everyMs, task, log, this.#stopped.signal, this.#clock)
  }

  #nowMs(): number {
    return this.#context.sink.steadyNow() / 1000
  }
}

// Shares of the last day; where the venue does not say, of the market's whole life.
function activityOf({ volume, native }: MarketRecord): number {
  const { gamma } = native
  const day = isObject(gamma) ? Number(gamma['volume24hr'] ?? NaN) : NaN
  return Number.isFinite(day) ? day : Number(volume ?? 0)
}

function toNative(native: Json): MarketRecord['native'] {
  return isObject(native) ? native : {}
}

/** The venue's own description of a market, as an earlier run kept it. */
function recordIn(
  native: Json,
  received: Parameters<typeof parseGammaMarket>[1],
): MarketRecord | undefined {
  if (!isObject(native)) return undefined
  const { gamma, clob } = native
  try {
    if (isObject(gamma)) return parseGammaMarket(gamma, received)
    return isObject(clob) ? parseClobMarket(clob, received) : undefined
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    return undefined
  }
}
