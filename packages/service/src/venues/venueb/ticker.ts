import { canonicalDecimal, VENUES, type MarketRecord, type Micros } from '@priorbook/sdk/domain'

/** What a ticker says by the venue's rules of naming; absent where it does not follow them. */
export type TickerFacts = Pick<
  MarketRecord,
  'seriesTicker' | 'eventTicker' | 'asset' | 'window' | 'strike'
>

// SERIES-EVENT-MARKET: the event's ticker is everything before the last part, the series its first part.
const PARTS = /^[^-]+-.+(?=-[^-]+$)/
const SERIES = /^([^-]+)-/
// KXBTC15M: rounds of 15 minutes.
const ROUND = /(\d{1,3})([MH])$/
// T115249.99: above this price.
const STRIKE = /-T(\d{1,15}(?:\.\d{1,8})?)$/

/** Reads the ticker of a market, beside the tickers that the venue names itself: `KXBTC15M-26AUG110115-15`, `KXBTCD-26AUG1117-T115249.99`. */
export function readTicker(
  ticker: string,
  {
    series,
    event,
  }: { readonly series?: string | undefined; readonly event?: string | undefined } = {},
): TickerFacts {
  const eventTicker = event ?? PARTS.exec(ticker)?.[0]
  const seriesTicker = series ?? SERIES.exec(eventTicker ?? '')?.[1]
  const asset = VENUES.venueb.assetInTicker?.exec(seriesTicker ?? ticker)?.[1]
  const [, length, unit] = ROUND.exec(seriesTicker ?? '') ?? []
  const strike = STRIKE.exec(ticker)?.[1]
  return {
    ...(seriesTicker === undefined ? {} : { seriesTicker }),
    ...(eventTicker === undefined ? {} : { eventTicker }),
    ...(asset === undefined ? {} : { asset }),
    ...(length === undefined ? {} : { window: `${Number(length)}${unit!.toLowerCase()}` }),
    ...(strike === undefined ? {} : { strike: canonicalDecimal(strike) }),
  }
}

const WINDOWS: readonly (readonly [name: string, seconds: number])[] = [
  ['5m', 300],
  ['15m', 900],
  ['1h', 3_600],
  ['4h', 14_400],
  ['1d', 86_400],
]

/** The window of a market whose series does not name one: its length, where that is a usual window. */
export function windowOf(openTime?: Micros, closeTime?: Micros): string | undefined {
  if (openTime === undefined || closeTime === undefined) return undefined
  return WINDOWS.find(([, seconds]) => closeTime - openTime === seconds * 1_000_000)?.[0]
}
