import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openEmbeddedStore } from '../../store/embedded/open.ts'
import { createTestCaller } from '../caller.testing.ts'
import { createBatches, PATHS, readSeen } from './books.testing.ts'
import { BOOK_ROUTES } from '../routes/index.ts'

type Page = {
  readonly data: readonly { readonly id: string; readonly received_time: number }[]
  readonly meta: { readonly gaps: readonly Record<string, unknown>[] }
  readonly pagination: { readonly next_cursor: string | null }
}

const sequenceOf = (id: string): number => Number(id.slice(id.lastIndexOf(':') + 1))

it.each(['snapshots', 'changes'])(
  'a walk of %s whose next rows are removed goes on after them and says so',
  async (route) => {
    const folder = mkdtempSync(join(tmpdir(), 'priorbook-removed-'))
    const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
    onTestFinished(async () => {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const { batches } = createBatches(43, 4000)
    await Promise.all(batches.map((batch) => store.append(batch)))
    await store.seal()
    const api = createTestCaller(BOOK_ROUTES, { store })
    const seen = await readSeen(store, 'venueb')
    expect(seen.length).toBeGreaterThan(3000)
    const url = `${PATHS.venueb}/${route}?limit=100&time_format=epoch_us`
    const first = (await api.get(url)).body as unknown as Page
    const { rows } = await store.retain(seen[2500]!.received)
    expect(rows).toBeGreaterThan(1000)
    const cursor = encodeURIComponent(first.pagination.next_cursor!)
    const next = (await api.get(`${url}&cursor=${cursor}`)).body as unknown as Page
    const [before, after] = [first.data.at(-1)!, next.data[0]!]
    expect(sequenceOf(after.id) - sequenceOf(before.id)).toBeGreaterThan(1000)
    const told = next.meta.gaps.filter(({ reason }) => reason === 'retention')
    expect(told).toHaveLength(1)
    expect(Number(told[0]!['start_time'])).toBeLessThanOrEqual(before.received_time)
    expect(Number(told[0]!['end_time'])).toBeGreaterThan(before.received_time)
    expect(Number(told[0]!['end_time'])).toBeLessThanOrEqual(after.received_time)
  },
)
