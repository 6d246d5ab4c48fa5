import type { GapReason, Instrument } from '@priorbook/sdk/domain'
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
import { OwnStalls } from '../capture/silence.ts'
import { recordsOf } from '../capture/followed-markets.ts'
import { UnfollowedBooks } from '../capture/unfollowed-books.ts'
import { noteSilence } from './books.ts'
import { ChainReader, type ChainOptions } from './chain/reader.ts'
import { Discovery, VenueAMarkets } from './markets.ts'
import { createPeriods, type Periods } from './periods.ts'
import { Polling, SHARES, type CallKind, type VenueAScheduledCall } from './polling.ts'
import { isCredentialRefusal, toQuota, toVenueWindow, VenueARest } from './rest.ts'
import { VenueASockets } from './socket.ts'

/** How venue A is reached. */
export type VenueAOptions = {
  /** `https://api.binance.com/sapi/v1/w3w/wallet/prediction` */
  readonly restBase: string
  /** `wss://api.binance.com/sapi/wss` */
  readonly wsUrl: string
  readonly apiKey?: string
  readonly apiSecret?: string
  /** The coins whose markets are followed: BTC, ETH, BNB. */
  readonly assets: readonly string[]
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
  readonly #discovery: Discovery
  readonly #status: UpstreamStatus
  readonly #rest: VenueARest
  readonly #sockets: VenueASockets
  readonly #polling: Polling
  readonly #stalls: OwnStalls
  readonly #chain: ChainReader | undefined

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
    this.#markets = new VenueAMarkets({ assets, speed })
    this.#discovery = new Discovery(this.#markets, speed)
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
    for (const { marketId, native } of unresolved) {
      if (this.#markets.get(marketId) === undefined) this.#discovery.resume(native, this.#nowMs())
    }
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
      // A market that is about to open will send soon; one that has just closed may still send.
      const times = [nowMs, nowMs + aheadMs, nowMs - lingerMs]
      if (times.some((ms) => this.#markets.isOpen(market, ms))) carried.add(market.marketId)
    }
    if (this.#status.maySocket(nowMs)) this.#sockets.carry(carried)
    const stallMs = this.#stalls.check(nowMs)
    for (const market of this.#markets) market.bookMs = Math.min(nowMs, market.bookMs + stallMs)
    noteSilence(this.#markets, this.#context.sink, nowMs)
    const unfollowed = [...this.#markets].filter(
      (market) => !carried.has(market.marketId) && !market.isRequested,
    )
    this.#unfollowed.check(
      unfollowed.map((market) => ({ market, keys: [market.marketId] })),
      nowMs,
    )
    this.#markets.prune(nowMs)
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
    const answer = await this.#rest.send(call, signal)
    if (answer.ok && this.#chain !== undefined) {
      for (const record of recordsOf(answer.reading)) this.#chain.addMarket(record)
    }
    if (isCredentialRefusal(answer)) this.#status.refused(whyOf(answer), this.#nowMs())
    else if (answer.ok) this.#status.answered()
    else this.#status.failed(answer.why)
    return answer
  }

  #nowMs(): number {
    return this.#context.sink.steadyNow() / 1000
  }
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
