import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Micros } from '@priorbook/sdk/domain'
import { openEmbeddedStore } from '../../store/embedded/open.ts'
import { createTestCaller } from '../caller.testing.ts'
import { createBatches, PATHS, readSeen } from './books.testing.ts'
import { BOOK_ROUTES, ROUTES } from '../routes/index.ts'

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

it('a market whose rows are all removed says so: newest book, audit and days', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-removed-'))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const { batches } = createBatches(43, 400)
  await Promise.all(batches.map((batch) => store.append(batch)))
  await store.seal()
  const api = createTestCaller(ROUTES, { store, auditor: async () => undefined })
  const url = PATHS.venueb
  const market = url.slice(url.lastIndexOf('/') + 1)
  const id = `venueb:${market}:1`
  expect((await api.problem(`${url}/audit?id=${id}`)).fields.hint).not.toContain('etention')
  const last = (await readSeen(store, 'venueb')).at(-1)!
  const { position, origin, recorder, normalizer } = batches.findLast(
    ({ venue }) => venue === 'venueb',
  )!
  const closed = {
    venue: 'venueb',
    scope: 'instrument',
    key: market,
    reason: 'market_closed',
    start: last.received as Micros,
    afterSequence: last.sequence,
    journal: position + 1,
  } as const
  const batch = { venue: 'venueb', position: position + 1, origin, recorder, normalizer } as const
  await store.append({ ...batch, gaps: [closed] })
  await store.seal()
  await store.retain(last.received + 1)
  expect(await readSeen(store, 'venueb')).toEqual([])
  const latest = (await api.get(`${url}/orderbook/latest`)).body
  expect([latest.data, latest.meta['notice']]).toEqual([
    null,
    expect.objectContaining({ code: 'retention' }),
  ])
  expect((await api.problem(`${url}/audit?id=${id}`)).fields.hint).toContain('Retention removed')
  const { data } = (await api.get(`/v3/coverage?venue=venueb&market=${market}`)).body
  const [{ days }] = data as [{ days: { condition: string; gap_ms: unknown }[] }]
  expect(days.length).toBeGreaterThan(0)
  for (const { condition, gap_ms: gap } of days) {
    expect(condition).toBe('missing')
    expect(Number(gap)).toBeGreaterThan(0)
  }
})
