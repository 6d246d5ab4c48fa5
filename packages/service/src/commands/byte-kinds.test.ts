import { globSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { createMetrics } from '../ops/metrics.ts'
import { toOverview } from '../ops/overview.ts'
import type { ServiceStatus } from '../ops/status.ts'
import { readByteKinds, type ByteKinds } from '../retention/byte-kinds.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { callServer } from './call.testing.ts'

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), 'priorbook-bytes-'))
const data = join(scratch, 'data')

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

async function call(...args: string[]): Promise<string> {
  const { code, out, err } = await callServer(...args, '--data', data)
  expect([args[0], code, err]).toEqual([args[0], 0, ''])
  return out
}

async function survey(): Promise<ByteKinds> {
  const tapeFile = join(data, 'tape.db')
  const store = openEmbeddedStore({ file: tapeFile, readOnly: true })
  const found = await readByteKinds({ store, journalDir: join(data, 'journal'), tapeFile })
  await store.close()
  return found
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)
const sizesOf = (pattern: string): number =>
  sum(globSync(join(scratch, pattern)).map((path) => statSync(path).size))

describe('bytes by kind', () => {
  it('add up to what the files have, before and after packing and moving', async () => {
    await call('import', 'venueb', SAMPLE)
    const fresh = await survey()
    expect(fresh.bytes).toMatchObject({ packed: 0, archived: 0, elsewhere: 0 })
    expect(fresh.bytes.raw).toBe(sizesOf('data/journal/venueb/*.pbj'))
    expect(fresh.bytes.tape + fresh.bytes.index).toBe(sizesOf('data/tape.db{,-wal}'))
    const all = sum(Object.values(fresh.bytes))
    expect(fresh.bytesPerObservation).toBeCloseTo(all / fresh.observations, 9)

    await call('tape', 'pack', '--older', '0s')
    await call('journal', 'pack', '--newest')
    const packed = await survey()
    expect(packed.observations).toBe(fresh.observations)
    expect(packed.bytes.raw).toBe(0)
    expect(packed.bytes.archived).toBe(sizesOf('data/journal/venueb/*.pbj'))
    const database = new DatabaseSync(join(data, 'tape.db'), { readOnly: true })
    const bodies =
      'SELECT sum(length(bytes)) AS bytes FROM body WHERE id IN (SELECT body FROM chunk'
    const { bytes } = database.prepare(`${bodies} WHERE form = 3)`).get()!
    database.close()
    expect(packed.bytes.packed).toBe(bytes)

    await call('tier', '--older-than', '1d', '--to', join(scratch, 'archive'))
    const moved = await survey()
    expect(moved.bytes.packed).toBe(0)
    expect(moved.bytes.elsewhere).toBeGreaterThanOrEqual(packed.bytes.packed)
    expect(moved.bytes.elsewhere).toBeLessThanOrEqual(sizesOf('archive/**/*.{seg,pbj}'))
    expect(await call('doctor')).toMatch(/ok {4}bytes: raw .*, index .*; \d+\.\d\d per observation/)
  })

  it('are on the page and among the metrics of operators', async () => {
    const bytes = { raw: 1e6, archived: 2e6, tape: 3e6, packed: 4e6, index: 5e6, elsewhere: 6e6 }
    const disk = { usedBytes: 1, freeBytes: 1, bytesPerSecond: 0 }
    const kinds: ByteKinds = { bytes, observations: 3_000_000, bytesPerObservation: 7 }
    const status: ServiceStatus = {
      role: 'all',
      upstream: 'none',
      disk,
      retention: [],
      bytes: kinds,
    }
    const page = toOverview({ status, gaps: [] })
    expect(page).toContain('<td>archived</td><td>packed files of the journal</td><td>2.00 MB</td>')
    expect(page).toContain('7.00 bytes for each of 3000000 observations')
    const metrics = await createMetrics(() => status).metrics()
    expect(metrics).toContain('priorbook_disk_kind_bytes{kind="packed"} 4000000')
    expect(metrics).toContain('priorbook_disk_observations 3000000')
    expect(metrics).toContain('priorbook_disk_bytes_per_observation 7')
    expect(toOverview({ status: { ...status, bytes: undefined }, gaps: [] })).not.toContain(
      'Bytes by kind',
    )
  })
})
