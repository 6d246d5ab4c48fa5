import type { CaptureTier } from '@priorbook/sdk/domain'
import { hasBooks } from '../capture/selection/selection.ts'
import type { VenueBMarket, VenueBMarkets } from './markets.ts'
import type { TradedMarket } from './polling.ts'
import type { VenueBSockets } from './sockets.ts'

/** What decides whether a socket or the poller brings a market. */
export type PartitionInput = {
  readonly markets: VenueBMarkets
  readonly nowMs: number
  /** How deep a market is recorded. */
  tierOf(market: VenueBMarket): CaptureTier
  /** Where sockets cannot open all books at once, a market with a lower number comes first. */
  orderOf(market: VenueBMarket): number
  /** Absent without credentials. */
  readonly sockets: Pick<VenueBSockets, 'holds' | 'isMuted' | 'isPlaced' | 'place'> | undefined
  readonly lingerMs: number
  readonly historyMs: number
  /** When each market was last on a socket; updated here. */
  readonly onSocketMs: Map<string, number>
}

/** The ways in which books come. */
export type Partition = {
  /** Markets that a connected socket is to bring. */
  readonly subscribed: readonly string[]
  /** Markets whose connected socket does not bring them for now; they are polled. */
  readonly muted: readonly string[]
  /** Markets to poll, the soonest-closing first, with the time from which trades are unknown. */
  readonly polled: readonly TradedMarket[]
  /** Markets whose socket will be back soon. */
  readonly waiting: readonly string[]
  /** Markets that have no books any more. */
  readonly over: readonly string[]
}

const FAR_MS = Number.MAX_SAFE_INTEGER

type Parts = {
  readonly subscribed: string[]
  readonly muted: string[]
  readonly polled: TradedMarket[]
  readonly waiting: string[]
}

/** A market that has books now. */
type Recorded = {
  readonly market: VenueBMarket
  readonly tier: CaptureTier
  /** True for a market that was just over. */
  readonly isLingering: boolean
}

/**
 * Divides the markets between sockets and polling. A market that a socket still holds is never polled: a
 * polled book would overwrite the book that the socket's changes apply to.
 */
export function partition(input: PartitionInput): Partition {
  const { markets, nowMs, sockets, onSocketMs } = input
  const parts: Parts = { subscribed: [], muted: [], polled: [], waiting: [] }
  const over: string[] = []
  const fresh: Recorded[] = []
  for (const market of markets) {
    const { marketId: key, closeMs = FAR_MS } = market
    const tier = input.tierOf(market)
    const stage = markets.stageOf(market, nowMs)
    const isLingering = stage === 'over' && nowMs < closeMs + input.lingerMs && closeMs !== FAR_MS
    const isOver = stage === 'over' && !isLingering
    if (isOver) over.push(key)
    if (isOver || stage === 'early' || !hasBooks(tier)) {
      onSocketMs.delete(key)
      continue
    }
    const recorded = { market, tier, isLingering }
    if (tier === 'full' && sockets?.isPlaced(key) === false) fresh.push(recorded)
    else assign(recorded, input, parts)
  }
  for (const recorded of inOrder(fresh, input)) assign(recorded, input, parts)
  // The poller begins with the first.
  parts.polled.sort((a, b) => (a.closesInMs ?? FAR_MS) - (b.closesInMs ?? FAR_MS))
  return { ...parts, over }
}

function assign(
  { market, tier, isLingering }: Recorded,
  { nowMs, sockets, onSocketMs, historyMs }: PartitionInput,
  { subscribed, muted, polled, waiting }: Parts,
): void {
  const { marketId: key, openMs = 0, closeMs = FAR_MS } = market
  const place = tier === 'full' ? sockets?.place(key) : undefined
  if (place === 'up') {
    if (!sockets!.isMuted(key)) {
      subscribed.push(key)
      onSocketMs.set(key, nowMs)
      return
    }
    muted.push(key)
  }
  if (place === 'back_soon') {
    waiting.push(key)
    return
  }
  if (isLingering || nowMs < openMs || sockets?.holds(key) === true) return
  const sinceMs = onSocketMs.get(key) ?? Math.max(openMs, nowMs - historyMs)
  polled.push({ key, sinceMs, ...(closeMs !== FAR_MS && { closesInMs: closeMs - nowMs }) })
}

// Of two with the same number the one that closes sooner comes first.
function inOrder(fresh: readonly Recorded[], input: PartitionInput): readonly Recorded[] {
  return fresh
    .map((recorded) => ({ recorded, order: input.orderOf(recorded.market) }))
    .sort((a, b) => a.order - b.order || closeOf(a) - closeOf(b))
    .map(({ recorded }) => recorded)
}

function closeOf({ recorded }: { readonly recorded: Recorded }): number {
  return recorded.market.closeMs ?? FAR_MS
}
