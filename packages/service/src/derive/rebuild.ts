import { areSameGaps } from './compare-gaps.ts'
import { areSameRevisions } from './compare-records.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  PriorbookError,
  REFERENCE_MARKET,
  VENUE_IDS,
  type MarketRecord,
  type VenueId,
} from '@priorbook/sdk/domain'
import { chunkHash, openChunk } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { journalStats, type JournalDamage } from '@priorbook/sdk/journal'
import type { DataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import {
  historyKeysOf,
  MERGED_FACT,
  REMOVED_MARKETS,
  type InstrumentRef,
  type MarketQuery,
  type Store,
  type StoreReader,
} from '../store/store.ts'
import { catchUp, type CatchUpReport } from '../recorder/catch-up.ts'
import { findDifferentRow } from './compare-rows.ts'

/** One difference between the tape and what the journal yields. */
export type Difference = { readonly where: string; readonly detail: string }

/** The result of a comparison. */
export type RebuildReport = {
  readonly records: number
  readonly chunks: number
  readonly differences: readonly Difference[]
  readonly damage: readonly JournalDamage[]
}

const platform = createNodePlatform()

/** Derives everything again from the journal and compares it with the tape, chunk hash by chunk hash. */
export async function compareWithJournal(
  store: StoreReader,
  data: DataFolder,
  onProgress?: (done: number, total: number) => void,
): Promise<RebuildReport> {
  await refuseMerged(store)
  await refuseTrimmed(store, data)
  // Records that the tape does not have yet are no difference: a backup copies the journal after the tape.
  const until = new Map<VenueId, number>()
  for (const venue of VENUE_IDS) until.set(venue, await store.appliedPosition(venue))
  return withRebuilt({ data, onProgress, until }, async (rebuilt, report) => ({
    ...report,
    ...(await compareStores(store, rebuilt)),
  }))
}

/** What a rebuild derives, and from where. */
export type RebuildOptions = {
  readonly data: DataFolder
  readonly onProgress?: ((done: number, total: number) => void) | undefined
  /** The last record of each venue to derive; absent derives all. */
  readonly until?: ReadonlyMap<VenueId, number>
}

/** Derives a tape from the journal in a temporary folder, passes it to `use`, and removes it. */
export async function withRebuilt<T>(
  options: RebuildOptions,
  use: (rebuilt: StoreReader, report: CatchUpReport, file: string) => Promise<T>,
): Promise<T> {
  const { data } = options
  const folder = mkdtempSync(join(data.path, 'rebuild-'))
  const file = join(folder, 'tape.db')
  try {
    const rebuilt = openEmbeddedStore({ file })
    try {
      const report = await deriveAll(rebuilt, options)
      return await use(rebuilt, report, file)
    } finally {
      await rebuilt.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Rejects a journal whose beginning retention removed: the tape has rows that it no longer yields. */
export async function refuseTrimmed(store: StoreReader, data: DataFolder): Promise<void> {
  for (const venue of journaledVenues(data)) {
    const { first = 1 } = journalStats(data.journal, venue)
    if (first === 1 || (await store.appliedPosition(venue)) === 0) continue
    throw new PriorbookError(
      'invalid_argument',
      `the journal of ${venue} begins at record ${first}, because retention removed those before: the tape cannot be derived from it again`,
    )
  }
}

/** Derives everything that the journal of a folder holds into an empty store, and seals it. */
export async function deriveAll(
  store: Store,
  { data, onProgress, until }: RebuildOptions,
): Promise<CatchUpReport> {
  let records = 0
  const damage: JournalDamage[] = []
  for (const venue of journaledVenues(data)) {
    const last = until?.get(venue)
    if (last === 0) continue
    const total = last ?? journalStats(data.journal, venue).last ?? 0
    const progress = (record: number): void => onProgress?.(record, total)
    const report = await catchUp(store, data.journal, venue, progress, last)
    records += report.records
    damage.push(...report.damage)
  }
  await store.seal()
  return { records, damage }
}

/** Rejects a merged tape: it was not derived from the journal in its folder. */
export async function refuseMerged(store: StoreReader): Promise<void> {
  if ((await store.fact(MERGED_FACT)) === undefined) return
  throw new PriorbookError(
    'invalid_argument',
    'this tape was merged from several recorders: check their folders, and merge again',
  )
}

/**
 * Compares rows of two stores by the hashes of their chunks, and row by row where one of them has not
 * packed its newest rows yet; then gaps and market records.
 */
export async function compareStores(
  store: StoreReader,
  other: StoreReader,
): Promise<{ chunks: number; differences: Difference[] }> {
  const differences: Difference[] = []
  const markets = await marketsOf(store, other)
  const removed = await removeRemoved(store, markets)
  let chunks = 0
  for (const [where, ref] of await streamsOf(store, other, markets)) {
    if (removed.has(where)) continue
    const own = await chunksOf(store, ref)
    const gaps = await store.gaps(ref)
    const isCut = gaps.some(({ reason }) => reason === 'retention')
    const again = (await chunksOf(other, ref)).filter((chunk) => !isCut || isKept(chunk, own))
    chunks += own.length
    const isSame =
      own.length === again.length && own.every((one, at) => one.text === again[at]!.text)
    if (!isSame) {
      const samples = [...own, ...again].filter(({ kind }) => kind === 'sample')
      const metrics = [...new Set(samples.map(({ metric }) => metric))]
      const row = await findDifferentRow(store, other, ref, metrics, isCut)
      if (row !== undefined) differences.push({ where, detail: `${row} differs` })
    }
    // Gaps without a record are those of the store: removed and damaged chunks.
    const derived = gaps.filter(({ journal }) => journal > 0)
    if (!areSameGaps(derived, await other.gaps(ref))) {
      differences.push({ where, detail: 'its gaps differ' })
    }
  }
  const page = { limit: Number.MAX_SAFE_INTEGER }
  for (const [where, { venue, marketId }] of markets) {
    const stored = await store.revisions(venue, marketId, page)
    if (!areSameRevisions(stored, await other.revisions(venue, marketId, page))) {
      differences.push({ where, detail: 'its market record differs' })
    }
  }
  return { chunks, differences }
}

// Takes markets that retention removed off the list; returns the names of their streams.
async function removeRemoved(
  store: StoreReader,
  markets: Map<string, MarketRecord>,
): Promise<Set<string>> {
  const names = new Set<string>()
  for (const venue of VENUE_IDS) {
    const before = await store.fact(REMOVED_MARKETS.before(venue))
    if (before === undefined) continue
    for (const [where, record] of markets) {
      if (record.venue !== venue || (record.closeTime ?? 0) >= before) continue
      if ((await store.market(venue, record.marketId)) !== undefined) continue
      markets.delete(where)
      names.add(where)
      for (const key of historyKeysOf(record)) names.add(`${venue}:${key}`)
      for (const { tokenId } of record.outcomes) names.add(`${venue}:${tokenId}`)
    }
  }
  return names
}

const MARKETS_PAGE = 1000

async function marketsOf(...stores: readonly StoreReader[]): Promise<Map<string, MarketRecord>> {
  const markets = new Map<string, MarketRecord>()
  for (const store of stores) {
    let after: MarketQuery['after']
    for (;;) {
      const query = { limit: MARKETS_PAGE, ...(after === undefined ? {} : { after }) }
      const page = await store.markets(query)
      for (const { record, sortTime } of page.markets) {
        const { venue, marketId } = record
        markets.set(`${venue}:${marketId}`, record)
        after = { openTime: sortTime, venue, marketId }
      }
      if (!page.hasMore) break
    }
  }
  return markets
}

// Books by instrument, samples by the tokens of markets, past trades and their gaps by both, each venue's
// clock and its reference prices.
async function streamsOf(
  store: StoreReader,
  other: StoreReader,
  markets: ReadonlyMap<string, MarketRecord>,
): Promise<Map<string, InstrumentRef>> {
  const streams = new Map<string, InstrumentRef>()
  const add = (venue: VenueId, key: string): void => {
    streams.set(`${venue}:${key}`, { venue, key })
  }
  for (const side of [store, other]) {
    for (const { instrument } of await side.instruments()) add(instrument.venue, instrument.key)
  }
  for (const record of markets.values()) {
    const { venue, outcomes } = record
    for (const key of historyKeysOf(record)) add(venue, key)
    for (const { tokenId } of outcomes) if (tokenId !== undefined) add(venue, tokenId)
  }
  for (const venue of VENUE_IDS) {
    add(venue, 'clock')
    for (const side of [store, other]) {
      for (const { instrument } of await side.series(venue, REFERENCE_MARKET)) {
        add(venue, instrument.key)
      }
    }
  }
  return streams
}

type ChunkText = {
  readonly kind: string
  readonly metric: string
  readonly first: number
  readonly text: string
}

// Whether retention left the rows of a chunk: those before the first that is stored are gone.
function isKept(chunk: ChunkText, own: readonly ChunkText[]): boolean {
  const rest = own.filter(({ kind, metric }) => kind === chunk.kind && metric === chunk.metric)
  return rest.length > 0 && chunk.first >= rest[0]!.first
}

async function chunksOf(store: StoreReader, ref: InstrumentRef): Promise<ChunkText[]> {
  const chunks: ChunkText[] = []
  for await (const { kind, metric, first, count, bytes } of store.chunks(ref)) {
    const text = `${kind} ${metric} rows ${first}–${first + count - 1} ${hashOf(bytes)}`
    chunks.push({ kind, metric, first, text })
  }
  return chunks
}

function hashOf(bytes: Uint8Array): string {
  try {
    const hash = chunkHash(openChunk(bytes, platform), platform)
    return Buffer.from(hash).toString('hex').slice(0, 16)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    return 'damaged'
  }
}

/** The venues whose journal a data folder contains. */
export function journaledVenues(data: DataFolder): VenueId[] {
  return VENUE_IDS.filter((venue) => journalStats(data.journal, venue).files > 0)
}
