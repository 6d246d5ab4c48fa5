import { PriorbookError, type MarketRecord } from '@priorbook/sdk/domain'
import type { Connector, ConnectorContext, ConnectorStatus, Reading } from '../capture/contract.ts'
import { createQuota } from '../capture/quota.ts'
import { createRest } from '../capture/rest.ts'
import { createBookClient } from './book-client.ts'
import { createBookKeeper } from './book-keeper.ts'
import { createCatalogClient } from './catalog-client.ts'
import { parseClobMarket } from './clob.ts'
import { createCoverage, createDiscovery } from './discovery.ts'
import { parseGammaMarket } from './gamma.ts'
import { DEFAULT_AHEAD_MS, type VenueCOptions } from './options.ts'
import { repeat } from './periodic.ts'
import { createResolutionPoll } from './resolution.ts'
import { createRoster, hasEnded, type Followed } from './roster.ts'
import { createSockets } from './sockets.ts'

// Periods at speed 1; PING is what the venue asks for.
const PING_MS = 10_000
const SCAN_MS = 60_000
const NEXT_ROUNDS_MS = 15_000
const REFRESH_MS = 30_000
const RESOLUTION_MS = 1_000
/** Books are followed for this long after the close: the last changes arrive late. */
const LINGER_MS = 5_000
// The pace of looking at tokens and markets: that of a network, at any speed.
const TICK_MS = 200

/** Creates the live part of venue C: it discovers rounds, keeps their books coming, and follows them to the end. */
export function createVenueCConnector(
  options: VenueCOptions,
  context: ConnectorContext,
): Connector {
  const { sink, log, unresolved } = context
  const { assets, windows, speed = 1, aheadMs = DEFAULT_AHEAD_MS } = options
  const now = (): number => sink.now() / 1000
  const gammaQuota = createQuota(options.quotas.gamma)
  const clobQuota = createQuota(options.quotas.clob)
  const gamma = createRest({ base: options.gammaBase, quota: gammaQuota, sink, log })
  const clob = createRest({ base: options.clobBase, quota: clobQuota, sink, log })
  const isCovered = createCoverage(assets, windows)
  const roster = createRoster(({ slug }) => slug !== undefined && isCovered(slug), speed)
  const onRecord = (record: MarketRecord): void => void roster.take(record)
  const client = createCatalogClient({ gamma, clob, log, onRecord })
  const discovery = createDiscovery({ assets, windows, aheadMs, speed, roster, client, now })
  const resolution = createResolutionPoll({ roster, client, speed, log, now })
  const watched = new Set<Followed>()
  const stopped = new AbortController()
  let state: 'starting' | 'running' | 'stopped' = 'starting'
  let scans = 0

  const sockets = createSockets({
    url: options.wsUrl,
    assetsPerSocket: options.assetsPerSocket,
    pingMs: PING_MS / speed,
    sink,
    log,
    onSubscribed: (tokens) => keeper.subscribed(tokens),
    onFrame,
    expectsData: (tokens) => keeper.expectsData(tokens),
  })
  const books = createBookClient(clob, sink)
  const keeper = createBookKeeper({ books, sockets, quota: clobQuota, speed, sink, log })

  function onFrame({ events }: Reading): boolean {
    for (const event of events) if (event.kind === 'market') roster.take(event.record)
    return keeper.heard(events)
  }

  /** Watches the rounds whose time has come and lets go of those that are over. */
  function align(): void {
    const nowMs = now()
    const fresh: string[] = []
    for (const market of roster.all) {
      if (!isDue(market, nowMs)) continue
      watched.add(market)
      fresh.push(...keeper.watch(market))
    }
    if (fresh.length > 0) sockets.add(fresh)
    const gone: string[] = []
    for (const market of watched) {
      if (isDue(market, nowMs) && roster.get(market.conditionId) === market) continue
      watched.delete(market)
      gone.push(...keeper.unwatch(market))
    }
    if (gone.length > 0) sockets.remove(gone)
  }

  function isDue(market: Followed, nowMs: number): boolean {
    if (market.tokens.length === 0 || market.openMs - nowMs > aheadMs) return false
    // Closed before its time: nothing more comes. Closed in time: the last frames are under way.
    if (hasEnded(market) && nowMs < market.closeMs) return false
    return nowMs < market.closeMs + LINGER_MS / speed
  }

  function statusOf(): Pick<ConnectorStatus, 'state' | 'detail'> {
    if (state === 'stopped') return { state, detail: 'stopped' }
    if (scans === 0) return { state: 'starting', detail: 'looking for rounds' }
    if (watched.size === 0) return { state: 'degraded', detail: 'no round was found' }
    const down = sockets.status.filter((one) => one.subscriptions > 0 && !one.connected).length
    if (down > 0) return { state: 'degraded', detail: `${down} sockets are not connected` }
    if (sockets.homeless > 0) {
      return { state: 'degraded', detail: `no socket is left for ${sockets.homeless} tokens` }
    }
    if (keeper.missing > 0) {
      return { state: 'degraded', detail: `${keeper.missing} tokens have no book` }
    }
    const detail = `${watched.size} rounds recorded, ${resolution.pending} wait for resolution`
    return { state: 'recording', detail }
  }

  return {
    venue: 'venuec',
    async run(signal) {
      signal.addEventListener('abort', () => stopped.abort(), { once: true })
      if (signal.aborted) stopped.abort()
      const until = stopped.signal
      state = 'running'
      for (const { marketId, native } of unresolved) {
        roster.follow(marketId, recordIn(native, sink.now()))
      }
      const every = (ms: number, task: () => Promise<void> | void): Promise<void> =>
        repeat(ms, until, log, task)
      await Promise.all([
        sockets.run(until),
        every(NEXT_ROUNDS_MS / speed, () => discovery.askNextRounds(until)),
        every(SCAN_MS / speed, async () => {
          await discovery.scan(until)
          scans++
        }),
        every(REFRESH_MS / speed, () => discovery.refresh(until)),
        every(Math.max(TICK_MS, RESOLUTION_MS / speed), () => resolution.poll(until)),
        every(TICK_MS, () => {
          align()
          keeper.tick(until)
        }),
      ])
      await keeper.settled()
      state = 'stopped'
    },
    recover: (instruments, reason) => keeper.recover(instruments, reason, stopped.signal),
    status: () => ({
      venue: 'venuec',
      ...statusOf(),
      markets: watched.size,
      sockets: sockets.status,
      quota: {
        limit: clobQuota.limit,
        windowMs: clobQuota.windowMs,
        used: clobQuota.used,
        refused: clobQuota.refusals + gammaQuota.refusals,
      },
    }),
  }
}

/** What an earlier run knew of a market, from the venue's own words that it kept. */
function recordIn(
  native: ConnectorContext['unresolved'][number]['native'],
  received: Parameters<typeof parseGammaMarket>[1],
): MarketRecord | undefined {
  if (typeof native !== 'object' || native === null || Array.isArray(native)) return undefined
  const { gamma, clob } = native as { readonly gamma?: unknown; readonly clob?: unknown }
  try {
    if (isObject(gamma)) return parseGammaMarket(gamma, received)
    return isObject(clob) ? parseClobMarket(clob, received) : undefined
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    return undefined
  }
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
