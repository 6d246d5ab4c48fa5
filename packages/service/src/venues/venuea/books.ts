import type { CaptureSink } from '../capture/contract.ts'
import type { VenueAMarket, VenueAMarkets } from './markets.ts'
import { QUIET_SHARE, SILENT_INTERVALS, type Periods } from './periods.ts'

/**
 * When the book of a market is requested next. The socket brings books too, so a request is due only after
 * a silence, or at once for a closed book, with growing waits while requests do not help.
 */
export function bookDueMs(market: VenueAMarket, expectedMs: number, periods: Periods): number {
  const { needsBook, bookMs, requestedMs, recoveryCalls } = market
  const quietMs = expectedMs * QUIET_SHARE
  const againMs = needsBook ? periods.recoveryMs(recoveryCalls) : periods.retryMs
  const wantedMs = needsBook ? bookMs : bookMs + quietMs
  return Math.max(wantedMs, requestedMs + Math.min(quietMs, againMs))
}

/**
 * Notes the open markets without any book for three expected intervals, once per silence. The venue is
 * silent where a book was requested in vain; the quota is short where none could be requested.
 */
export function noteSilence(
  markets: VenueAMarkets,
  sink: CaptureSink,
  nowMs: number,
  hasBooks: (marketId: string) => boolean = () => true,
): void {
  const silent: string[] = []
  const unrequested: string[] = []
  for (const market of markets) {
    if (!markets.isOpen(market, nowMs) || !hasBooks(market.marketId)) {
      // The silence of a market counts from its opening.
      market.bookMs = nowMs
      continue
    }
    if (market.isSilent) continue
    if (nowMs - market.bookMs <= SILENT_INTERVALS * markets.expectedMs(market, nowMs)) continue
    market.isSilent = true
    const wasRequested = market.isRequested || market.requestedMs > market.bookMs
    ;(wasRequested ? silent : unrequested).push(market.marketId)
  }
  if (silent.length > 0) {
    const why = `neither a frame nor a book for ${SILENT_INTERVALS} expected intervals`
    sink.note({ note: 'loss', reason: 'venue_silent', why, keys: silent })
  }
  if (unrequested.length > 0) {
    const why = `no frame for ${SILENT_INTERVALS} expected intervals, and no call left for a book`
    sink.note({ note: 'loss', reason: 'quota', why, keys: unrequested })
  }
}
