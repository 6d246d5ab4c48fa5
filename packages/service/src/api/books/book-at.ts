import type { Gap, MarketRecord } from '@priorbook/sdk/domain'
import type { BookRun } from '@priorbook/sdk/tape'
import type { AsOf, InstrumentRef } from '../../store/store.ts'
import { findRemoved } from '../pages/removed-rows.ts'
import type { ApiContext } from '../route.ts'

// Clocks differ a little: an instant this far ahead of ours is still the present.
const AHEAD_MICROS = 5_000_000

/** The book of an instrument at an instant, or why there is none. */
export type BookAt =
  | { readonly kind: 'book'; readonly run: BookRun }
  | { readonly kind: 'gap'; readonly gap: Gap; readonly lastBefore: AsOf['lastBefore'] }
  | { readonly kind: 'before_first'; readonly reason: 'market_not_open' | 'before_capture' }
  | { readonly kind: 'plan_window' }
  | { readonly kind: 'in_the_future' }

/** An instant, and what of the past may be read. */
export type Instant = {
  readonly at: number
  readonly knownAt?: number | undefined
  /** The start of the plan's window. */
  readonly window: number
}

/** True for an instant that has not come, of which no row is known either. */
export async function isInFuture(
  { store, now }: ApiContext,
  ref: InstrumentRef,
  at: number,
): Promise<boolean> {
  return at > now() + AHEAD_MICROS && at > ((await store.instrument(ref))?.lastReceived ?? 0)
}

/** Reads the last book received at or before an instant; none where it may have changed unseen. */
export async function readBookAt(
  context: ApiContext,
  { openTime }: Pick<MarketRecord, 'openTime'>,
  ref: InstrumentRef,
  { at, knownAt, window }: Instant,
): Promise<BookAt> {
  if (at < window) return { kind: 'plan_window' }
  const { store } = context
  if (await isInFuture(context, ref, at)) return { kind: 'in_the_future' }
  const { run, gap, lastBefore } = await store.asOf({ ...ref, at, knownAt })
  if (gap !== undefined) return { kind: 'gap', gap, lastBefore }
  if (run === undefined) {
    const removed = await findRemoved(store, ref, at)
    if (removed !== undefined) return { kind: 'gap', gap: removed, lastBefore }
    const isEarly = openTime !== undefined && at < openTime
    return { kind: 'before_first', reason: isEarly ? 'market_not_open' : 'before_capture' }
  }
  if (run.columns.received[run.from]! < window) return { kind: 'plan_window' }
  return { kind: 'book', run }
}
