import type { CaptureSink } from '../capture/contract.ts'
import { isOver, type Discovery, type VenueCMarkets } from './markets.ts'
import type { CatalogClient } from './pages.ts'

/** What finding all markets of the venue needs. */
export type VenueWalkOptions = {
  readonly markets: VenueCMarkets
  readonly client: CatalogClient
  /** True for a market about which was decided before. */
  isKnown(marketId: string): boolean
  readonly sink: Pick<CaptureSink, 'now' | 'note'>
  /** How often everything is listed; between two walks only what is new. */
  readonly walkMs: number
  /** When the last complete walk began, in wall milliseconds; a run goes on after it. */
  readonly walkedMs: number | undefined
  /** Which rules walk; see `rulesNumber`. */
  readonly rules: number
  /** Our wall clock in milliseconds. */
  readonly now: () => number
}

// Open markets end at any time: some wait for their resolution, others run for years.
const PAST_MS = 90 * 86_400_000
const FUTURE_MS = 20 * 365 * 86_400_000
/** Max markets whose records are requested again at a time. */
const REFRESHED = 300

/**
 * Finds all markets of the venue: by a walk over its list at times, and between walks by the newest markets. A
 * restart goes on with the walk before it.
 */
export class VenueWalk implements Discovery {
  readonly #options: VenueWalkOptions
  /** Who was refreshed, the longest ago first. */
  readonly #refreshed = new Map<string, true>()
  #walkedMs: number | undefined
  scans = 0
  /** A walk that failed is tried again soon; one that is not due costs nothing. */
  readonly scanMs = 5_000

  constructor(options: VenueWalkOptions) {
    this.#options = options
    const { walkedMs, now, walkMs } = options
    if (walkedMs !== undefined && now() - walkedMs < walkMs) this.#walkedMs = walkedMs
  }

  /** Walks where that is due. */
  async scan(signal: AbortSignal): Promise<void> {
    const { client, sink, walkMs, now } = this.#options
    const nowMs = now()
    if (this.#walkedMs !== undefined && nowMs - this.#walkedMs < walkMs) {
      this.scans++
      return
    }
    const since = sink.now()
    if (!(await client.listEnding(nowMs - PAST_MS, nowMs + FUTURE_MS, signal))) return
    sink.note({ note: 'walked', since, rules: this.#options.rules })
    this.#walkedMs = nowMs
    this.scans++
  }

  /** Reads the newest markets, until it comes to those that are known. */
  async findNew(signal: AbortSignal): Promise<void> {
    const { client } = this.#options
    // The first walk finds them too.
    if (this.#walkedMs === undefined) return
    await client.listNewest((id) => this.#options.isKnown(id), signal)
  }

  /** Requests some markets again, those that were not for longest: volume, status, times, and early ends. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { client, markets } = this.#options
    for (const market of markets) {
      const { marketId } = market
      if (isOver(market)) this.#refreshed.delete(marketId)
      else if (!this.#refreshed.has(marketId)) this.#refreshed.set(marketId, true)
    }
    const due = [...this.#refreshed.keys().take(REFRESHED)]
    for (const id of due) {
      this.#refreshed.delete(id)
      if (markets.get(id) !== undefined) this.#refreshed.set(id, true)
    }
    const named = await client.byCondition(due, false, signal)
    // Gamma hides markets that closed before their time.
    const hidden = due.filter((id) => !named.has(id) && markets.get(id) !== undefined)
    await client.byCondition(hidden, true, signal)
  }
}
