import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { journalStats, readJournal, readRecord } from '@priorbook/sdk/journal'
import type { VenueId } from '@priorbook/sdk/domain'
import { packJournal } from '../../packages/service/src/journal/index.ts'
import { stopChild } from './child.ts'
import { rounded } from './measure.ts'
import { createRandom } from './random.ts'

const SERVER = fileURLToPath(
  new URL('../../packages/service/bin/priorbook-server.mjs', import.meta.url),
)
const EMULATED_SECONDS = 25
const AUDITS = 200

/** Packs the journal of an import: bytes of a message, speed both ways, and the time to find one record. */
export async function measurePacked(dir: string): Promise<Record<string, number>> {
  const before = journalStats(dir, 'venueb')
  // One core: packing and the check of every record are one after the other.
  const began = process.cpuUsage()
  await packJournal({ dir, venue: 'venueb', withNewest: true })
  const used = process.cpuUsage(began)
  const after = journalStats(dir, 'venueb')
  const reading = process.cpuUsage()
  let records = 0
  for (const item of readJournal({ dir, venue: 'venueb' })) {
    if (item.kind === 'block') records += item.count
  }
  const read = process.cpuUsage(reading)
  if (records !== before.records) throw new Error('records are missing after packing')
  const random = createRandom(11)
  const times = Array.from({ length: AUDITS }, () => {
    const number = random.integer(1, records)
    const start = performance.now()
    readRecord({ dir, venue: 'venueb' }, number)
    return performance.now() - start
  }).sort((a, b) => a - b)
  return {
    journal_bytes_per_message: rounded(after.bytes / records),
    archive_per_s: rounded(records / secondsOf(used)),
    journal_read_per_s: rounded(records / secondsOf(read)),
    journal_record_ms: rounded(times[AUDITS / 2]!),
    journal_record_p99_ms: rounded(times[Math.floor(AUDITS * 0.99)]!),
  }
}

function secondsOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1e6
}

/** The same of venues that have no recording of that size: some seconds of the emulator, recorded by the service. */
export async function measureEmulated(folder: string): Promise<Record<string, number>> {
  const data = join(folder, 'emulated')
  const args = ['serve', '--data', data, '--role', 'capture', '--ops-port', '0', '--speed', '20']
  const child = spawn(process.execPath, [SERVER, ...args], { stdio: ['pipe', 'ignore', 'inherit'] })
  await pause(EMULATED_SECONDS * 1000)
  await stopChild(child)
  const dir = join(data, 'journal')
  const figures: Record<string, number> = {}
  for (const venue of ['venuea', 'venuec'] satisfies VenueId[]) {
    const before = journalStats(dir, venue)
    await packJournal({ dir, venue, withNewest: true })
    const after = journalStats(dir, venue)
    figures[`journal_bytes_per_message_before_${venue}`] = rounded(before.bytes / before.records)
    figures[`journal_bytes_per_message_${venue}`] = rounded(after.bytes / after.records)
  }
  return figures
}
