import type { VenueId } from '@priorbook/sdk/domain'
import { journalStats, readJournal, readRecord } from '@priorbook/sdk/journal'
import { packJournal } from '../../packages/service/src/journal/index.ts'
import { quantile, rounded } from './measure.ts'
import { createRandom } from './random.ts'

const RECORDS_READ = 200

/** Bytes of a message before and after packing, and messages per second of one core both ways. */
export type PackedJournal = {
  readonly records: number
  readonly bytesBefore: number
  readonly bytesAfter: number
  readonly archivePerSecond: number
  readonly readPerSecond: number
}

/** Packs the whole journal of a venue and reads it back. */
export async function packWhole(dir: string, venue: VenueId): Promise<PackedJournal> {
  const before = journalStats(dir, venue)
  // One core: packing and the check of every record are one after the other.
  const began = process.cpuUsage()
  await packJournal({ dir, venue, withNewest: true })
  const used = process.cpuUsage(began)
  const after = journalStats(dir, venue)
  const reading = process.cpuUsage()
  let records = 0
  for (const item of readJournal({ dir, venue })) {
    if (item.kind === 'block') records += item.count
  }
  const read = process.cpuUsage(reading)
  if (records !== before.records) throw new Error('records are missing after packing')
  return {
    records,
    bytesBefore: rounded(before.bytes / records),
    bytesAfter: rounded(after.bytes / records),
    archivePerSecond: rounded(records / secondsOf(used)),
    readPerSecond: rounded(records / secondsOf(read)),
  }
}

function secondsOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1e6
}

/** The time to find records of a packed journal by their numbers. */
export function measureRecords(dir: string, venue: VenueId): Record<string, number> {
  const { records } = journalStats(dir, venue)
  const random = createRandom(11)
  const times = Array.from({ length: RECORDS_READ }, () => {
    const number = random.integer(1, records)
    const start = performance.now()
    readRecord({ dir, venue }, number)
    return performance.now() - start
  })
  return {
    journal_record_ms: rounded(quantile(times, 0.5)),
    journal_record_p99_ms: rounded(quantile(times, 0.99)),
  }
}
