import type { GapReason, Instrument } from '@priorbook/sdk/domain'
import type { Connector, ConnectorContext, ConnectorStatus } from '../capture/contract.ts'
import { sleep, untilAborted } from '../../lib/wait.ts'
import type { Quota, QuotaOptions } from '../capture/quota.ts'
import { createVenueAApi, toQuota, toVenueWindow } from './api.ts'
import { createPace, planNext, type Job } from './budget.ts'
import { createCaller } from './caller.ts'
import { createDiscovery } from './discovery.ts'
import { createFeeds } from './feeds.ts'
import { createJobs, type Call } from './jobs.ts'
import { createPeriods } from './periods.ts'
import { createRounds } from './rounds.ts'
import { noteSilence } from './silence.ts'
import { createStanding } from './standing.ts'

/** How venue A is reached; every host and limit can be another one. */
export type VenueAOptions = {
  /** `https://api.binance.com/sapi/v1/w3w/wallet/prediction` */
  readonly restBase: string
  /** `wss://api.binance.com/sapi/wss` */
  readonly wsUrl: string
  readonly apiKey?: string
  readonly apiSecret?: string
  /** The coins whose markets are followed: BTC, ETH, BNB. */
  readonly assets: readonly string[]
  /** Calls per window: 60 a minute. A quota instead of its limits is shared, with a backfill for one. */
  readonly quota: QuotaOptions | Quota
  /** Divides every internal period; 1 in production. */
  readonly speed?: number
}

/** Calls under way at once; urgent ones go up to twice as many. */
const MAX_UNDER_WAY = 8
const LONGEST_NAP_MS = 200
const SHORTEST_NAP_MS = 5

/** Creates the connector of venue A; `run` starts it. */
export function createVenueAConnector(
  options: VenueAOptions,
  context: ConnectorContext,
): Connector {
  const { sink, log } = context
  const { apiKey = '', apiSecret = '', speed = 1 } = options
  const hasCredentials = apiKey !== '' && apiSecret !== ''
  const credentials = { apiKey, apiSecret }
  const nowMs = (): number => sink.now() / 1000
  const periods = createPeriods(speed)
  const quota = toQuota(options.quota, speed)
  for (const { until, count } of context.asked ?? []) {
    quota.resume(count, Math.max(0, (sink.now() - until) / 1000))
  }
  const rounds = createRounds({ assets: options.assets, speed })
  const discovery = createDiscovery(rounds, speed)
  const standing = createStanding(log, periods)
  const api = createVenueAApi({ restBase: options.restBase, credentials, quota, sink, log })
  const feeds = createFeeds({
    wsUrl: options.wsUrl,
    credentials,
    sink,
    log,
    venueNowMs: () => api.nowMs(),
    onBook: (marketId) => rounds.heard(marketId, nowMs()),
    isLive(marketId) {
      const market = rounds.markets.get(marketId)
      return market !== undefined && rounds.isLive(market, nowMs())
    },
    onRefused: (status) => standing.socketRefused(`socket refused with ${status}`, nowMs()),
    onOpen: () => standing.socketAccepted(),
  })
  const listJobs = createJobs(rounds, speed)
  const caller = createCaller({ api, rounds, discovery, feeds, standing, nowMs })
  const pace = createPace(toVenueWindow(options.quota, speed))

  for (const { native } of context.unresolved) discovery.resume(native, nowMs())

  /** Keeps subscriptions and silences up to date. */
  function look(signal: AbortSignal): void {
    const now = nowMs()
    const carried = new Set<string>()
    for (const market of rounds.markets.values()) {
      // One that is about to open will send soon, one that has just closed may still do so.
      const nearby = [now, now + periods.aheadMs, now - periods.lingerMs]
      if (nearby.some((ms) => rounds.isOpen(market, ms))) carried.add(market.marketId)
    }
    if (standing.maySocket(now)) feeds.carry(carried, signal)
    noteSilence(rounds, sink, now)
    rounds.prune(now)
  }

  /** Starts the next call if one may go; says how long to wait otherwise. */
  function step(underWay: Set<Promise<void>>, signal: AbortSignal): number {
    const now = nowMs()
    const page = discovery.job()
    const isProbe = standing.isRefused
    if (isProbe && (!standing.mayProbe(now) || underWay.size > 0)) return LONGEST_NAP_MS
    // With refused credentials one page of the catalogue tells whether they are good again.
    const jobs: Job<Call>[] = isProbe ? [] : listJobs(now)
    if (page !== undefined) jobs.push(isProbe ? { ...page, dueMs: now } : page)
    const plan = planNext(jobs, pace.spent(now), now)
    if (plan.kind === 'wait') return plan.untilMs - now
    const { job } = plan
    const readyMs = job.urgent ? now : pace.readyMs(now)
    const room = job.urgent ? 2 * MAX_UNDER_WAY : MAX_UNDER_WAY
    if (underWay.size >= room) return LONGEST_NAP_MS
    if (readyMs > now) return readyMs - now
    pace.spend(job.class, job.urgent, now)
    const call = caller.make(job, signal).catch((error: unknown) => {
      if (!signal.aborted) log.error({ error: String(error) }, 'a call of venue A failed')
    })
    underWay.add(call)
    void call.then(() => underWay.delete(call))
    return 0
  }

  return {
    venue: 'venuea',
    async run(signal) {
      if (!hasCredentials) {
        standing.missing()
        await untilAborted(signal)
        standing.stop()
        return
      }
      const underWay = new Set<Promise<void>>()
      const longestNapMs = LONGEST_NAP_MS / Math.min(10, Math.max(1, speed))
      let lookMs = -Infinity
      while (!signal.aborted) {
        if (nowMs() >= lookMs) {
          look(signal)
          lookMs = nowMs() + periods.lookMs
        }
        const waitMs = step(underWay, signal)
        const nap = Math.min(waitMs, longestNapMs)
        if (waitMs > 0) await sleep(Math.max(SHORTEST_NAP_MS, nap), signal)
      }
      await feeds.stop()
      await Promise.all(underWay)
      standing.stop()
    },
    recover(instruments: readonly Instrument[], _reason: GapReason) {
      for (const { market: marketId } of instruments) {
        rounds.want(marketId, nowMs())
      }
    },
    status(): ConnectorStatus {
      const now = nowMs()
      const open = rounds.markets.values().filter((market) => rounds.isOpen(market, now))
      const sockets = feeds.status()
      const { limit, windowMs, used, refusals } = quota
      return {
        venue: 'venuea',
        ...standing.state(discovery.sweeps > 0, sockets),
        markets: open.toArray().length,
        sockets,
        quota: { limit, windowMs, used, refused: refusals },
      }
    },
  }
}
