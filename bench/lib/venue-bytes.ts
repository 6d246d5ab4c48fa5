import { spawn } from 'node:child_process'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { toMicros, VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import { openJournalWriter } from '../../packages/service/src/journal/index.ts'
import { toDataFolder } from '../../packages/service/src/lib/data-folder.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { measureAudits } from './audits.ts'
import { stopChild } from './child.ts'
import { rounded } from './measure.ts'
import { packWhole } from './packed-journal.ts'
import { packCopy } from './packed-tape.ts'

const SERVER = fileURLToPath(
  new URL('../../packages/service/bin/priorbook-server.mjs', import.meta.url),
)
const EMULATED_SECONDS = 60
const SPEED = 20
// The recordings of these have single messages, not markets.
const VENUES = ['venuea', 'venuec'] satisfies VenueId[]

/** Bytes of venues that have no recorded market: on a minute of the emulator, and on the messages that were recorded. */
export async function measureVenueBytes(
  folder: string,
  recordings: string | undefined,
): Promise<Record<string, number>> {
  const emulated = await Promise.all(VENUES.map((venue) => recordEmulated(folder, venue)))
  const figures: Record<string, number> = {}
  for (const [index, venue] of VENUES.entries()) {
    Object.assign(figures, await measureEmulated(emulated[index]!, venue))
    if (recordings === undefined) continue
    const dir = join(folder, `recorded-${venue}`)
    writeRecorded(dir, venue, join(recordings, venue))
    const { records, bytesBefore, bytesAfter } = await packWhole(dir, venue)
    figures[`recorded_messages_${venue}`] = records
    figures[`journal_bytes_per_message_recorded_before_${venue}`] = bytesBefore
    figures[`journal_bytes_per_message_recorded_${venue}`] = bytesAfter
  }
  return figures
}

/** Lets the service record one venue of the emulator; returns its data folder. */
async function recordEmulated(folder: string, venue: VenueId): Promise<string> {
  const data = join(folder, `emulated-${venue}`)
  const args = ['serve', '--data', data, '--role', 'capture', '--ops-port', '0']
  const others = VENUE_IDS.filter((one) => one !== venue)
  const disabled = others.map((one) => [`PRIORBOOK_${one.toUpperCase()}_ENABLED`, 'false'])
  const child = spawn(process.execPath, [SERVER, ...args, '--speed', String(SPEED)], {
    stdio: ['pipe', 'ignore', 'inherit'],
    env: { ...process.env, ...Object.fromEntries(disabled) },
  })
  await pause(EMULATED_SECONDS * 1000)
  await stopChild(child)
  return data
}

async function measureEmulated(path: string, venue: VenueId): Promise<Record<string, number>> {
  const data = toDataFolder(path)
  const store = openEmbeddedStore({ file: data.tape })
  await store.seal()
  const instruments = await store.instruments()
  const observations = instruments.reduce((sum, { lastSequence }) => sum + lastSequence, 0)
  await store.close()
  const tape = await packCopy(data.tape, join(path, 'packed'))
  const tapeBytes = rounded(statSync(tape).size / observations)
  const journal = await packWhole(data.journal, venue)
  const audit = await measureAudits(tape, data.journal)
  return {
    [`messages_${venue}`]: journal.records,
    [`observations_${venue}`]: observations,
    [`bytes_per_observation_${venue}`]: tapeBytes,
    [`journal_bytes_per_message_before_${venue}`]: journal.bytesBefore,
    [`journal_bytes_per_message_${venue}`]: journal.bytesAfter,
    [`bytes_together_${venue}`]: rounded(tapeBytes + journal.bytesAfter),
    [`archive_per_s_${venue}`]: journal.archivePerSecond,
    [`journal_read_per_s_${venue}`]: journal.readPerSecond,
    [`audit_${venue}_ms`]: audit.medianMs,
    [`audit_${venue}_p99_ms`]: audit.p99Ms,
    [`audit_${venue}_cpu_ms`]: audit.cpuMs,
  }
}

// Every line of a list of messages, and every other file as one message, in the order of their names.
function writeRecorded(dir: string, venue: VenueId, folder: string): void {
  const writer = openJournalWriter({ dir, venue, origin: 'import', recorder: 'bench' })
  const start = Date.UTC(2026, 7, 1) * 1000
  let count = 0
  for (const file of globSync('**/*.{json,jsonl,jsonl.gz}', { cwd: folder }).sort()) {
    const stored = readFileSync(join(folder, file))
    const text = (file.endsWith('.gz') ? gunzipSync(stored) : stored).toString('latin1')
    const messages = file.endsWith('.json') ? [text] : text.split('\n').filter(Boolean)
    for (const message of messages) {
      const received = toMicros(start + ++count * 1000)
      writer.append(received, 'message', Buffer.from(message, 'latin1'), 1)
    }
    writer.commit()
  }
  writer.close()
}
