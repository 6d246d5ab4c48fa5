import type { CaptureLog } from '../capture/contract.ts'
import { isOver, isPastEnd, type VenueCMarket, type VenueCMarkets } from './markets.ts'
import type { CatalogClient } from './pages.ts'

/** What polling for resolutions needs. */
export type ResolutionOptions = {
  readonly markets: VenueCMarkets
  readonly client: CatalogClient
  readonly speed: number
  readonly log: CaptureLog
  /** Our wall clock in milliseconds. */
  readonly now: () => number
}

// Rounds resolve some seconds after their end (16 s in the recordings): often at first, then rarely.
const STEPS: readonly { readonly untilMs: number; readonly everyMs: number }[] = [
  { untilMs: 120_000, everyMs: 2_000 },
  { untilMs: 900_000, everyMs: 10_000 },
  { untilMs: 21_600_000, everyMs: 60_000 },
  { untilMs: Infinity, everyMs: 600_000 },
]
/** When CLOB named the winner and Gamma is silent for this long, nothing more is expected. */
const GAMMA_LATE_MS = 1_800_000
/** Max markets that CLOB is asked for at a time, one by one; others wait for their next turn. */
const CLOB_CALLS = 50

type Poll = { readonly sinceMs: number; nextMs: number; asked: number }

/** Polls markets after their close until Gamma says how they ended, because announcements can be missed. */
export class ResolutionPoll {
  readonly #options: ResolutionOptions
  readonly #polls = new Map<string, Poll>()

  constructor(options: ResolutionOptions) {
    this.#options = options
  }

  /** How many markets have closed and not resolved. */
  get pending(): number {
    return this.#polls.size
  }

  /** Requests every market that is due. */
  async poll(signal: AbortSignal): Promise<void> {
    const { client, now } = this.#options
    const nowMs = now()
    this.#enlist(nowMs)
    const due = [...this.#polls].filter(([, { nextMs }]) => nextMs <= nowMs)
    if (due.length === 0) return
    const ids = due.map(([id]) => id)
    const named = await client.byCondition(ids, true, signal)
    // Between its end and Gamma's flag a market is still listed as open.
    const missing = ids.filter((id) => !named.has(id))
    if (missing.length > 0) await client.byCondition(missing, false, signal)
    let asked = 0
    for (const [id, poll] of due) {
      if (await this.#continue(id, poll, nowMs, asked < CLOB_CALLS, signal)) asked++
    }
  }

  #enlist(nowMs: number): void {
    for (const market of this.#options.markets) {
      const { marketId, closeMs } = market
      if (!isPastEnd(market, nowMs) && !isOver(market)) {
        // It was closed and is open again: its end is still to come.
        this.#polls.delete(marketId)
      } else if (!this.#polls.has(marketId)) {
        this.#polls.set(marketId, { sinceMs: Math.min(nowMs, closeMs), nextMs: nowMs, asked: 0 })
      }
    }
  }

  // True where CLOB was asked.
  async #continue(
    id: string,
    poll: Poll,
    nowMs: number,
    mayAsk: boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { markets, client, speed } = this.#options
    const ageMs = (nowMs - poll.sinceMs) * speed
    const market = markets.get(id)
    if (market === undefined || this.#finish(market, ageMs)) {
      this.#polls.delete(id)
      return false
    }
    // CLOB often knows the winner first; every other time is enough.
    const isAsked = mayAsk && !market.hasWinner && poll.asked % 2 === 1
    if (isAsked) await client.clobMarket(id, signal)
    poll.asked++
    const step = STEPS.find(({ untilMs }) => ageMs < untilMs) ?? STEPS.at(-1)!
    poll.nextMs = nowMs + step.everyMs / speed
    return isAsked
  }

  #finish(market: VenueCMarket, ageMs: number): boolean {
    const { markets, log } = this.#options
    if (!market.isResolved && !(market.hasWinner && ageMs > GAMMA_LATE_MS)) return false
    log.info({ market: market.marketId, slug: market.slug }, 'venue C: resolved')
    markets.delete(market)
    return true
  }
}
