import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import { syncFolder } from '../../../journal/disk.ts'
import { toDataFolder, type DataFolder } from '../../../lib/data-folder.ts'
import { makeFolder } from '../../../lib/make-folder.ts'
import { openEmbeddedStore } from '../open.ts'
import { openWriterLock } from '../writer-lock.ts'
import type { Maker } from '../log.ts'
import { sameMaker } from '../tail.ts'
import { MERGED_FACT, type AppendBatch, type StoreWriter } from '../../store.ts'
import { noRows, type BatchRows } from '../../../recorder/batch.ts'

const OWN_NAMES = /^(tape\.db(-wal|-shm|\.lock(-journal)?)?|journal)$/

/**
 * Lets `work` fill a folder next to the target and renames it to the target when it is complete. A
 * kill leaves the old target in place or, between the two renames, next to it; the next merge then
 * restores it.
 */
export async function replaceFolder<T>(
  target: string,
  work: (data: DataFolder) => Promise<T>,
): Promise<T> {
  const path = resolve(target)
  const fresh = `${path}.merging`
  const old = `${path}.before`
  if (existsSync(old) && !existsSync(path)) renameSync(old, path)
  rmSync(old, { recursive: true, force: true })
  await refuseForeign(toDataFolder(path))
  removeUnfinished(toDataFolder(fresh))
  makeFolder(fresh)
  try {
    const result = await work(toDataFolder(fresh))
    if (existsSync(path)) renameSync(path, old)
    renameSync(fresh, path)
    syncFolder(dirname(path))
    rmSync(old, { recursive: true, force: true })
    return result
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

// Only an earlier merge is ever replaced.
async function refuseForeign(data: DataFolder): Promise<void> {
  if (!existsSync(data.path)) return
  const names = readdirSync(data.path)
  if (names.length === 0) return
  if (names.every((name) => OWN_NAMES.test(name)) && existsSync(data.tape)) {
    const store = openEmbeddedStore({ file: data.tape })
    try {
      if ((await store.fact(MERGED_FACT)) !== undefined) return
    } finally {
      await store.close()
    }
  }
  throw new PriorbookError(
    'invalid_argument',
    `${data.path} is neither empty nor a merged tape: name a new folder`,
  )
}

// Left by a merge that was killed; a merge that still runs holds its lock.
function removeUnfinished(data: DataFolder): void {
  if (existsSync(join(data.path, 'tape.db.lock'))) openWriterLock(`${data.tape}.lock`).close()
  rmSync(data.path, { recursive: true, force: true })
}

// Max rows per flush, which share one sync.
const FULL_ROWS = 8192

type Draft = { readonly venue: VenueId; readonly maker: Maker; readonly rows: BatchRows }

/** Collects merged rows into batches, a new one at every change of recorder. */
export class MergeSink {
  private readonly store: StoreWriter
  private drafts: Draft[] = []
  private waiting = 0
  private step = 0

  constructor(store: StoreWriter) {
    this.store = store
  }

  /** True when `flush` should be awaited before more is added. */
  get isFull(): boolean {
    return this.waiting >= FULL_ROWS
  }

  /** The batch for a maker's next row; call it once per row. */
  rowsOf(venue: VenueId, maker: Maker): BatchRows {
    this.waiting++
    const last = this.drafts.at(-1)
    if (last !== undefined && last.venue === venue && sameMaker(last.maker, maker)) return last.rows
    const rows = noRows()
    this.drafts.push({ venue, maker, rows })
    return rows
  }

  /** Makes all collected rows durable. */
  async flush(): Promise<void> {
    const batches = this.drafts.map(({ venue, maker, rows }): AppendBatch => ({
      ...rows,
      ...maker,
      venue,
      position: ++this.step,
    }))
    this.drafts = []
    this.waiting = 0
    await Promise.all(batches.map((batch) => this.store.append(batch)))
  }

  /** Ends a venue: its journal is applied up to a record. */
  async finish(
    venue: VenueId,
    maker: Maker,
    position: number,
    facts: Readonly<Record<string, number>>,
  ): Promise<void> {
    await this.flush()
    await this.store.append({ ...maker, venue, position, facts })
  }
}
