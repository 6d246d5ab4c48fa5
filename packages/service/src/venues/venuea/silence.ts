import type { CaptureSink } from '../capture/contract.ts'
import { SILENT_INTERVALS } from './periods.ts'
import type { Rounds } from './rounds.ts'

/**
 * Notes the open markets of which neither a frame nor a book came for three expected intervals, once
 * per outage. Where a book was asked for in vain the venue is silent; where none could be asked for,
 * the quota was short.
 */
export function noteSilence(rounds: Rounds, sink: CaptureSink, nowMs: number): void {
  const silent: string[] = []
  const unasked: string[] = []
  for (const market of rounds.markets.values()) {
    if (!rounds.isOpen(market, nowMs)) {
      // Before it trades nothing is expected of it: its silence counts from its opening.
      market.heardMs = nowMs
      continue
    }
    if (market.isSilent) continue
    if (nowMs - market.heardMs <= SILENT_INTERVALS * rounds.expectedMs(market, nowMs)) continue
    market.isSilent = true
    const wasAsked = market.isAsking || market.askedMs > market.heardMs
    ;(wasAsked ? silent : unasked).push(market.marketId)
  }
  if (silent.length > 0) {
    const why = `neither a frame nor a book for ${SILENT_INTERVALS} expected intervals`
    sink.note({ note: 'loss', reason: 'venue_silent', why, keys: silent })
  }
  if (unasked.length > 0) {
    const why = `no frame for ${SILENT_INTERVALS} expected intervals, and no call left for a book`
    sink.note({ note: 'loss', reason: 'quota', why, keys: unasked })
  }
}
