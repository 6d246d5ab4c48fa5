import {
  PriorbookError,
  toMicros,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '@priorbook/sdk/domain'
import { backfillFacts, type StoreWriter } from '../store/store.ts'
import type { CaptureLog } from '../venues/capture/contract.ts'
import type {
  BackfillProgress,
  BackfillUpstream,
  CatalogueBackfill,
  KnownRound,
  RoundCounts,
} from '../venues/capture/definition.ts'
import { definitionOf } from '../venues/registry.ts'
import type { Note } from '../recorder/notes.ts'
import { withIntake, type IntakeOptions } from './backfill-intake.ts'

/** What a backfill of a venue's catalogue needs. */
export type CatalogueBackfillOptions = IntakeOptions & {
  readonly log: CaptureLog
  readonly upstream: BackfillUpstream
  readonly asset: string
  /** Rounds that lie in [start, end] as a whole are filled in. */
  readonly start: Micros
  readonly end: Micros
  readonly onProgress?: (progress: BackfillProgress) => void
}

/** The result of a backfill. */
export type BackfillReport = RoundCounts & {
  readonly calls: number
  readonly quarantined: number
  /** The signal aborted it before the end; another run continues from there. */
  readonly isStopped: boolean
}

const PAGE = 1000
/** Rounds read after the range; the nearest one names the last round in it. */
const ROUNDS_AFTER = 4

/**
 * Fills in the catalogue of past rounds: answers go to the journal first, then market revisions and the
 * position of the walk to the store. Rounds that are complete in the store are not requested again, so
 * the next run continues one that was killed.
 */
export async function backfillCatalogue(
  options: CatalogueBackfillOptions,
  signal: AbortSignal,
): Promise<BackfillReport> {
  const { store, venue, asset, start, end, log } = options
  const { backfill } = definitionOf(venue)
  if (backfill === undefined) {
    throw new PriorbookError('invalid_argument', `${venue} has no history to fill in`)
  }
  return withIntake(options, async (intake) => {
    const known = await readKnown(store, venue, backfill, { asset, start, end })
    const { sink } = intake
    const walk = backfill.walk({ ...options.upstream, asset, start, end, known, sink, log }, signal)
    try {
      for (;;) {
        const { done, value } = await walk.next()
        if (done === true) {
          const { counts, calls } = value
          await intake.flush()
          return { ...counts, calls, quarantined: intake.quarantined, isStopped: signal.aborted }
        }
        intake.note(toPosition(asset, value))
        await intake.flush()
        options.onProgress?.(value)
      }
    } finally {
      await intake.flush()
    }
  })
}

function toPosition(asset: string, { window, reached, next }: BackfillProgress): Note {
  const topic = Number(next)
  const isNumber = next !== undefined && String(topic) === next && Number.isSafeInteger(topic)
  return {
    note: 'backfill',
    family: toFamily(asset, window),
    reached,
    ...(isNumber ? { topic_id: topic } : {}),
  }
}

/** The rounds in a range that the store knows, and the position where the last walk stopped. */
async function readKnown(
  store: StoreWriter,
  venue: VenueId,
  backfill: CatalogueBackfill<unknown>,
  { asset, start, end }: { readonly asset: string; readonly start: Micros; readonly end: Micros },
): Promise<KnownRound[]> {
  const known: KnownRound[] = []
  const toRounds = ({ record }: { record: MarketRecord }): KnownRound[] =>
    toKnown(record, backfill.isComplete(record))
  for (const window of backfill.windows) {
    const query = { venue, asset, window } as const
    const { markets } = await store.markets({ ...query, start: end, limit: ROUNDS_AFTER })
    const rounds = markets.flatMap(toRounds)
    type After = { openTime: number; venue: string; marketId: string }
    for (let after: After | undefined, hasMore = true; hasMore;) {
      const from = after === undefined ? {} : { after }
      const page = await store.markets({ ...query, start, end, limit: PAGE, ...from })
      rounds.push(...page.markets.flatMap(toRounds))
      const last = page.markets.at(-1)
      hasMore = page.hasMore && last !== undefined
      if (last === undefined) break
      after = { openTime: last.sortTime, venue, marketId: last.record.marketId }
    }
    known.push(...rounds, ...(await readPosition(store, venue, toFamily(asset, window), rounds[0])))
  }
  return known
}

function toKnown(record: MarketRecord, isComplete: boolean): KnownRound[] {
  const { window, topicId, openTime: open, closeTime: close } = record
  if (window === undefined || topicId === undefined) return []
  if (open === undefined || close === undefined) return []
  return [{ window, topicId, open, close, isComplete }]
}

async function readPosition(
  store: StoreWriter,
  venue: VenueId,
  family: string,
  like: KnownRound | undefined,
): Promise<KnownRound[]> {
  const names = backfillFacts(venue, family)
  const reached = await store.fact(names.reached)
  const topic = await store.fact(names.topic)
  if (reached === undefined || topic === undefined || topic === 0) return []
  // Its open time follows from the length of a stored round.
  if (like === undefined) return []
  const { window } = like
  const close = toMicros(reached)
  const open = toMicros(reached - (like.close - like.open))
  return [{ window, topicId: String(topic), open, close, isComplete: false }]
}

function toFamily(asset: string, window: string): string {
  return `${asset}:${window}`
}
