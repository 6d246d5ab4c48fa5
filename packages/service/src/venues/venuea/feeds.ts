import type { CaptureLog, CaptureSink, ConnectorStatus } from '../capture/contract.ts'
import { MAX_SLOT } from '../capture/contract.ts'
import { createShard, TOPICS_PER_SOCKET, type Shard } from './shard.ts'
import type { VenueACredentials } from './signing.ts'

/** What the sockets need of their surroundings. */
export type FeedsOptions = {
  readonly wsUrl: string
  readonly credentials: VenueACredentials
  readonly sink: CaptureSink
  readonly log: CaptureLog
  /** Now by the venue's clock, for signatures. */
  venueNowMs(): number
  /** A book of the market came. */
  onBook(marketId: string): void
  /** The market is inside its window: a socket that carries it should talk. */
  isLive(marketId: string): boolean
  /** A socket was refused for its credentials. */
  onRefused(status: number): void
  /** A socket is open. */
  onOpen(): void
}

/** The sockets that carry the books of all open markets. */
export interface Feeds {
  /** Carries exactly these markets from now on; sockets that it opens end when the signal aborts. */
  carry(marketIds: ReadonlySet<string>, signal: AbortSignal): void
  /** Subscribes a market again that its socket says nothing of. */
  renew(marketId: string): void
  /** Ends all sockets; `carry` starts new ones. */
  stop(): Promise<void>
  status(): ConnectorStatus['sockets']
}

/** Creates the sockets, none of which is open before there is a market to carry. */
export function createFeeds(options: FeedsOptions): Feeds {
  const shards = new Map<number, Shard>()
  const shardOf = new Map<string, Shard>()

  function shardWithRoom(signal: AbortSignal): Shard | undefined {
    for (const shard of shards.values()) {
      if (!shard.isOver && shard.size < TOPICS_PER_SOCKET) return shard
    }
    for (let slot = 1; slot <= MAX_SLOT; slot++) {
      if (shards.has(slot)) continue
      const shard = createShard(slot, options, signal)
      shards.set(slot, shard)
      return shard
    }
    return undefined
  }

  return {
    carry(marketIds, signal) {
      for (const [slot, shard] of shards) if (shard.isOver) shards.delete(slot)
      for (const [marketId, shard] of shardOf) {
        if (marketIds.has(marketId) && !shard.isOver) continue
        shard.drop(marketId)
        shardOf.delete(marketId)
      }
      for (const marketId of marketIds) {
        if (shardOf.has(marketId)) continue
        const shard = shardWithRoom(signal)
        if (shard === undefined) break
        shard.add(marketId)
        shardOf.set(marketId, shard)
      }
      for (const [slot, shard] of shards) {
        if (shard.size > 0) {
          shard.start()
          continue
        }
        // A socket cannot be opened without a topic, so one that has none left is ended.
        void shard.stop()
        shards.delete(slot)
      }
    },
    renew(marketId) {
      shardOf.get(marketId)?.renew(marketId)
    },
    async stop() {
      const ending = [...shards.values()].map((shard) => shard.stop())
      shards.clear()
      shardOf.clear()
      await Promise.all(ending)
    },
    status() {
      return [...shards.values()].map((shard) => shard.status())
    },
  }
}
