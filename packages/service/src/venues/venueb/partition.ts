import type { Followed } from './followed.ts'
import type { PolledMarket } from './poll-plan.ts'
import type { Stream } from './stream.ts'

/** What decides who brings which market. */
export type PartitionInput = {
  readonly followed: Followed
  readonly nowMs: number
  /** Absent while no socket is connected. */
  readonly stream: Pick<Stream, 'holds' | 'isMute'> | undefined
  /** False while a reconnect is worth waiting for. */
  readonly isPolling: boolean
  readonly socketMarkets: number
  /** How long the socket keeps a market after its close, for the empty book that ends it. */
  readonly lingerMs: number
  /** How far back trades are asked for of a market that was never on the socket. */
  readonly historyMs: number
  /** When each market was last on the socket; kept up to date here. */
  readonly sinceOf: Map<string, number>
}

/** Markets for the socket, and those to poll with the time from which their trades are not known. */
export type Partition = {
  readonly socket: readonly string[]
  readonly polled: readonly (PolledMarket & { readonly sinceMs: number })[]
}

/**
 * Shares the markets out, soonest-closing first to the socket. A market that the socket still holds
 * is never polled: a polled book would overwrite what the socket's changes are applied to.
 */
export function partition(input: PartitionInput): Partition {
  const { followed, nowMs, stream, sinceOf } = input
  const socket: string[] = []
  const polled: (PolledMarket & { readonly sinceMs: number })[] = []
  const markets = [...followed.all].sort((a, b) => (a.closeMs ?? FAR) - (b.closeMs ?? FAR))
  for (const market of markets) {
    const { ticker, openMs = 0, closeMs = FAR } = market
    const stage = followed.stage(market, nowMs)
    const isLingering = stage === 'over' && nowMs < closeMs + input.lingerMs && closeMs !== FAR
    if (stage === 'early' || (stage === 'over' && !isLingering)) {
      sinceOf.delete(ticker)
      continue
    }
    if (stream !== undefined && !stream.isMute(ticker) && socket.length < input.socketMarkets) {
      socket.push(ticker)
      sinceOf.set(ticker, nowMs)
      continue
    }
    const isHeld = stream?.holds(ticker) === true
    if (isHeld || !input.isPolling || isLingering || nowMs < openMs) continue
    const sinceMs = sinceOf.get(ticker) ?? Math.max(openMs, nowMs - input.historyMs)
    const entry = { key: ticker, sinceMs }
    polled.push(closeMs === FAR ? entry : { ...entry, closesInMs: closeMs - nowMs })
  }
  return { socket, polled }
}

const FAR = Number.MAX_SAFE_INTEGER
