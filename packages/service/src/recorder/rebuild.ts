import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PriorbookError, VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import { chunkHash, openChunk } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { journalStats, type JournalDamage } from '../journal/index.ts'
import type { DataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import type { InstrumentRef, Store } from '../store/store.ts'
import { catchUp } from './catch-up.ts'

/** One place where the tape and what the journal gives differ. */
export type Difference = { readonly where: string; readonly detail: string }

/** What a comparison looked at and found. */
export type RebuildReport = {
  readonly records: number
  readonly chunks: number
  readonly differences: readonly Difference[]
  readonly damage: readonly JournalDamage[]
}

const platform = createNodePlatform()

/** Derives everything again from the journal and compares it with the tape, chunk hash by chunk hash. */
export async function compareWithJournal(
  store: Store,
  data: DataFolder,
  onProgress?: (done: number, total: number) => void,
): Promise<RebuildReport> {
  return withRebuilt(data, onProgress, async (rebuilt, report) => ({
    ...report,
    ...(await compareStores(store, rebuilt)),
  }))
}

/** Derives a tape from the journal into a folder of its own, hands it over, and removes it. */
export async function withRebuilt<T>(
  data: DataFolder,
  onProgress: ((done: number, total: number) => void) | undefined,
  use: (
    rebuilt: Store,
    report: { records: number; damage: readonly JournalDamage[] },
    file: string,
  ) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(data.path, 'rebuild-'))
  const file = join(folder, 'tape.db')
  try {
    const rebuilt = openEmbeddedStore({ file })
    try {
      let records = 0
      const damage: JournalDamage[] = []
      for (const venue of journaledVenues(data)) {
        const total = journalStats(data.journal, venue).last ?? 0
        const progress = (record: number): void => onProgress?.(record, total)
        const report = await catchUp(rebuilt, data.journal, venue, progress)
        records += report.records
        damage.push(...report.damage)
      }
      await rebuilt.seal()
      return await use(rebuilt, { records, damage }, file)
    } finally {
      await rebuilt.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Compares rows of two stores by the hashes of their chunks, then gaps and market records. */
export async function compareStores(
  store: Store,
  other: Store,
): Promise<{ chunks: number; differences: Difference[] }> {
  const differences: Difference[] = []
  const names = new Map<string, InstrumentRef>()
  for (const side of [store, other]) {
    for (const { instrument } of await side.instruments()) {
      names.set(`${instrument.venue}:${instrument.key}`, instrument)
    }
  }
  let chunks = 0
  for (const [where, ref] of names) {
    const own = await hashesOf(store, ref)
    const again = await hashesOf(other, ref)
    chunks += own.length
    const length = Math.max(own.length, again.length)
    for (let index = 0; index < length; index++) {
      if (own[index] === again[index]) continue
      differences.push({
        where,
        detail: `${own[index] ?? 'nothing'} is ${again[index] ?? 'nothing'}`,
      })
      break
    }
    const gaps = JSON.stringify(await store.gaps(ref))
    if (gaps !== JSON.stringify(await other.gaps(ref))) {
      differences.push({ where, detail: 'its gaps differ' })
    }
    const market = { venue: ref.venue, id: (ref as { market?: string }).market ?? ref.key }
    const page = { limit: Number.MAX_SAFE_INTEGER }
    const revisions = JSON.stringify(await store.revisions(market.venue, market.id, page))
    if (revisions !== JSON.stringify(await other.revisions(market.venue, market.id, page))) {
      differences.push({ where, detail: 'its market record differs' })
    }
  }
  return { chunks, differences }
}

async function hashesOf(store: Store, ref: InstrumentRef): Promise<string[]> {
  const hashes: string[] = []
  for await (const { kind, metric, first, count, bytes } of store.chunks(ref)) {
    hashes.push(`${kind} ${metric} rows ${first}–${first + count - 1} ${hashOf(bytes)}`)
  }
  return hashes
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

function journaledVenues(data: DataFolder): VenueId[] {
  return VENUE_IDS.filter((venue) => journalStats(data.journal, venue).files > 0)
}
