import { readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { listSegments } from '@priorbook/sdk/journal/format'
import { expect, onTestFinished, test } from 'vitest'
import { openJournalWriter, readJournal } from '../../packages/service/src/journal/index.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { createService } from '../service-process.ts'
import { until } from './recorder-process.ts'

// The packer has the lowest priority of the machine, so that it waits for everything else that runs.
const PATIENCE_MS = 240_000

const SEGMENT_BYTES = 30_000
const LEAST_BYTES = 6 * SEGMENT_BYTES

/** How large the journal of venue B is. */
function sizeOf(dir: string): number {
  return listSegments(dir, 'venueb').reduce((sum, { path }) => sum + statSync(path).size, 0)
}

/** Writes the journal of venue B again in many small files, as if it had been recorded for months. */
function splitJournal(dir: string): void {
  const whole = `${dir}.whole`
  renameSync(dir, whole)
  const writer = openJournalWriter({
    dir,
    venue: 'venueb',
    origin: 'emulator',
    recorder: 'r1',
    segmentBytes: SEGMENT_BYTES,
    sync: false,
  })
  for (const item of readJournal({ dir: whole, venue: 'venueb' })) {
    if (item.kind === 'damage') throw new Error(item.reason)
    for (let index = 0; index < item.count; index++) {
      const { received, kinds, bytes, slots } = item
      writer.append(received[index]!, kinds[index]!, bytes[index]!, slots[index])
    }
    writer.commit()
  }
  writer.close()
  for (const venue of readdirSync(whole)) {
    if (venue !== 'venueb') renameSync(join(whole, venue), join(dir, venue))
  }
  rmSync(whole, { recursive: true })
}

test('a running service packs finished files, goes on recording, and shows every row as before', async () => {
  const service = await createService(['--upstream', 'emulator', '--speed', '5', '--workers', '1'])
  onTestFinished(() => service.destroy())
  await service.start()
  const dir = join(service.data, 'journal')
  await until('a journal', PATIENCE_MS, () => (sizeOf(dir) >= LEAST_BYTES ? true : undefined))
  await service.stop()
  splitJournal(dir)
  const versions = (): number[] =>
    listSegments(dir, 'venueb').map(({ path }) => readFileSync(path).readUInt16LE(8))
  const finished = versions().length - 1
  expect(finished).toBeGreaterThan(2)
  await service.start()
  await until('packed files', PATIENCE_MS, async () =>
    versions().filter((version) => version === 2).length >= finished ? true : undefined,
  )
  // Rows come from raw messages that are packed now, and new ones are recorded.
  const key = service.keyOf('unlimited')
  const get = async (path: string) => {
    const answer = await fetch(`${service.url}${path}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(answer.status).toBe(200)
    return (await answer.json()) as { data: never }
  }
  const { data: markets } = (await get('/v3/venueb/markets?limit=1')) as {
    data: readonly { readonly market_ticker: string }[]
  }
  const market = markets[0]!.market_ticker
  const { data: rows } = (await get(`/v3/venueb/${market}/snapshots?limit=5`)) as {
    data: readonly { readonly id: string }[]
  }
  for (const { id } of rows) {
    const audit = await get(`/v3/venueb/${market}/audit?id=${encodeURIComponent(id)}`)
    expect(audit.data).toMatchObject({ state: 'equal' })
  }
  await service.stop()
  const store = openEmbeddedStore({ file: join(service.data, 'tape.db'), readOnly: true })
  onTestFinished(() => store.close())
  expect((await store.verify()).problems).toEqual([])
}, 300_000)
