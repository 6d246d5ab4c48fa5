import {
  REFERENCE_METRIC,
  referenceInstrument,
  type Gap,
  type Reference,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { SampleColumns } from '@priorbook/sdk/tape'
import { asKnownAt } from '../../rows/index.ts'
import type { RowPage } from '../../store/store.ts'
import { findRemoved } from '../pages/removed-rows.ts'
import type { ApiContext } from '../route.ts'
import { gapsOfReferences, type ReferenceSeries } from './references.ts'

/** The last price of a series at an instant, as a row of columns; or the gap that the instant lies in. */
export type ReferenceAt =
  | {
      readonly rows: SampleColumns
      readonly row: number
      readonly ordinal: number
      readonly received: number
    }
  | { readonly gap: Gap }

/** What of the past may be read. */
type Known = {
  readonly knownAt?: number | undefined
  /** The start of the plan's window. */
  readonly window: number
}

// Prices that are read at once for several instants: some minutes of a feed that sends one a second.
const AT_ONCE = 256

/**
 * Reads what a feed said at an instant; undefined where nothing was received before it in the window. Where
 * retention removed the last price before the instant, its gap.
 */
export async function readReferenceAt(
  context: ApiContext,
  series: ReferenceSeries,
  at: number,
  known: Known,
): Promise<ReferenceAt | undefined> {
  return (await readReferencesAt(context, series, [at], known))[0]
}

/** The same for several instants near to each other, which costs little more than one. */
export async function readReferencesAt(
  context: ApiContext,
  series: ReferenceSeries,
  instants: readonly number[],
  { knownAt = Infinity, window }: Known,
): Promise<readonly (ReferenceAt | undefined)[]> {
  const { venue, key } = series
  const [start, end] = [Math.min(...instants), Math.max(...instants) + 1]
  const listed = await gapsOfReferences(context, [series], { start, end })
  const gaps = listed.flatMap((gap) => asKnownAt(gap, knownAt))
  const read = (before: number, limit: number): Promise<RowPage<SampleColumns>> =>
    context.store.samples({
      venue,
      key,
      metric: REFERENCE_METRIC,
      order: 'desc',
      end: before,
      limit,
      ...(knownAt === Infinity ? {} : { knownAt }),
    })
  const many = instants.length === 1 ? undefined : await read(end, AT_ONCE)
  const found: (ReferenceAt | undefined)[] = []
  for (const at of instants) {
    // At its start the last good price is still known; at its end the next one is.
    const gap = gaps.find((one) => one.start < at && at < (one.end ?? Infinity))
    if (gap !== undefined) {
      found.push({ gap })
      continue
    }
    const page = many !== undefined && reaches(many, at) ? many : await read(at + 1, 1)
    found.push(lastOf(page, at, window) ?? (await removedAt(context, series, page, at)))
  }
  return found
}

/** The gap in place of removed prices of a series, also where none is left and the series is not listed. */
export function removedReference(
  { store }: ApiContext,
  venue: VenueId,
  reference: Reference,
): Promise<Gap | undefined> {
  return findRemoved(store, referenceInstrument(venue, reference))
}

// Retention removes the oldest rows: none is left before the instant.
async function removedAt(
  { store }: ApiContext,
  series: ReferenceSeries,
  { rows }: RowPage<SampleColumns>,
  at: number,
): Promise<ReferenceAt | undefined> {
  if (rows.count > 0 && rows.received[0]! <= at) return undefined
  const gap = await findRemoved(store, series, at)
  return gap && { gap }
}

// Whether rows that were read for a later instant also tell the price of this one.
function reaches({ rows, corrupt, hasMore }: RowPage<SampleColumns>, at: number): boolean {
  return corrupt.length === 0 && (!hasMore || (rows.count > 0 && rows.received[0]! <= at))
}

function lastOf(
  { rows, ordinals, corrupt }: RowPage<SampleColumns>,
  at: number,
  window: number,
): ReferenceAt | undefined {
  const [damage] = corrupt
  if (damage !== undefined) return { gap: damage }
  let row = rows.count - 1
  while (row >= 0 && rows.received[row]! > at) row--
  const received = rows.received[row]
  if (row < 0 || received === undefined || received < window) return undefined
  return { rows, row, ordinal: ordinals[row]!, received }
}
