import type { CaptureLog } from '../capture/contract.ts'
import type { CatalogClient } from './catalog-client.ts'
import { hasEnded, type Followed, type Roster } from './roster.ts'

/** Polls markets after their close until Gamma says how they ended: announcements can be missing. */
export interface ResolutionPoll {
  /** Asks for every market whose time has come. */
  poll(signal: AbortSignal): Promise<void>
  /** Markets that closed and have not resolved. */
  readonly pending: number
}

/** What polling for resolutions needs. */
export type ResolutionOptions = {
  readonly roster: Roster
  readonly client: CatalogClient
  readonly speed: number
  readonly log: CaptureLog
  now(): number
}

// Rounds resolve some seconds after their end (16 s in the recordings): often at first, then rarely.
const STEPS: readonly { readonly untilMs: number; readonly everyMs: number }[] = [
  { untilMs: 120_000, everyMs: 2_000 },
  { untilMs: 900_000, everyMs: 10_000 },
  { untilMs: 21_600_000, everyMs: 60_000 },
  { untilMs: Infinity, everyMs: 600_000 },
]
/** When CLOB named the winner and Gamma says nothing for this long, nothing more is expected. */
const GAMMA_LATE_MS = 1_800_000

type Poll = { sinceMs: number; nextMs: number; asks: number }

/** Creates the poll. */
export function createResolutionPoll(options: ResolutionOptions): ResolutionPoll {
  const { roster, client, speed, log } = options
  const polls = new Map<string, Poll>()

  function enlist(nowMs: number): void {
    for (const market of roster.all) {
      if (market.closeMs > nowMs && !hasEnded(market)) {
        // Closed and opened again: it trades, and its end is still to come.
        polls.delete(market.conditionId)
        continue
      }
      if (polls.has(market.conditionId)) continue
      const sinceMs = Math.min(nowMs, market.closeMs)
      polls.set(market.conditionId, { sinceMs, nextMs: nowMs, asks: 0 })
    }
  }

  function finish(market: Followed, nowMs: number): boolean {
    const poll = polls.get(market.conditionId)
    const isLate = poll !== undefined && (nowMs - poll.sinceMs) * speed > GAMMA_LATE_MS
    if (!market.isResolved && !(market.hasWinner && isLate)) return false
    log.info({ market: market.conditionId, slug: market.slug }, 'venue C: resolved')
    polls.delete(market.conditionId)
    roster.forget(market)
    return true
  }

  return {
    get pending() {
      return polls.size
    },
    async poll(signal) {
      const nowMs = options.now()
      enlist(nowMs)
      const due = [...polls].filter(([, { nextMs }]) => nextMs <= nowMs)
      if (due.length === 0) return
      const ids = due.map(([id]) => id)
      const named = await client.byCondition(ids, true, signal)
      // Between its end and Gamma's flag a market is listed as open still.
      const missing = ids.filter((id) => !named.has(id))
      if (missing.length > 0) await client.byCondition(missing, false, signal)
      for (const [id, poll] of due) {
        const market = roster.get(id)
        if (market === undefined || finish(market, nowMs)) {
          polls.delete(id)
          continue
        }
        // CLOB often knows the winner first; every other time is enough.
        if (!market.hasWinner && poll.asks % 2 === 1) await client.clobMarket(id, signal)
        poll.asks++
        const ageMs = (nowMs - poll.sinceMs) * speed
        const step = STEPS.find(({ untilMs }) => ageMs < untilMs) ?? STEPS.at(-1)!
        poll.nextMs = nowMs + step.everyMs / speed
      }
    },
  }
}
