import type { Json, MarketRecord } from '../domain/index.ts'

/** A market record as it became known at a time. */
export type Revision = { readonly at: number; readonly record: MarketRecord }

/**
 * What of a record of a later time may be assumed to have held all along: names, ticks, fees, times.
 * How the market went and ended is left out, whatever the field, so that nothing of it leaks back.
 */
export function withoutOutcome(record: MarketRecord): MarketRecord {
  const { venue, marketId, title, openTime, closeTime, outcomes, units, native } = record
  const kept = {
    venue,
    marketId,
    title,
    openTime,
    closeTime,
    outcomes,
    units,
    topicId: record.topicId,
    eventTicker: record.eventTicker,
    eventId: record.eventId,
    seriesTicker: record.seriesTicker,
    conditionId: record.conditionId,
    slug: record.slug,
    asset: record.asset,
    window: record.window,
  }
  const said = Object.entries(STANDING).flatMap(([part, names]) => {
    const object = native[part]
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return []
    const fields = Object.entries(object as { readonly [key: string]: Json })
    return [[part, Object.fromEntries(fields.filter(([name]) => names.includes(name)))]]
  })
  const entries = Object.entries(kept).filter(([, value]) => value !== undefined)
  return {
    ...(Object.fromEntries(entries) as typeof kept),
    native: Object.fromEntries(said) as MarketRecord['native'],
  } as MarketRecord
}

// The fields of native records that rules and fees are read from, and nothing else.
const STANDING: Readonly<Record<string, readonly string[]>> = {
  topic: ['feeRateBps', 'decimalPrecision'],
  category: ['feeRateBps', 'decimalPrecision'],
  market: ['feeRateBps', 'decimalPrecision', 'price_ranges', 'fractional_trading_enabled'],
  series: ['fee_type', 'fee_multiplier'],
  gamma: ['orderPriceMinTickSize', 'orderMinSize', 'feesEnabled', 'feeSchedule', 'category'],
  new_market: ['order_price_min_tick_size', 'fees_enabled', 'fee_schedule'],
  clob: ['minimum_tick_size', 'minimum_order_size'],
}
