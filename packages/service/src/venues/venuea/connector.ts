import type { CaptureTier, GapReason, Instrument } from '@priorbook/sdk/domain'
import { SYSTEM_CLOCK, type Clock } from '../../lib/clock.ts'
import { sleep, untilAborted } from '../../lib/wait.ts'
import type {
  CaptureLog,
  Connector,
  ConnectorContext,
  ConnectorStatus,
  UnresolvedMarket,
} from '../capture/contract.ts'
import type { Quota, QuotaOptions } from '../capture/quota.ts'
import type { RestAnswer, RestCall } from '../capture/rest.ts'
import { CallPace, CallsInFlight, chooseNext } from '../capture/scheduler.ts'
import {
  hasBooks,
  type SelectionOptions,
  type SurveyedMarket,
} from '../capture/selection/selection.ts'
import { OwnStalls } from '../capture/silence.ts'
import { recordsOf } from '../capture/followed-markets.ts'
import { UnfollowedBooks } from '../capture/unfollowed-books.ts'
import { noteSilence } from './books.ts'
import { ChainReader, type ChainOptions } from './chain/reader.ts'
import { Discovery, VenueAMarkets, type VenueAMarket } from './markets.ts'
import { createPeriods, type Periods } from './periods.ts'
import { Polling, SHARES, type CallKind, type VenueAScheduledCall } from './polling.ts'
import { isCredentialRefusal, toQuota, toVenueWindow, VenueARest } from './rest.ts'
import { SelectedMarkets } from './selected-markets.ts'
import { VenueASockets } from './socket.ts'

/** How venue A is reached. */
export type VenueAOptions = {
  /** `https://api.binance.com/sapi/v1/w3w/wallet/prediction` */
  readonly restBase: string
  /** `wss://api.binance.com/sapi/wss` */
  readonly wsUrl: string
  readonly apiKey?: string
  readonly apiSecret?: string
  /** The coins whose rounds are followed by default, and whose trades are read from the chain: BTC, ETH, BNB. */
  readonly assets: readonly string[]
  /** Which markets are recorded; by default the rounds of the coins. */
  readonly selection?: SelectionOptions
  /** Calls per window: 60 a minute. Pass a quota itself to share it, for example with a backfill. */
  readonly quota: QuotaOptions | Quota
  /** Divides every internal period; 1 in production. */
  readonly speed?: number
  /** How trades are read from the chain; absent: they are not. */
  readonly chain?: Omit<ChainOptions, 'assets' | 'speed'>
}

/** Max calls in flight; urgent ones may be twice as many. */
const MAX_IN_FLIGHT = 8
const MAX_NAP_MS = 200
const MIN_NAP_MS = 5

/** The connector of venue A; `run` starts it. */
export class VenueAConnector implements Connector {
  readonly venue = 'venuea'
  readonly #context: ConnectorContext
  readonly #unfollowed: UnfollowedBooks
  readonly #clock: Clock
  readonly #speed: number
  readonly #hasCredentials: boolean
  readonly #periods: Periods
  readonly #quota: Quota
  readonly #pace: CallPace<CallKind>
  readonly #calls: CallsInFlight
  readonly #markets: VenueAMarkets
  readonly #selected: SelectedMarkets
  readonly #discovery: Discovery
  readonly #status: UpstreamStatus
  readonly #rest: VenueARest
  readonly #sockets: VenueASockets
  readonly #polling: Polling
  readonly #stalls: OwnStalls
  readonly #chain: ChainReader | undefined
  #reviewMs = -Infinity

