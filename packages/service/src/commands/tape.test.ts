import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { callServer } from './call.testing.ts'
import { startServe } from './serve.testing.ts'

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))
const MARKET = 'KXSYNT15M-26AUG102130-30'
const BOOKS = `/v3/venueb/${MARKET}/snapshots?end_time=1786500000000000`
const DOWNLOAD = `/v3/bulk?venue=venueb&dataset=books&market_id=${MARKET}&end_time=1786500000000000`
const PATHS = [
  `${BOOKS}&limit=1000`,
  `${BOOKS}&limit=1000&order=desc`,
  `${BOOKS}&limit=500&interval=10s`,
  `/v3/venueb/${MARKET}/trades?limit=1000&end_time=1786500000000000`,
  `${DOWNLOAD}&format=ndjson`,
  `${DOWNLOAD}&format=tape`,
]
const scratch = mkdtempSync(join(tmpdir(), 'priorbook-tape-'))

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

async function call<T>(data: string, ...args: string[]): Promise<T> {
  const { code, out, err } = await callServer(...args, '--data', data, '--json')
  expect([args[0], code, err]).toEqual([args[0], 0, ''])
  return JSON.parse(out) as T
}

type Page = {
  readonly data: unknown
  readonly meta: { readonly gaps: unknown; readonly receipt?: unknown }
}

/** Hashes of what the API answers, without what changes with every request. */
async function answersOf(data: string): Promise<string[]> {
  const { key } = await call<{ key: string }>(data, 'keys', 'create', '--plan', 'unlimited')
  const args = ['--data', data, '--workers', '1', '--upstream', 'none']
  const { url, end } = await startServe(scratch, args, {})
  const answers: string[] = []
  for (const path of PATHS) {
    const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect([path, answer.status]).toEqual([path, 200])
    let content: string | Buffer = bytes
    if (answer.headers.get('content-type')?.includes('/json') === true) {
      const { data: rows, meta } = JSON.parse(bytes.toString('utf8')) as Page
      content = JSON.stringify([rows, meta.gaps, meta.receipt])
    }
    answers.push(`${path} ${createHash('sha256').update(content).digest('hex')}`)
  }
  await end()
  return answers
}

describe('priorbook-server tape pack', () => {
  it('packs an imported market; every answer, download and check stays the same', async () => {
    const data = join(scratch, 'sample')
    await call(data, 'import', 'venueb', SAMPLE)
    const before = await answersOf(data)
    const counted = await call<{ observations: number }>(data, 'verify', '--journal')
    const packed = await call<{ chunks: number }>(data, 'tape', 'pack', '--older', '0s')
    expect(packed.chunks).toBeGreaterThan(3)
    const database = new DatabaseSync(join(data, 'tape.db'), { readOnly: true })
    const { chunks } = database
      .prepare('SELECT count(*) AS chunks FROM chunk WHERE form = 3')
      .get()!
    database.close()
    expect(chunks).toBe(packed.chunks)
    expect(await answersOf(data)).toEqual(before)
    expect(await call(data, 'verify', '--journal')).toMatchObject({
      observations: counted.observations,
      problems: [],
    })
    expect(await call(data, 'rebuild')).toMatchObject({ differences: [] })
    expect(await call(data, 'tape', 'pack', '--older', '0s')).toMatchObject({ chunks: 0 })
    const copy = join(scratch, 'copy')
    await call(data, 'backup', copy)
    expect(await call(copy, 'verify')).toMatchObject({ problems: [] })
  })

  it('leaves chunks in other storage alone, be it that the storage is gone', async () => {
    const data = join(scratch, 'moved')
    const archive = join(scratch, 'archive')
    await call(data, 'import', 'venueb', SAMPLE)
    await call(data, 'tier', '--older-than', '1d', '--to', archive)
    // To pack them, it would have to read them.
    rmSync(archive, { recursive: true })
    expect(await call(data, 'tape', 'pack', '--older', '0s')).toMatchObject({ chunks: 0 })
  })

  it('says what it can do, and leaves young days as they are', async () => {
    const data = join(scratch, 'young')
    await call(data, 'import', 'venueb', SAMPLE)
    expect(await call(data, 'tape', 'pack', '--older', '30000d')).toMatchObject({ chunks: 0 })
    const { code, err } = await callServer('tape', '--data', data)
    expect([code, err]).toEqual([2, expect.stringContaining('say what to do: pack')])
  })
})
