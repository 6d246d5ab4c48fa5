import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import { listSegments, toKindCode } from '@priorbook/sdk/journal/format'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packJournal, readJournal } from '../../packages/service/src/journal/index.ts'
import { createService, type ServiceProcess } from '../service-process.ts'
import { install, type Installed } from './install.ts'

// The format of packed files, read by a program that was written from its page alone.
const PACKAGES = { pip: ['zstandard==0.25.0'], npm: [] }
const SCRIPT = join(import.meta.dirname, 'packed_journal.py')
const RECORDED_MS = 8_000

let installed: Installed
let service: ServiceProcess

beforeAll(async () => {
  service = await createService(['--upstream', 'emulator', '--speed', '20', '--workers', '1'])
  await service.start()
  const [found] = await Promise.all([install(PACKAGES), pause(RECORDED_MS)])
  installed = found
  await service.stop()
}, 300_000)

afterAll(async () => {
  await service.destroy()
  installed.remove()
})

// What the Python program prints: the records and a hash of all of them.
function hashOf(dir: string, venue: VenueId): string {
  const hash = createHash('sha256')
  let records = 0
  for (const item of readJournal({ dir, venue })) {
    if (item.kind === 'damage') throw new Error(item.reason)
    for (let index = 0; index < item.count; index++) {
      const bytes = item.bytes[index]!
      const kind = toKindCode(item.kinds[index]!, item.slots[index]!)
      hash.update(`${item.first + index} ${item.received[index]} ${kind} ${bytes.length} `)
      hash.update(bytes)
    }
    records += item.count
  }
  return `${records} ${hash.digest('hex')}`
}

it('is read by a program that shares no code with it, record by record', async () => {
  const dir = join(service.data, 'journal')
  for (const venue of VENUE_IDS) {
    const before = hashOf(dir, venue)
    const report = await packJournal({ dir, venue, withNewest: true })
    expect(report.records).toBeGreaterThan(100)
    // How much smaller depends on how much came together, which is the pace of the machine; the benchmark has figures.
    expect(report.after).toBeLessThan(report.before)
    const [file, ...others] = listSegments(dir, venue)
    expect(others).toEqual([])
    const { code, text } = await installed.run(installed.python('python'), [SCRIPT, file!.path])
    expect([code, text.trim()]).toEqual([0, before])
  }
})
