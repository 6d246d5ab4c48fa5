import type { FoldedObservation } from '../lib/naive-fold.ts'

/** Renders one observation the slow and plain way; every peer's text is compared with it. */
export function renderRow(observation: FoldedObservation): string {
  const { ticker, sequence, bidPrice, bidSize, askPrice, askSize } = observation
  const bid = bidPrice[0] ?? null
  const ask = askPrice[0] ?? null
  const hasBoth = bid !== null && ask !== null
  const yes = { price: bidPrice.map(toDollars), size: bidSize.map(toContracts) }
  const asks = { price: askPrice.map(toDollars), size: askSize.map(toContracts) }
  return JSON.stringify({
    id: `venueb:${ticker}:${sequence}`,
    venue: 'venueb',
    market_id: ticker,
    condition_id: null,
    event_id: null,
    series_ticker: null,
    outcome: null,
    token_id: null,
    source_time: observation.sourceMicros === null ? null : toIso(observation.sourceMicros),
    received_time: toIso(observation.receivedMicros),
    sequence,
    best_bid: bid === null ? null : toDollars(bid),
    best_ask: ask === null ? null : toDollars(ask),
    mid: hasBoth ? (bid + ask) / 20000 : null,
    spread: hasBoth ? (ask - bid) / 10000 : null,
    bid_levels: bidPrice.length,
    ask_levels: askPrice.length,
    flags: [],
    native: { sid: observation.venueSid, seq: observation.venueSeq },
    bids: yes,
    asks,
    yes,
    no: { price: askPrice.map((price) => toDollars(10000 - price)), size: asks.size },
  })
}

/** Integers of 1e-4 dollars as the nearest double, which prints as the exact decimal. */
export function toDollars(price: number): number {
  return price / 10000
}

/** Integers of 1e-2 contracts as the nearest double, which prints as the exact decimal. */
export function toContracts(size: number): number {
  return size / 100
}

function toIso(micros: number): string {
  const seconds = new Date(Math.floor(micros / 1_000_000) * 1000).toISOString().slice(0, 19)
  return `${seconds}.${String(micros % 1_000_000).padStart(6, '0')}Z`
}
