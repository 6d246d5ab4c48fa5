import { createHash } from 'node:crypto'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { toMicros } from '@priorbook/sdk/domain'
import { createTestServer } from '../server.testing.ts'
import { countOf } from '../../store/embedded/temp-folder.testing.ts'
import { makeMarket } from './generated-market.testing.ts'

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
