import type { CaptureLog, CaptureSink } from '../contract.ts'
import { noteLosses } from '../note-losses.ts'
import type { TierChange } from './selection.ts'

const MARKETS_PER_NOTE = 500

/** Writes into the journal that markets are recorded in another tier from now on. */
export function noteTier(
  { tier, why, markets }: TierChange,
  sink: Pick<CaptureSink, 'note'>,
  log: CaptureLog,
): void {
  if (markets.length === 0) return
  log.info({ tier, why, markets: markets.length }, 'markets change their tier')
  for (let from = 0; from < markets.length; from += MARKETS_PER_NOTE) {
    const part = markets.slice(from, from + MARKETS_PER_NOTE)
    sink.note({ note: 'tier', tier, why, markets: part })
  }
}

/** Closes the books of sockets that are polled from now on: a poll does not go on from them. */
export function noteLeftSockets(keys: readonly string[], sink: Pick<CaptureSink, 'note'>): void {
  noteLosses(sink, 'not_selected', 'the book is polled from now on', keys)
}
