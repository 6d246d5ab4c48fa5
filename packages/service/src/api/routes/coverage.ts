import { DATASET_FLOORS, type DatasetFloor } from '@priorbook/sdk/domain'
import {
  timeJson,
  toGapJson,
  toMarketJson,
  contractOf,
  type DatasetCoverageJson,
  type InstrumentCoverageJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'
import { instrumentsOf, type MarketInstrument } from '../markets/instruments.ts'
import { defineRoute, type ApiContext, type Route } from '../route.ts'
import { coverageDays, DAY, millis, printDay, toDayJson } from '../markets/covered-days.ts'
import { findAnywhere, sees } from '../markets/find.ts'
import { styleOf, windowNotice, noticeMeta } from '../catalogue/page.ts'

/** What is there, and since when. */
export const COVERAGE_ROUTE: Route = defineRoute(
  contractOf('coverage'),
  async (request, context) => {
    const { query, grant } = request
    const { venue, market } = query
    const style = styleOf(query)
    if (venue !== undefined) grant.requireVenue(venue)
    if (market === undefined) {
      const floors = DATASET_FLOORS.filter(
        (floor) => sees(grant, floor.venue) && (venue === undefined || floor.venue === venue),
      )
      const data = await Promise.all(floors.map((floor) => toDataset(context, floor, style)))
      return { kind: 'data', data, count: data.length, meta: {} }
    }
    const state = await findAnywhere(context, grant, market, venue)
    const window = grant.windowStart(context.now())
    const data: InstrumentCoverageJson[] = []
    for (const instrument of await instrumentsOf(context, state.record)) {
      data.push(await toInstrument(context, state, instrument, window, style))
    }
    const opened = state.record.openTime ?? window
    const range = { asked: opened, window, from: Math.max(opened, window), end: context.now() }
    return {
      kind: 'data',
      data,
      count: data.length,
      meta: { market: toMarketJson(state, style), ...noticeMeta(windowNotice(range)) },
    }
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
  const isVisible = facts !== undefined && facts.lastReceived >= window
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
  }
}

async function toDataset(
  context: ApiContext,
  floor: DatasetFloor,
  style: ValueStyle,
): Promise<DatasetCoverageJson> {
  const started = await context.store.fact(`capture_started:${floor.venue}`)
  const first = await firstTime(context, floor)
  return {
    kind: 'dataset',
    venue: floor.venue,
    dataset: floor.dataset,
    assets: floor.assets ?? null,
    windows: floor.windows ?? null,
    floor_time: timeJson(floor.start, style),
    year_inferred: floor.yearInferred === true,
    backfilled: floor.backfilled === true,
    capture_started_time: timeJson(started, style),
    first_time: timeJson(first, style),
    first_day: first === undefined ? null : printDay(Math.floor(first / DAY) * DAY),
  }
}

// Markets are kept by open time: the first few tell where a dataset begins.
const LOOKED_AT = 20

async function firstTime(context: ApiContext, floor: DatasetFloor): Promise<number | undefined> {
  const { store } = context
  const { venue, dataset, assets = [undefined], windows = [undefined] } = floor
  let first: number | undefined
  const meet = (time: number | undefined): void => {
    if (time !== undefined && (first === undefined || time < first)) first = time
  }
  for (const asset of assets) {
    for (const window of windows) {
      const filters = { ...(asset && { asset }), ...(window && { window }) }
      const { markets } = await store.markets({ venue, ...filters, limit: LOOKED_AT })
      if (dataset === 'catalogue') meet(markets[0]?.sortTime)
      else for (const market of markets) meet(await firstRow(context, market, dataset))
    }
  }
  return first
}

async function firstRow(
  context: ApiContext,
  { record }: MarketState,
  dataset: DatasetFloor['dataset'],
): Promise<number | undefined> {
  const { store } = context
  const times: number[] = []
  const query = { venue: record.venue, order: 'asc', limit: 1 } as const
  if (dataset === 'metrics') {
    for (const { tokenId: key } of record.outcomes) {
      if (key === undefined) continue
      const { rows, ordinals } = await store.samples({ ...query, key, metric: 'chance' })
      if (ordinals.length > 0) times.push(rows.received[0]!)
    }
  } else {
    for (const { key } of await instrumentsOf(context, record)) {
      if (dataset === 'books') {
        const facts = await store.instrument({ venue: record.venue, key })
        if (facts !== undefined) times.push(facts.firstReceived)
      } else {
        const { rows, ordinals } = await store.trades({ ...query, key })
        if (ordinals.length > 0) times.push(rows.received[0]!)
      }
    }
  }
  return times.length === 0 ? undefined : Math.min(...times)
}
