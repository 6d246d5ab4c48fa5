import type { MarketRecord } from '@priorbook/sdk/domain'
import type { SampleContext, SampleMetric } from '@priorbook/sdk/wire'
import { instrumentsOf } from '../markets/instruments.ts'
import type { ApiContext } from '../route.ts'
import type { Dataset } from './params.ts'

/** The series of one metric of a market: one an outcome that has a token. */
export function sampleSeriesOf(
  record: MarketRecord,
  metric: SampleMetric,
): readonly SampleContext[] {
  const { venue, marketId, topicId, conditionId } = record
  return record.outcomes.flatMap(({ label: outcome, tokenId }) =>
    tokenId === undefined
      ? []
      : [{ venue, key: tokenId, metric, marketId, topicId, conditionId, outcome, tokenId }],
  )
}

/** The names under which the rows of a dataset of one market are stored. */
export async function keysOf(
  context: ApiContext,
  record: MarketRecord,
  dataset: Dataset,
  metric: SampleMetric | undefined,
): Promise<readonly string[]> {
  const named: readonly { readonly key: string }[] =
    dataset === 'samples' ? sampleSeriesOf(record, metric!) : await instrumentsOf(context, record)
  return named.map(({ key }) => key)
}

/** The received times [first, last) between which a dataset of a market has rows. */
export async function spanOf(
  context: ApiContext,
  record: MarketRecord,
  dataset: Dataset,
  metric: SampleMetric | undefined,
): Promise<{ first: number; last: number } | undefined> {
  const { store } = context
  const { venue } = record
  const times: number[] = []
  for (const key of await keysOf(context, record, dataset, metric)) {
    if (dataset === 'books') {
      const facts = await store.instrument({ venue, key })
      if (facts !== undefined) times.push(facts.firstReceived, facts.lastReceived)
      continue
    }
    for (const order of ['asc', 'desc'] as const) {
      const query = { venue, key, order, limit: 1 }
      const { rows } =
        dataset === 'trades'
          ? await store.trades(query)
          : await store.samples({ ...query, metric: metric! })
      if (rows.count > 0) times.push(rows.received[0]!)
    }
  }
  return times.length === 0
    ? undefined
    : { first: Math.min(...times), last: Math.max(...times) + 1 }
}