  constructor(options: VenueAOptions, context: ConnectorContext) {
    const { apiKey = '', apiSecret = '', speed = 1, assets, restBase, wsUrl } = options
    const { sink, log, clock = SYSTEM_CLOCK } = context
    const credentials = { apiKey, apiSecret }
    this.#context = context
    this.#unfollowed = new UnfollowedBooks(context.sink)
    this.#clock = clock
    this.#speed = speed
    this.#hasCredentials = apiKey !== '' && apiSecret !== ''
    this.#periods = createPeriods(speed)
    this.#stalls = new OwnStalls(this.#periods.checkMs)
    this.#quota = toQuota(options.quota, speed, clock)
    this.#pace = new CallPace(toVenueWindow(options.quota, speed), SHARES)
    this.#calls = new CallsInFlight(log, 'venue A')
    this.#selected = new SelectedMarkets({
      selection: options.selection ?? roundsOf(assets),
      sink,
      log,
      nowMs: () => this.#nowMs(),
      isFollowed: (marketId) => this.#markets.get(marketId) !== undefined,
    })
    this.#markets = new VenueAMarkets({
      isWanted: (record) => this.#selected.isWanted(record),
      onEnded: (marketIds) => this.#selected.forget(marketIds),
      speed,
    })
    this.#discovery = new Discovery(this.#markets, speed, this.#selected.isBroad)
    this.#status = new UpstreamStatus(log, this.#periods)
    this.#rest = new VenueARest({ restBase, credentials, quota: this.#quota, sink, log })
    this.#sockets = new VenueASockets({
      wsUrl,
      credentials,
      sink,
      log,
      clock,
      venueNowMs: () => this.#rest.nowMs(),
      onBook: (marketId) => this.#markets.bookArrived(marketId, this.#nowMs()),
      isLive: (marketId) => {
        const market = this.#markets.get(marketId)
        return market !== undefined && this.#markets.isLive(market, this.#nowMs())
      },
      onRefused: (status) =>
        this.#status.socketRefused(`socket refused with ${status}`, this.#nowMs()),
      onOpen: () => this.#status.socketAccepted(),
    })
    this.#polling = new Polling({
      markets: this.#markets,
      discovery: this.#discovery,
      hasBooks: (marketId) => hasBooks(this.#selected.tierOf(marketId)),
      speed,
      nowMs: () => this.#nowMs(),
      send: (call, signal) => this.#send(call, signal),
      onUnreadable: (why) => this.#status.failed(why),
      onMissedBook: (marketId) => this.#sockets.renew(marketId),
    })
    this.#chain = this.#createChain(options, speed)
    this.#countAsked()
    this.resume(this.#context.unresolved)
  }

  async run(signal: AbortSignal): Promise<void> {
    if (!this.#hasCredentials) {
      this.#status.missing()
      await untilAborted(signal)
      this.#status.stop()
      return
    }
    const maxNapMs = MAX_NAP_MS / Math.min(10, Math.max(1, this.#speed))
    const sockets = this.#sockets.run(signal)
    const chain = this.#chain?.run(signal)
    let checkMs = -Infinity
    while (!signal.aborted) {
      if (this.#nowMs() >= checkMs) {
        this.#check()
        checkMs = this.#nowMs() + this.#periods.checkMs
      }
      const waitMs = this.#startNext(signal)
      const napMs = Math.max(MIN_NAP_MS, Math.min(waitMs, maxNapMs))
      if (waitMs > 0) await sleep(napMs, signal, this.#clock)
    }
    await sockets
    await chain
    await this.#calls.settled()
    this.#status.stop()
  }

  recover(instruments: readonly Instrument[], _reason: GapReason): void {
    for (const { market } of instruments) this.#markets.recover(market, this.#nowMs())
  }

  resume(unresolved: readonly UnresolvedMarket[]): void {
    for (const { marketId, native, facts } of unresolved) {
      if (this.#markets.get(marketId) !== undefined) continue
      if (facts !== undefined && this.#selected.isBroad) this.#selected.adopt(facts)
      this.#discovery.resume(native, this.#nowMs())
    }
  }

  select(selection: SelectionOptions): void {
    this.#selected.change(selection)
    this.#discovery.widen(this.#selected.isBroad)
    this.#reviewMs = -Infinity
  }

  async survey(signal: AbortSignal): Promise<Iterable<SurveyedMarket>> {
    if (!this.#hasCredentials) {
      this.#context.log.warn({}, 'venue A lists its markets only with an API key and a secret')
      return []
    }
    while (!signal.aborted && this.#discovery.sweeps === 0) {
      const page = this.#polling.page()
      const waitMs = (page?.dueMs ?? Infinity) - this.#nowMs()
      if (page === undefined || waitMs > 0) await sleep(MAX_NAP_MS, signal, this.#clock)
      else await this.#polling.make(page, signal)
    }
    return this.#selected.survey()
  }

  status(): ConnectorStatus {
    const nowMs = this.#nowMs()
    const open = [...this.#markets].filter((market) => this.#markets.isOpen(market, nowMs))
    const sockets = this.#sockets.status
    const { limit, windowMs, used, refusals } = this.#quota
    return {
      venue: 'venuea',
      ...withChain(this.#status.state(this.#discovery.sweeps > 0, sockets), this.#chain?.status()),
      markets: open.length,
      tiers: this.#selected.countTiers(open.length),
      sockets,
      quota: { limit, windowMs, used, refused: refusals },
    }
  }

  #createChain({ chain, assets }: VenueAOptions, speed: number): ChainReader | undefined {
    if (chain === undefined) return undefined
    const { sink, log, clock, feed } = this.#context
    return new ChainReader(
      { ...chain, assets, speed },
      {
        sink,
        log,
        ...(clock === undefined ? {} : { clock }),
        ...(feed === undefined ? {} : { feed }),
        isCatalogueRead: () => this.#discovery.sweeps > 0,
      },
    )
  }

  // Calls of earlier runs count.
  #countAsked(): void {
    const { sink, asked = [] } = this.#context
    for (const { until, count } of asked) {
      this.#quota.resume(count, Math.max(0, (sink.now() - until) / 1000))
    }
  }

  /** Updates subscriptions and notes silences. */
  #check(): void {
    const nowMs = this.#nowMs()
    const { aheadMs, lingerMs } = this.#periods
    const carried = new Set<string>()
    for (const market of this.#markets) {
      if (this.#selected.tierOf(market.marketId) !== 'full') continue
      // A market that is about to open will send soon; one that has just closed may still send.
      const times = [nowMs, nowMs + aheadMs, nowMs - lingerMs]
      if (times.some((ms) => this.#markets.isOpen(market, ms))) carried.add(market.marketId)
    }
    if (this.#status.maySocket(nowMs)) this.#sockets.carry(carried)
    const stallMs = this.#stalls.check(nowMs)
    for (const market of this.#markets) market.bookMs = Math.min(nowMs, market.bookMs + stallMs)
    const tierOf = (marketId: string): CaptureTier => this.#selected.tierOf(marketId)
    noteSilence(this.#markets, this.#context.sink, nowMs, (id) => hasBooks(tierOf(id)))
    const isPolled = (market: VenueAMarket): boolean =>
      tierOf(market.marketId) === 'polled' && this.#markets.isOpen(market, nowMs)
    const unfollowed = [...this.#markets].filter(
      (market) => !carried.has(market.marketId) && !market.isRequested && !isPolled(market),
    )
    this.#unfollowed.check(
      unfollowed.map((market) => ({
        market,
        keys: [market.marketId],
        isSelected: hasBooks(tierOf(market.marketId)),
      })),
      nowMs,
    )
    this.#reviewIfDue(nowMs)
    this.#markets.prune(nowMs)
  }

  /** Decides again which markets are recorded; the details of those that are not followed are requested. */
  #reviewIfDue(nowMs: number): void {
    if (nowMs < this.#reviewMs + this.#periods.reviewMs) return
    this.#reviewMs = nowMs
    for (const { topicId, closeTime = Infinity } of this.#selected.review()) {
      if (topicId !== undefined) this.#markets.addNeighbour(topicId, closeTime / 1000, nowMs)
    }
  }

  /** Starts the next call if one may go; returns how long to wait otherwise. */
  #startNext(signal: AbortSignal): number {
    const nowMs = this.#nowMs()
    const isProbe = this.#status.isRefused
    if (isProbe && (!this.#status.mayProbe(nowMs) || this.#calls.size > 0)) return MAX_NAP_MS
    const next = chooseNext(this.#listCalls(isProbe, nowMs), SHARES, this.#pace.spent(nowMs), nowMs)
    if (next.type === 'wait') return next.untilMs - nowMs
    const { kind, urgent } = next.next
    const readyMs = urgent ? nowMs : this.#pace.readyMs(nowMs)
    if (this.#calls.size >= (urgent ? 2 * MAX_IN_FLIGHT : MAX_IN_FLIGHT)) return MAX_NAP_MS
    if (readyMs > nowMs) return readyMs - nowMs
    this.#pace.spend(kind, urgent, nowMs)
    this.#calls.start(() => this.#polling.make(next.next, signal), signal)
    return 0
  }

  /** With refused credentials, one page of the catalogue shows whether they are valid again. */
  #listCalls(isProbe: boolean, nowMs: number): VenueAScheduledCall[] {
    const page = this.#polling.page()
    const calls = isProbe ? [] : this.#polling.list(nowMs)
    if (page !== undefined) calls.push(isProbe ? { ...page, dueMs: nowMs } : page)
    return calls
  }

  async #send(call: RestCall, signal: AbortSignal): Promise<RestAnswer> {
    const answer = await this.#rest.send(this.#described(call), signal)
    if (answer.ok && this.#chain !== undefined) {
      for (const record of recordsOf(answer.reading)) this.#chain.addMarket(record)
    }
    if (isCredentialRefusal(answer)) this.#status.refused(whyOf(answer), this.#nowMs())
    else if (answer.ok) this.#status.answered()
    else this.#status.failed(answer.why)
    return answer
  }

  // What is decided about the markets of an answer stands in the journal with it.
  #described(call: RestCall): RestCall {
    const { request } = call
    if (!this.#selected.isBroad || !NAMING_MARKETS.has(request.kind)) return call
    return { ...call, describe: (value) => this.#selected.tell(request, value) }
  }

  #nowMs(): number {
    return this.#context.sink.steadyNow() / 1000
  }
}

const NAMING_MARKETS: ReadonlySet<string> = new Set(['topics', 'topic'])

function roundsOf(assets: readonly string[]): SelectionOptions {
  const rules = [{ asset: [...assets], tier: 'full' as const }]
  return { rules, pinned: [], bounds: { full: Infinity, polled: 0 }, booksPerMarket: 1 }
}

type ConnectorState = Pick<ConnectorStatus, 'state' | 'detail'>

// Books have priority: trouble with the chain shows only while they are recorded.
function withChain(
  state: ConnectorState,
  chain: ReturnType<ChainReader['status']> | undefined,
): ConnectorState {
  if (chain === undefined || state.state !== 'recording') return state
  const detail = `${state.detail}; ${chain.detail}`
  return { state: chain.isOutage ? 'degraded' : 'recording', detail }
}

function whyOf(answer: RestAnswer): string {
  return answer.ok ? 'refused by the answer' : `${answer.status ?? ''} ${answer.why}`.trim()
}

/** Failures in a row that count as an outage. */
const MAX_FAILURES = 3

/** Whether the venue accepts the credentials and answers. */
class UpstreamStatus {
  readonly #log: CaptureLog
  readonly #periods: Periods
  #refusedWhy: string | undefined
  #socketWhy: string | undefined
  #failedWhy = ''
  #failures = 0
  #probeMs = -Infinity
  #socketMs = -Infinity
  #hasAnswered = false
  #hasStopped = false

  constructor(log: CaptureLog, periods: Periods) {
    this.#log = log
    this.#periods = periods
  }

  /** True while the credentials are refused; then only a probe is sent now and then. */
  get isRefused(): boolean {
    return this.#refusedWhy !== undefined
  }

  /** No key or no secret is configured. */
  missing(): void {
    this.#refusedWhy = 'no API key or no secret is configured'
    this.#log.error({ venue: 'venuea' }, `venue A is not recorded: ${this.#refusedWhy}`)
  }

  refused(why: string, nowMs: number): void {
    this.#probeMs = nowMs + this.#periods.credentialsMs
    if (this.#refusedWhy === undefined) {
      const message = 'venue A refuses the credentials; trying again slowly'
      this.#log.error({ venue: 'venuea', why }, message)
    }
    this.#refusedWhy = why
  }

  answered(): void {
    if (this.#refusedWhy !== undefined) {
      this.#log.info({ venue: 'venuea' }, 'venue A accepts the credentials')
    }
    this.#refusedWhy = undefined
    this.#failures = 0
    this.#hasAnswered = true
  }

  failed(why: string): void {
    this.#failures++
    this.#failedWhy = why
  }

  socketRefused(why: string, nowMs: number): void {
    this.#socketMs = nowMs + this.#periods.credentialsMs
    if (this.#socketWhy === undefined) {
      const message = 'venue A refuses the socket; trying again slowly'
      this.#log.error({ venue: 'venuea', why }, message)
    }
    this.#socketWhy = why
  }

  socketAccepted(): void {
    this.#socketWhy = undefined
  }

  mayProbe(nowMs: number): boolean {
    return nowMs >= this.#probeMs
  }

  maySocket(nowMs: number): boolean {
    return this.#refusedWhy === undefined && nowMs >= this.#socketMs
  }

  stop(): void {
    this.#hasStopped = true
  }

  state(
    isListed: boolean,
    sockets: ConnectorStatus['sockets'],
  ): Pick<ConnectorStatus, 'state' | 'detail'> {
    if (this.#hasStopped) return { state: 'stopped', detail: 'stopped' }
    const why = this.#refusedWhy ?? this.#socketWhy
    if (why !== undefined) return { state: 'no_credentials', detail: why }
    if (this.#failures >= MAX_FAILURES) {
      return { state: 'degraded', detail: `no answers: ${this.#failedWhy}` }
    }
    if (!this.#hasAnswered || !isListed) {
      return { state: 'starting', detail: 'reading the catalogue' }
    }
    const lost = sockets.filter(({ connected }) => !connected).length
    if (lost > 0) {
      return { state: 'degraded', detail: `${lost} of ${sockets.length} sockets not connected` }
    }
    return { state: 'recording', detail: 'books by socket and request' }
  }
}
