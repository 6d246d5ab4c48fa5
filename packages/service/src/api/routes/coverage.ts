import { DATASET_FLOORS, VENUE_IDS } from '@priorbook/sdk/domain'
import {
  contractOf,
  DATASET_COVERAGE_SCHEMA,
  INSTRUMENT_COVERAGE_SCHEMA,
  membersOf,
  timeJson,
  toGapJson,
  toMarketJson,
  type InstrumentCoverageJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'
import { answerRows } from '../pages/answer-rows.ts'
import { presentNotices, removedMarkets, windowNotice } from '../pages/notices.ts'
import { tableStyle } from '../pages/page.ts'
import { coverageDays, millis, printDay, toDayJson, toDataset } from '../markets/coverage.ts'
import { findAnywhere, sees, venuesOf } from '../markets/find.ts'
import { instrumentsOf, type MarketInstrument } from '../markets/instruments.ts'
import { toPastTrades } from '../markets/past-trades.ts'
import { PlanFilter } from '../markets/plan-filter.ts'
import { defineRoute, type ApiContext, type Route } from '../route.ts'

/** What was captured, and since when. */
export const COVERAGE_ROUTE: Route = defineRoute(
  contractOf('coverage'),
  async (request, context) => {
    const { query, grant } = request
    const { venue, market } = query
    const style = tableStyle(request)
    if (venue !== undefined) grant.requireVenue(venue)
    if (market === undefined) {
      const plan = new PlanFilter(grant)
      for (const one of venue === undefined ? VENUE_IDS : []) {
        if (!sees(grant, one)) plan.leaveOutVenue(one)
      }
      const floors = DATASET_FLOORS.filter(
        (floor) => sees(grant, floor.venue) && (venue === undefined || floor.venue === venue),
      )
      const data = await Promise.all(floors.map((floor) => toDataset(context, floor, style)))
      const gone = await removedMarkets(context, venuesOf(grant, venue), 0)
      return answerRows(request, {
        type: 'coverage',
        rows: data,
        columns: membersOf(DATASET_COVERAGE_SCHEMA),
        schema: DATASET_COVERAGE_SCHEMA,
        meta: {},
        notices: presentNotices(gone, plan.notice),
      })
    }
    const state = await findAnywhere(context, grant, market, venue)
    const window = grant.windowStart(context.now())
    const data: InstrumentCoverageJson[] = []
    for (const instrument of await instrumentsOf(context, state.record)) {
      data.push(await toInstrument(context, state, instrument, window, style))
    }
    const opened = state.record.openTime ?? window
    const range = { asked: opened, window, from: Math.max(opened, window), end: context.now() }
    return answerRows(request, {
      type: 'coverage',
      rows: data,
      columns: membersOf(INSTRUMENT_COVERAGE_SCHEMA),
      schema: INSTRUMENT_COVERAGE_SCHEMA,
      meta: { market: toMarketJson(state, style) },
      notices: presentNotices(windowNotice(range)),
    })
  },
)

async function toInstrument(
  context: ApiContext,
  { record }: MarketState,
  instrument: MarketInstrument,
  window: number,
  style: ValueStyle,
): Promise<InstrumentCoverageJson> {
  const { venue, key } = instrument
  const coverage = await context.store.coverage({ venue, key })
  const now = context.now()
  const life = { open: record.openTime, close: Math.min(record.closeTime ?? now, now) }
  const days = coverageDays(coverage, life, window)
  const observations = days.reduce((sum, day) => sum + day.observations, 0)
  const observed = days.reduce((sum, day) => sum + day.observedMicros, 0)
  const first = days.find((day) => day.observations > 0)
  const complete = days.find(({ condition }) => condition === 'available')
  const facts = coverage?.facts
  const hasRows = facts !== undefined && facts.firstSequence <= facts.lastSequence
  const isVisible = hasRows && facts.lastReceived >= window
  const gaps = (coverage?.gaps ?? []).filter(({ end }) => (end ?? Infinity) > window)
  return {
    kind: 'instrument',
    venue,
    market_id: instrument.marketId,
    key,
    outcome: instrument.outcome ?? null,
    token_id: instrument.tokenId ?? null,
    first_time: isVisible ? timeJson(Math.max(facts.firstReceived, window), style) : null,
    last_time: isVisible ? timeJson(facts.lastReceived, style) : null,
    first_day: first === undefined ? null : printDay(first.day),
    first_complete_day: complete === undefined ? null : printDay(complete.day),
    observations,
    mean_spacing_ms: observations < 2 ? null : millis(observed / (observations - 1), style),
    days: days.map((day) => toDayJson(day, style)),
    gaps: gaps.map((gap) => toGapJson(gap, style)),
    backfilled_trades: await toPastTrades(context, record, instrument, window, style),
  }
}
