import { explainEmpty } from '../catalogue/empty.ts'
import { TRADES_NOT_RECONSTRUCTED } from '../catalogue/trades.ts'
import type { ApiContext, Notice } from '../route.ts'
import type { BulkScope } from './scope.ts'
import { keysOf } from './sources.ts'

/** Why a file has no rows, where its scope does not say it already. */
export async function explainNothing(
  context: ApiContext,
  scope: BulkScope,
): Promise<readonly Notice[]> {
  const { venue, dataset, metric, market, start, end, windowStart: window, notices } = scope
  if (venue === 'venuea' && dataset === 'trades') return [TRADES_NOT_RECONSTRUCTED]
  const isSaid = notices.some(({ code }) => code === 'plan_window' || code === 'future_range')
  if (start >= end && isSaid) return []
  if (market === undefined) {
    const message = `No market of the family has ${dataset} in the range.`
    return [{ code: 'no_rows_in_range', message }]
  }
  const { record } = market
  const keys = await keysOf(context, record, dataset, metric)
  const kind = dataset === 'samples' ? 'metrics' : dataset
  const range = { asked: start, window, from: start, end }
  return [await explainEmpty(context, record, kind, keys, range)]
}
