import type { DatasetFloor } from '@priorbook/sdk/domain'
import { timeJson, type DatasetCoverageJson, type ValueStyle } from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'
import type { ApiContext } from '../route.ts'
import { DAY, printDay } from './covered-days.ts'
import { instrumentsOf } from './instruments.ts'

/** Renders a dataset with the time of its first row. */
export async function toDataset(
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

// The store keeps markets by open time, so the oldest ones hold the first row of a dataset.
const OLDEST = 20

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
      const { markets } = await store.markets({ venue, ...filters, limit: OLDEST })
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
