/**
 * MB/s of a download in each format, from sealed chunks on one core:
 * `PRIORBOOK_RECORDINGS=… npx node packages/service/src/api/bulk/bulk.bench.ts`; without recordings
 * books are invented. Bytes are those before any content encoding; Parquet and tape are packed inside.
 * The time is the processor's: neighbours on the same machine do not count.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toDataFolder } from '../../lib/data-folder.ts'
import { importRecordings } from '../../derive/import.ts'
import { findRecordings } from '../../derive/merge-recordings.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../../store/embedded/open.ts'
import { createBulkCaller } from './bulk.testing.ts'
import { makeMarket } from './generated-market.testing.ts'
import { FILE_FORMATS } from '@priorbook/sdk/wire'

const folder = mkdtempSync(join(tmpdir(), 'priorbook-bulk-bench-'))
const data = toDataFolder(folder)
const store = openEmbeddedStore({ file: data.tape })
try {
  const query = await fill(store)
  await store.seal()
  const caller = createBulkCaller(store)
  console.log(query)
  console.log('format        rows        MB     MB/s  k rows/s    B/row   RSS MB')
  for (const format of FILE_FORMATS) {
    let best = Infinity
    let bytes = 0
    for (let turn = 0; turn < 3; turn++) {
      const start = process.cpuUsage()
      bytes = 0
      const { body } = await caller.open(`${query}&format=${format}`)
      for await (const piece of body) bytes += piece.length
      const { user, system } = process.cpuUsage(start)
      best = Math.min(best, (user + system) / 1000)
    }
    const { rows } = (await caller.manifest(`${query}&estimate=true&formats=${format}`)).data as {
      rows: number
    }
    const cells = [
      format.padEnd(8),
      String(rows).padStart(10),
      (bytes / 1e6).toFixed(1).padStart(10),
      (bytes / 1e3 / best).toFixed(0).padStart(9),
      (rows / best).toFixed(0).padStart(10),
      (bytes / rows).toFixed(1).padStart(9),
      (process.memoryUsage().rss / 1e6).toFixed(0).padStart(9),
    ]
    console.log(cells.join(''))
  }
} finally {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
}

async function fill(into: EmbeddedStore): Promise<string> {
  const recordings = process.env['PRIORBOOK_RECORDINGS']
  if (recordings === undefined) {
    for (const batch of makeMarket(200_000)) await into.append(batch)
    return 'venue=venueb&market_id=KXMADE-1'
  }
  const { files } = findRecordings([join(recordings, 'venueb', 'ws-gold15m')])
  await importRecordings({ store: into, journalDir: data.journal, files: files.slice(0, 12) })
  const busy = (await into.instruments('venueb')).toSorted(
    (a, b) => b.lastSequence - a.lastSequence,
  )[0]!
  return `venue=venueb&market_id=${busy.instrument.market}`
}
