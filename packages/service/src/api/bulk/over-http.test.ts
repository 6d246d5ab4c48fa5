import { createHash } from 'node:crypto'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { toMicros, type Gap } from '@priorbook/sdk/domain'
import { createTestServer } from '../server.testing.ts'
import { moveAll } from '../../store/embedded/cold/cold-store.testing.ts'
import { countOf } from '../../store/embedded/temp-folder.testing.ts'
import { MADE_START, makeMarket } from './generated-market.testing.ts'

const SCOPE = 'venue=venueb&series=KXMADE&day=2026-08-11'
// The generated day lies in the past of this clock.
const NOW = Date.UTC(2026, 7, 20) * 1000

describe('a download over HTTP', () => {
  it('is the file of the manifest in every content encoding', async () => {
    const server = await createTestServer({ now: () => toMicros(NOW) })
    for (const batch of makeMarket(countOf(3000, 1000))) await server.store.append(batch)
    await server.store.seal()
    const key = server.keyOf('unlimited')
    const formats = 'ndjson,csv,arrow,parquet,tape'
    const manifest = await server.ask(`/v3/bulk/manifest?${SCOPE}&formats=${formats}`, { key })
    expect(manifest.status).toBe(200)
    const { files } = manifest.json()['data'] as { files: { format: string; sha256: string }[] }
    for (const { format, sha256 } of files) {
      for (const encoding of ['identity', 'gzip', 'zstd']) {
        const file = await server.ask(`/v3/bulk?${SCOPE}&format=${format}`, {
          key,
          headers: { 'accept-encoding': encoding },
        })
        const used = file.headers['content-encoding']
        const bytes =
          used === 'gzip'
            ? gunzipSync(file.bytes)
            : used === 'zstd'
              ? zstdDecompressSync(file.bytes)
              : file.bytes
        expect([format, used, file.status]).toEqual([format, used, 200])
        expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256)
      }
    }
  })

  it('goes on from any byte', async () => {
    const server = await createTestServer({ now: () => toMicros(NOW) })
    for (const batch of makeMarket(3000)) await server.store.append(batch)
    const key = server.keyOf('unlimited')
    for (const format of ['ndjson', 'parquet', 'tape']) {
      const address = `/v3/bulk?${SCOPE}&format=${format}`
      const whole = (await server.ask(address, { key })).bytes
      for (const offset of [0, 1, whole.length >> 1, whole.length - 1, whole.length, 1e12]) {
        const rest = await server.ask(`${address}&offset=${offset}`, { key })
        expect(Buffer.compare(rest.bytes, whole.subarray(offset))).toBe(0)
      }
    }
    const wrong = await server.ask(`/v3/bulk?${SCOPE}&offset=-1`, { key })
    expect([wrong.status, wrong.json()['param']]).toEqual([400, 'offset'])
  })

  it('is refused with a problem while the storage of its rows cannot be read', async () => {
    const server = await createTestServer({ now: () => toMicros(NOW) })
    // The file begins with a gap, which is not in the storage.
    const gap: Gap = {
      venue: 'venueb',
      scope: 'instrument',
      key: 'KXMADE-1',
      reason: 'before_capture',
      start: toMicros(MADE_START),
      end: toMicros(MADE_START + 1),
      afterSequence: 0,
      journal: 1,
    }
    for (const batch of makeMarket(3000)) await server.store.append({ ...batch, gaps: [gap] })
    await server.store.seal()
    const objects = join(server.path, 'objects')
    expect((await moveAll(server.store, objects)).chunks).toBeGreaterThan(0)
    const key = server.keyOf('unlimited')
    renameSync(objects, `${objects}.away`)
    for (const format of ['ndjson', 'csv', 'arrow', 'parquet', 'tape']) {
      const gone = await server.ask(`/v3/bulk?${SCOPE}&format=${format}`, { key })
      expect([format, gone.status]).toEqual([format, 503])
      expect(gone.json()).toMatchObject({ code: 'store_unavailable' })
    }
    renameSync(`${objects}.away`, objects)
    for (const format of ['ndjson', 'tape']) {
      const back = await server.ask(`/v3/bulk?${SCOPE}&format=${format}`, { key })
      expect([format, back.status]).toEqual([format, 200])
      expect(back.text).toContain('before_capture')
    }
  })

  it('is sent in parts by Range once it is finished', async () => {
    const server = await createTestServer({ now: () => toMicros(NOW) })
    for (const batch of makeMarket(400)) await server.store.append(batch)
    const key = server.keyOf('unlimited')
    for (const format of ['csv', 'parquet', 'tape']) {
      const address = `/v3/bulk?${SCOPE}&format=${format}`
      const whole = (await server.ask(address, { key })).bytes
      const { length } = whole
      const tag = `"${createHash('sha256').update(whole).digest('hex')}"`
      const head = await server.ask(address, { key, method: 'HEAD' })
      expect(head.headers).toMatchObject({ 'accept-ranges': 'bytes', etag: tag })
      expect(head.headers['content-length']).toBe(String(length))
      const get = (headers: Readonly<Record<string, string>>): ReturnType<typeof server.ask> =>
        server.ask(address, { key, headers: { 'accept-encoding': 'gzip', ...headers } })
      const parts: [string, number, number][] = [
        ['bytes=0-0', 0, 1],
        ['bytes=10-2047', 10, 2048],
        [`bytes=${length - 5}-`, length - 5, length],
        ['bytes=-7', length - 7, length],
        [`bytes=1-${length * 2}`, 1, length],
        [`bytes=-${length * 2}`, 0, length],
      ]
      for (const [range, from, to] of parts) {
        const part = await get({ range, 'if-range': tag })
        expect([range, part.status]).toEqual([range, 206])
        expect(part.headers['content-range']).toBe(`bytes ${from}-${to - 1}/${length}`)
        expect(part.headers['content-length']).toBe(String(to - from))
        expect(part.headers['etag']).toBe(tag)
        expect(Buffer.compare(part.bytes, whole.subarray(from, to))).toBe(0)
      }
      for (const range of [`bytes=${length}-`, 'bytes=-0']) {
        const none = await get({ range })
        expect([none.status, none.json()['code']]).toEqual([416, 'range_not_satisfiable'])
        expect(none.headers['content-range']).toBe(`bytes */${length}`)
      }
      // Several ranges, another unit, a wrong order and another version mean the whole file.
      const plain = { 'accept-encoding': 'identity' }
      for (const headers of [
        { range: 'bytes=0-1,3-4' },
        { range: 'rows=0-1' },
        { range: 'bytes=9-1' },
        { range: 'bytes=0-1', 'if-range': '"another"' },
        { range: 'bytes=0-1', 'if-range': new Date(0).toUTCString() },
      ]) {
        const all = await get({ ...headers, ...plain })
        expect([all.status, Buffer.compare(all.bytes, whole)]).toEqual([200, 0])
      }
      expect((await get({ 'if-none-match': tag })).status).toBe(304)
    }
  })

  it('is the same each time for the whole of a resolved market', async () => {
    let now = NOW
    const server = await createTestServer({ now: () => toMicros(now) })
    const [first] = [...makeMarket(3000)]
    await server.store.append(first!)
    const [made] = first!.revisions!
    const ended = MADE_START + 3_600_000_000
    const record = { ...made!.record, status: 'resolved', closeTime: toMicros(ended) } as const
    const known = { ...made!, received: toMicros(ended + 5), journal: 9000, record }
    const address = '/v3/bulk?venue=venueb&market_id=KXMADE-1'
    const key = server.keyOf('unlimited')
    const read = async (format: string): Promise<string> => {
      now += 86_400_000_000
      const { bytes, headers } = await server.ask(`${address}&format=${format}`, { key })
      return `${headers['content-disposition']} ${createHash('sha256').update(bytes).digest('hex')}`
    }
    const formats = ['ndjson', 'csv', 'arrow', 'parquet', 'tape']
    // An open market gets further rows: its range ends at the request.
    expect(await read('ndjson')).not.toBe(await read('ndjson'))
    await server.store.append({
      venue: 'venueb',
      position: 9000,
      origin: 'emulator',
      recorder: 'r1',
      normalizer: 1,
      observations: [],
      revisions: [known],
    })
    await server.store.seal()
    const files = new Map<string, string>()
    for (const format of formats) files.set(format, await read(format))
    for (const format of formats) expect(await read(format)).toBe(files.get(format))
    const manifest = await server.ask(
      `${address.replace('bulk', 'bulk/manifest')}&formats=${formats.join()}`,
      { key },
    )
    const { data } = manifest.json() as {
      data: {
        receipt: { is_final: boolean; rows: number; range: { end_time: string } }
        files: { sha256: string }[]
      }
    }
    expect(data.receipt).toMatchObject({ is_final: true, rows: 3000 })
    expect(Date.parse(data.receipt.range.end_time) * 1000).toBe(ended)
    expect(data.files.map(({ sha256 }) => sha256)).toEqual(
      formats.map((format) => files.get(format)!.split(' ').at(-1)),
    )
  })

  it('has no parts while rows may still be added', async () => {
    const server = await createTestServer({ now: () => toMicros(NOW) })
    for (const batch of makeMarket(100)) await server.store.append(batch)
    const key = server.keyOf('unlimited')
    const open = '/v3/bulk?venue=venueb&series=KXMADE&start_time=2026-08-11&format=csv'
    const all = await server.ask(open, { key, headers: { range: 'bytes=0-9' } })
    expect([all.status, all.headers['accept-ranges']]).toEqual([200, undefined])
  })

  it('is refused with a problem, and by plan', async () => {
    const server = await createTestServer({ now: () => toMicros(NOW) })
    for (const batch of makeMarket(10)) await server.store.append(batch)
    const unlimited = server.keyOf('unlimited')
    // One request a second: each question has its own key.
    const explorer = (): string => server.keyOf('explorer')
    const codeOf = async (query: string, key: string): Promise<unknown> => {
      const answer = await server.ask(`/v3/bulk?${query}`, { key })
      return answer.status === 200 ? 200 : [answer.status, answer.json()['code']]
    }
    expect(await codeOf(SCOPE, unlimited)).toBe(200)
    expect(await codeOf('venue=venueb&market_id=KXNONE', unlimited)).toEqual([
      404,
      'unknown_market',
    ])
    expect(await codeOf(`${SCOPE}&format=xml`, unlimited)).toEqual([400, 'invalid_parameter'])
    // The free plan has the asset btc alone, and no asset is known of this series.
    expect(await codeOf(SCOPE, explorer())).toEqual([403, 'plan_required'])
    expect(await codeOf('venue=venuea&market_id=1', explorer())).toEqual([403, 'plan_required'])
  })
})
