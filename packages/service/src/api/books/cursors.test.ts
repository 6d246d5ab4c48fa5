import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PriorbookError } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import { openEmbeddedStore, type EmbeddedStore } from '../../store/embedded/open.ts'
import { createRandom } from '../../lib/random.testing.ts'
import { createTestCaller, type TestCaller } from '../caller.testing.ts'
import { createBatches, KEYS, PATHS, readSeen } from './books.testing.ts'
import { BOOK_ROUTES } from '../routes/index.ts'

const isFull = process.env['PRIORBOOK_FULL'] === '1'

describe('a cursor', () => {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-cursors-'))
  let store: EmbeddedStore
  let api: TestCaller
  /** Requests with a second page, and the cursor of it. */
  const given: { readonly url: string; readonly cursor: string }[] = []

  beforeAll(async () => {
    store = openEmbeddedStore({ file: join(folder, 'tape.db') })
    const { batches } = createBatches(41, 200)
    await Promise.all(batches.map((batch) => store.append(batch)))
    api = createTestCaller(BOOK_ROUTES, { store })
    const seen = await readSeen(store, 'venueb')
    const [start, end] = [seen[2]!.received, seen.at(-2)!.received]
    const filters = [
      '',
      '&order=desc',
      `&start_time=${start}`,
      `&end_time=${end}`,
      `&start_time=${start}&end_time=${end}`,
      '&clock=source',
      `&known_at=${end}`,
    ]
    const only = ['&interval=1s', '&interval=5s', '&include_orderbook=true&depth=3', '&depth=4']
    const tokens = KEYS.venuec.map((key) => `&token_id=${key}`)
    const bases = [
      ...Object.values(PATHS).flatMap((path) => [
        ...[...filters, ...only].map((filter) => `${path}/snapshots?limit=2${filter}`),
        ...filters.map((filter) => `${path}/changes?limit=2${filter}`),
      ]),
      ...tokens.flatMap((token) => [
        `${PATHS.venuec}/snapshots?limit=2${token}`,
        `${PATHS.venuec}/changes?limit=2${token}`,
      ]),
      '/v3/venueb/KXETH-26AUG05/snapshots?limit=2',
    ]
    for (const url of bases) {
      const cursor = (await api.get(url)).body.pagination.next_cursor
      if (cursor === null) throw new Error(`${url} has no second page`)
      given.push({ url, cursor })
    }
  })
  afterAll(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const isTaken = async (url: string, cursor: string): Promise<boolean> => {
    try {
      await api.get(`${url}&cursor=${encodeURIComponent(cursor)}`)
      return true
    } catch (error) {
      if (error instanceof PriorbookError || !(error instanceof Problem)) throw error
      // An empty or endless text is refused before it is read.
      if (!['invalid_cursor', 'invalid_parameter'].includes(error.code)) throw error
      expect(error.fields.param).toBe('cursor')
      return false
    }
  }

  it('is taken with the request that it was given for, in pages of another size and format', async () => {
    for (const { url, cursor } of given) {
      expect(await isTaken(url, cursor)).toBe(true)
      expect(await isTaken(url.replace('limit=2', 'limit=3&format=ndjson'), cursor)).toBe(true)
      expect(await isTaken(url.replace('limit=2', 'time_format=epoch_us'), cursor)).toBe(true)
    }
  })

  it('is taken with no other request', async () => {
    const taken: string[] = []
    let tried = 0
    for (const one of given) {
      for (const other of given) {
        if (one.url === other.url) continue
        if (await isTaken(one.url, other.cursor)) taken.push(`${other.url} → ${one.url}`)
        tried++
      }
    }
    expect(taken).toEqual([])
    expect(tried).toBeGreaterThan(3000)
  })

  it('is not taken when anything of it was changed', async () => {
    const random = createRandom(42)
    const pick = (count: number): number => Math.floor(random() * count)
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const total = isFull ? 100_000 : 4000
    const taken: string[] = []
    for (let index = 0; index < total; index++) {
      const { url, cursor } = given[pick(given.length)]!
      const at = pick(cursor.length)
      const letter = letters[pick(64)]!
      const bytes = Buffer.from(cursor, 'base64url')
      bytes[pick(bytes.length)]! ^= 1 << pick(8)
      const other = given[pick(given.length)]!.cursor
      const changed = [
        cursor.slice(0, at) + letter + cursor.slice(at + 1),
        cursor.slice(0, at) + cursor.slice(at + 1),
        cursor.slice(0, at) + letter + cursor.slice(at),
        cursor.slice(0, at),
        cursor.slice(at),
        bytes.toString('base64url'),
        Buffer.concat([bytes.subarray(0, 16), Buffer.from('{}')]).toString('base64url'),
        cursor.slice(0, 22) + other.slice(22),
        `${cursor}${'='.repeat(1 + pick(2))}`,
        ` ${cursor}`,
        `${cursor}\n`,
        cursor.toUpperCase(),
        letters.repeat(1 + pick(60)),
      ][pick(13)]!
      if (changed === cursor) continue
      if (await isTaken(url, changed)) taken.push(changed)
    }
    expect(taken).toEqual([])
  })
})
