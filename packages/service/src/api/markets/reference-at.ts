import { REFERENCE_METRIC, type Gap } from '@priorbook/sdk/domain'
import type { SampleColumns } from '@priorbook/sdk/tape'
import { asKnownAt } from '../../rows/index.ts'
import type { ApiContext } from '../route.ts'
import { gapsOfReferences, type ReferenceSeries } from './references.ts'

/** The last price of a series at an instant, the only row of `rows`; or the gap that the instant lies in. */
export type ReferenceAt =
  | { readonly rows: SampleColumns; readonly ordinal: number; readonly received: number }
  | { readonly gap: Gap }

/** Reads what a feed said at an instant; undefined where nothing was received before it in the window. */
export async function readReferenceAt(
  context: ApiContext,
  series: ReferenceSeries,
  instant: { readonly at: number; readonly knownAt?: number; readonly window: number },
): Promise<ReferenceAt | undefined> {
  const { venue, key } = series
  const { at, knownAt = Infinity, window } = instant
  const listed = await gapsOfReferences(context, [series], { start: at, end: at + 1 })
  const gaps = listed.flatMap((gap) => asKnownAt(gap, knownAt))
  // At its start the last good price is still known; at its end the next one is.
  const gap = gaps.find(({ start, end = Infinity }) => start < at && at < end)
  if (gap !== undefined) return { gap }
  const { rows, ordinals, corrupt } = await context.store.samples({
    venue,
    key,
    metric: REFERENCE_METRIC,
    order: 'desc',
    end: at + 1,
    limit: 1,
    ...(knownAt === Infinity ? {} : { knownAt }),
  })
  const [damage] = corrupt
  if (damage !== undefined) return { gap: damage }
  const received = rows.received[0]
  if (rows.count === 0 || received === undefined || received < window) return undefined
  return { rows, ordinal: ordinals[0]!, received }
}
