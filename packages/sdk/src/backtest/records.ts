import { parseScaled, VENUES, type Json, type MarketRecord } from '../domain/index.ts'
import type { ReplayInstrument } from '../replay/index.ts'
import { MONEY_DECIMALS, MONEY_ONE } from './money.ts'
import { TRADING } from './venues/index.ts'

/** A market record and the time at which it became known. */
export type Revision = { readonly at: number; readonly record: MarketRecord }

/**
 * The part of a later record that a run may assume from its start: names, ticks, fees and times. Every
 * field that could reveal how the market went or ended is left out.
 */
export function withoutOutcome(record: MarketRecord): MarketRecord {
  const kept = {
    venue: record.venue,
    marketId: record.marketId,
    title: record.title,
    openTime: record.openTime,
    closeTime: record.closeTime,
    outcomes: record.outcomes,
    units: record.units,
    topicId: record.topicId,
    eventTicker: record.eventTicker,
    eventId: record.eventId,
    seriesTicker: record.seriesTicker,
    conditionId: record.conditionId,
    slug: record.slug,
    asset: record.asset,
    window: record.window,
  }
  const native = Object.entries(TRADING[record.venue].staticFields).flatMap(([part, names]) => {
    const object = record.native[part]
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return []
    const fields = Object.entries(object as { readonly [key: string]: Json })
    return [[part, Object.fromEntries(fields.filter(([name]) => names.includes(name)))]]
  })
  const entries = Object.entries(kept).filter(([, value]) => value !== undefined)
  return {
    ...(Object.fromEntries(entries) as typeof kept),
    native: Object.fromEntries(native) as MarketRecord['native'],
  } as MarketRecord
}

/** True unless the record says that trading has ended or is paused. */
export function isTrading(record: MarketRecord | undefined): boolean {
  const status = record?.status
  return status === undefined || status === 'open' || status === 'scheduled'
}

/** True while the outcome is disputed. */
export function isDisputed(record: MarketRecord | undefined): boolean {
  return record?.status === 'disputed' || record?.resolution?.state === 'disputed'
}

/**
 * Money units that a share of each outcome pays, once the venue's resolution is final. Payouts are
 * never inferred from prices.
 */
export function finalPayouts(record: MarketRecord): readonly number[] | undefined {
  const { resolution, winningOutcome, outcomes, status } = record
  const isFinal = resolution?.state === 'final' || status === 'resolved' || status === 'voided'
  if (!isFinal) return undefined
  if (resolution?.payouts !== undefined) {
    const payouts = resolution.payouts.map((payout) => parseScaled(payout, MONEY_DECIMALS))
    return payouts.length >= 2 ? payouts : undefined
  }
  if (winningOutcome === undefined || status === 'voided' || outcomes.length < 2) return undefined
  const index = outcomes.findIndex(({ label }) => label === winningOutcome)
  return index < 0 ? undefined : outcomes.map((_, each) => (each === index ? MONEY_ONE : 0))
}

/** The outcome whose prices an instrument's book shows. */
export function outcomeOf(record: MarketRecord | undefined, instrument: ReplayInstrument): number {
  if (VENUES[instrument.venue].booksPer === 'market') return 0
  const found = record?.outcomes.find(
    ({ tokenId, label }) => tokenId === instrument.key || label === instrument.outcome,
  )
  return found?.index ?? 0
}

/** The event that a market belongs to, or the market itself: one independent draw in statistics. */
export function eventOf(record: MarketRecord | undefined, market: string): string {
  const event = record?.eventTicker ?? record?.eventId ?? record?.topicId
  return event === undefined ? market : `${record!.venue}:${event}`
}
