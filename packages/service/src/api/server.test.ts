import { request as httpRequest } from 'node:http'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { PROBLEMS, type PageBuffer } from '@priorbook/sdk/wire'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ACCOUNT_ROUTES } from './routes/index.ts'
import { FAKE_ROUTES } from './fake-routes.testing.ts'
import { PAGES } from './http/request.ts'
import type { Asked } from './ask.testing.ts'
import { createTestServer, type TestServer } from './server.testing.ts'

const ROUTES = [...FAKE_ROUTES, ...ACCOUNT_ROUTES]
const ROWS = '/v3/venueb/KXBTC/rows'

function expectProblem(answer: Asked, code: keyof typeof PROBLEMS): Record<string, unknown> {
  const body = answer.json()
  const { status, title } = PROBLEMS[code]
  expect(body).toMatchObject({ code, status, title, type: `/docs/errors#${code}` })
  expect(answer.status).toBe(status)
  expect(answer.headers['content-type']).toBe('application/problem+json')
  expect(body['request_id']).toBe(answer.headers['x-request-id'])
  expect(answer.headers['cache-control']).toBe('no-store')
  return body
}

async function create(): Promise<TestServer & { key: string }> {
  const test = await createTestServer({ routes: ROUTES })
  return { ...test, key: test.keyOf('unlimited') }
}

describe('a deprecated route', () => {
  it('says so in the headers of every answer and in its documentation', async () => {
    const [rows] = FAKE_ROUTES
    const deprecated = { since: '2026-06-01', sunset: '2026-12-01', link: '/docs#rows' }
    const { ask, keyOf } = await createTestServer({
      routes: [{ ...rows!, deprecated }, ...FAKE_ROUTES.slice(1), ...ACCOUNT_ROUTES],
    })
    const key = keyOf('unlimited')
    for (const query of ['', '?format=csv', '?limit=0']) {
      const { headers } = await ask(`${ROWS}${query}`, { key })
      // RFC 9745 and RFC 8594.
      expect(headers).toMatchObject({
        deprecation: `@${Date.parse('2026-06-01') / 1000}`,
        sunset: 'Tue, 01 Dec 2026 00:00:00 GMT',
      })
      expect(headers['link']).toContain('</docs#rows>; rel="deprecation"')
    }
    const { headers } = await ask('/v3/whoami', { key })
    expect([headers['deprecation'], headers['sunset']]).toEqual([undefined, undefined])
    const document = (await ask('/v3/openapi.json')).json() as {
      paths: Record<string, { get: { deprecated?: boolean; responses: object } }>
    }
    const operation = document.paths['/v3/venueb/{market_ticker}/rows']!.get
    expect(operation.deprecated).toBe(true)
    expect(JSON.stringify(operation.responses)).toContain('Sunset')
    expect(document.paths['/v3/whoami']!.get.deprecated).toBeUndefined()
  })
})

describe('an answer', () => {
  it('wraps rendered rows in an envelope byte for byte', async () => {
    const { ask, key } = await create()
    const answer = await ask(`${ROWS}?limit=2`, { key })
    expect(answer.text).toBe(
      '{"data":[{"n":0,"price":0.5200},{"n":1,"price":0.5200}],"meta":{"count":2,"range":null,"gaps":[],"market":{"market_id":"KXBTC"},"schema_version":"3.0","notices":[]},"pagination":{"next_cursor":"next-one","has_more":true}}',
    )
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
    expect(answer.text).not.toContain(answer.headers['x-request-id'])
  })

  it('is the same on the alias, and concurrent answers do not mix', async () => {
    const { ask, key } = await create()
    const sizes = Array.from({ length: 40 }, (_, index) => 1 + index * 25)
    const answers = await Promise.all(sizes.map((n) => ask(`${ROWS}?limit=${n}`, { key })))
    for (const [index, answer] of answers.entries()) {
      expect((answer.json()['data'] as unknown[]).length).toBe(sizes[index])
    }
    const alias = await ask('/v3/venueb-alias/KXBTC/rows?limit=2', { key })
    expect(alias.text).toBe((await ask(`${ROWS}?limit=2`, { key })).text)
  })

  it('has its notices as a list, however many there are', async () => {
    const common = { code: 'emulated_data', message: 'Emulated.' }
    const metaOf = async (url: string, notice?: typeof common): Promise<object> => {
      const { ask, keyOf } = await createTestServer({
        routes: ROUTES,
        ...(notice === undefined ? {} : { notice }),
      })
      return (await ask(url, { key: keyOf('unlimited') })).json()['meta'] as object
    }
    const none = await metaOf(ROWS)
    expect(none).toMatchObject({ notices: [] })
    expect(none).not.toHaveProperty('notice')
    expect(await metaOf(ROWS, common)).toMatchObject({ notices: [common], notice: common })
    const two = await metaOf('/v3/venuea-prediction/7/required?metric=chance', common)
    const list = (two as { notices: unknown[] }).notices
    expect(list).toHaveLength(2)
    expect(two).toMatchObject({ notice: list })
    expect(list.at(-1)).toEqual(common)
  })

  it('carries the common notice beside its own', async () => {
    const notice = { code: 'emulated_data', message: 'Emulated.' }
    const { ask, keyOf } = await createTestServer({ routes: ROUTES, notice })
    const key = keyOf('unlimited')
    const noticeOf = async (url: string): Promise<unknown> =>
      ((await ask(url, { key })).json()['meta'] as { notice: unknown }).notice
    expect(await noticeOf(ROWS)).toEqual(notice)
    expect(await noticeOf('/v3/venuea-prediction/7/required?metric=chance')).toEqual([
      { code: 'no_rows_in_range', message: 'Nothing there.' },
      notice,
    ])
  })

  it('is compressed as Accept-Encoding prefers', async () => {
    const { ask, key } = await create()
    const url = `${ROWS}?limit=500`
    const plain = await ask(url, { key })
    const as = (encoding: string) => ask(url, { key, headers: { 'accept-encoding': encoding } })
    const zstd = await as('gzip, deflate, zstd')
    expect(zstd.headers['content-encoding']).toBe('zstd')
    expect(zstdDecompressSync(zstd.bytes).toString()).toBe(plain.text)
    const gzip = await as('gzip')
    expect(gzip.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(gzip.bytes).toString()).toBe(plain.text)
    const brotli = await as('gzip, deflate, br')
    expect(brotli.headers['content-encoding']).toBe('br')
    expect(brotliDecompressSync(brotli.bytes).toString()).toBe(plain.text)
    expect((await as('zstd;q=0, deflate')).headers['content-encoding']).toBeUndefined()
    expect((await as('zstd;q=0.1, gzip;q=0.9')).headers['content-encoding']).toBe('gzip')
    const small = await ask('/v3/health', { headers: { 'accept-encoding': 'gzip' } })
    expect(small.headers['content-encoding']).toBeUndefined()
    expect(small.headers['vary']).toContain('Accept-Encoding')
  })

  it('has an entity tag and may be cached for ever when it cannot change', async () => {
    const { ask, key } = await create()
    const url = `${ROWS}?limit=200&order=asc`
    const as = (headers: Record<string, string>) => ask(url, { key, headers })
    const first = await as({})
    const tag = first.headers['etag']!
    expect(tag).toMatch(/^"[0-9a-f]{32}"$/)
    expect(first.headers['cache-control']).toBe('private, max-age=31536000, immutable')
    const again = await as({ 'if-none-match': `"other", ${tag}` })
    expect(again).toMatchObject({ status: 304, text: '' })
    expect(again.headers['etag']).toBe(tag)
    const packed = await as({ 'accept-encoding': 'gzip' })
    expect(packed.headers['etag']).toBe(`${tag.slice(0, -1)}-gzip"`)
    expect((await as({ 'accept-encoding': 'gzip', 'if-none-match': tag })).status).toBe(200)
    const other = await ask(`${ROWS}?limit=201&order=asc`, { key })
    expect(other.headers['etag']).not.toBe(tag)
    expect((await ask(`${ROWS}?order=desc`, { key })).headers['etag']).toBeUndefined()
  })

  it('has the requested format, or is refused with 406', async () => {
    const { ask, key } = await create()
    const line = await ask(`${ROWS}?limit=1&cursor=a%26b&format=ndjson`, { key })
    expect(line.headers['link']).toBeUndefined()
    const first = await ask(`${ROWS}?limit=1&start_time=2026-01-01T00:00:00Z`, {
      key,
      headers: { accept: 'text/csv;q=0.5, application/x-ndjson' },
    })
    expect(first.headers['content-type']).toBe('application/x-ndjson')
    expect(first.headers['link']).toBe(
      `<${ROWS}?limit=1&start_time=2026-01-01T00:00:00Z&cursor=next-one>; rel="next"`,
    )
    const refused = await ask(ROWS, { key, headers: { accept: 'image/png' } })
    expect(expectProblem(refused, 'not_acceptable')['allowed']).toContain('text/csv')
    expectProblem(await ask(`${ROWS}?format=parquet`, { key }), 'not_acceptable')
    expectProblem(await ask(`${ROWS}?format=xml`, { key }), 'invalid_parameter')
    const any = await ask(ROWS, { key, headers: { accept: 'text/html, */*;q=0.1' } })
    expect(any.headers['content-type']).toContain('application/json')
  })
})

describe('a leased page', () => {
  it('goes back to the pool exactly once, however the request ends', async () => {
    const acquire = vi.spyOn(PAGES, 'acquire')
    const release = vi.spyOn(PAGES, 'release')
    onTestFinished(() => void vi.restoreAllMocks())
    const { ask, key, server } = await create()
    const large = `${ROWS}?limit=1000&order=asc`
    const tag = (await ask(large, { key })).headers['etag']!
    await ask(large, { key, headers: { 'if-none-match': tag } })
    await ask(large, { key, headers: { 'accept-encoding': 'gzip' } })
    await ask(large, { key, method: 'HEAD' })
    await ask(`${ROWS}?limit=1`, { key })
    await ask(`${ROWS}?limit=1000&format=ndjson`, { key })
    await ask('/v3/failure?kind=leased', { key })
    const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
    const left = httpRequest(`${url}${large}`, { headers: { authorization: `Bearer ${key}` } })
    left.on('response', (response) => response.destroy()).on('error', () => {})
    left.end()
    const expectReturned = (): void => {
      const leased = acquire.mock.results.map(({ value }) => value as PageBuffer)
      const returned = release.mock.calls.flatMap(([pages]) => pages)
      expect(leased.length).toBe(8)
      expect(returned.length).toBe(leased.length)
      expect(new Set(returned)).toEqual(new Set(leased))
    }
    await vi.waitFor(expectReturned, { timeout: 30_000 })
  })

  it('does not go back before its bytes are sent', async () => {
    const { ask, key } = await create()
    const sizes = Array.from({ length: 30 }, (_, index) => 700 + index * 10)
    const texts = await Promise.all(
      sizes.map(async (size) => (await ask(`${ROWS}?limit=${size}`, { key })).text),
    )
    for (const [index, text] of texts.entries()) {
      const rows = Array.from({ length: sizes[index]! }, (_, n) => `{"n":${n},"price":0.5200}`)
      expect(text.startsWith(`{"data":[${rows.join(',')}],`)).toBe(true)
    }
  })
})

describe('parameters', () => {
  it('are refused with their name, the allowed values and a hint', async () => {
    const { ask, key } = await create()
    const body = async (url: string, code: keyof typeof PROBLEMS) =>
      expectProblem(await ask(url, { key }), code)
    expect(await body(`${ROWS}?limit=0`, 'invalid_parameter')).toMatchObject({ param: 'limit' })
    expect(await body(`${ROWS}?limit=`, 'invalid_parameter')).toMatchObject({ param: 'limit' })
    expect(await body(`${ROWS}?limit`, 'invalid_parameter')).toMatchObject({ param: 'limit' })
    expect(await body(`${ROWS}?limit=1e2`, 'invalid_parameter')).toMatchObject({ param: 'limit' })
    expect(await body(`${ROWS}?limit=1&limit=1`, 'invalid_parameter')).toMatchObject({
      param: 'limit',
    })
    expect(await body(`${ROWS}?order=up`, 'invalid_parameter')).toMatchObject({
      param: 'order',
      allowed: ['asc', 'desc'],
    })
    expect(await body(`${ROWS}?Limit=2`, 'unknown_parameter')).toMatchObject({
      param: 'Limit',
      hint: 'Did you mean limit?',
    })
    expect(await body(`${ROWS}?__proto__=2`, 'unknown_parameter')).toMatchObject({
      allowed: ['limit', 'order', 'start_time', 'cursor', 'format'],
    })
    expect(await body(`${ROWS}?order=%E0%A4`, 'invalid_parameter')).toMatchObject({
      param: 'order',
    })
    expect(await body(`${ROWS}?start_time=179000000`, 'invalid_parameter')).toMatchObject({
      hint: expect.stringContaining('Such as 2026-08-11T01:15:15Z') as unknown,
    })
    expect(await body('/v3/venuea-prediction/7/required', 'invalid_parameter')).toMatchObject({
      param: 'metric',
      allowed: ['chance', 'price'],
    })
    expect(await body(`/v3/venueb/${'x'.repeat(41)}/rows`, 'invalid_parameter')).toMatchObject({
      param: 'market_ticker',
    })
    await body(`${ROWS}?${'limit=1&'.repeat(200)}`, 'invalid_parameter')
    await body('/v3/venueb/%E0%A4%A/rows', 'invalid_parameter')
  })

  it('may be written with plus signs and percent-encoding', async () => {
    const { ask, key } = await create()
    const answer = await ask(`${ROWS}?start_time=2026-01-01T00:00:00+02:00&&order=as%63`, { key })
    expect(answer.status).toBe(200)
  })
})

describe('failures', () => {
  it('have different codes, and reveal nothing internal', async () => {
    const { ask, key, logs } = await create()
    const of = (kind: string) => ask(`/v3/failure?kind=${kind}`, { key })
    expectProblem(await of('time'), 'invalid_parameter')
    const damage = await of('damage')
    expectProblem(damage, 'store_unavailable')
    expect(damage.headers['retry-after']).toBe('1')
    expect(damage.text).not.toContain('secret')
    const unforeseen = await of(key)
    expectProblem(unforeseen, 'internal_error')
    expect(unforeseen.text).not.toMatch(/unforeseen|\.ts/)
    const line = logs.find((one) => one.includes('unforeseen'))!
    expect(line).toContain(unforeseen.headers['x-request-id'])
    expect(logs.join()).not.toContain(key.slice(8))
  })

  it('never echo a key, wherever it was sent', async () => {
    const { ask, key, logs } = await create()
    const places = [
      `${ROWS}?limit=${key}`,
      `${ROWS}?${key}=1`,
      `${ROWS}?api_key=${key}`,
      `/v3/${key}`,
      `/v3/venueb/${key}${key}/rows`,
    ]
    for (const url of places) {
      const answer = await ask(url, { key })
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.text + JSON.stringify(answer.headers)).not.toContain(key.slice(8, 20))
    }
    expect(logs.length).toBe(places.length)
    expect(logs.join()).not.toContain(key.slice(8, 20))
  })
})

describe('methods', () => {
  it('GET, HEAD and OPTIONS work, all others are 405', async () => {
    const { ask, key } = await create()
    const get = await ask(ROWS, { key })
    const head = await ask(ROWS, { key, method: 'HEAD' })
    expect(head).toMatchObject({ status: 200, text: '' })
    expect(head.headers['content-length']).toBe(String(get.text.length))
    const options = await ask(ROWS, { key, method: 'OPTIONS' })
    expect(options).toMatchObject({ status: 204, text: '' })
    expect(options.headers['allow']).toBe('GET, HEAD, OPTIONS')
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND']) {
      const answer = await ask(ROWS, { key, method })
      expectProblem(answer, 'method_not_allowed')
      expect(answer.headers['allow']).toBe('GET, HEAD, OPTIONS')
    }
    expectProblem(await ask('/v3/nothing', { key, method: 'POST' }), 'unknown_route')
    const body = { 'content-length': '5' }
    expectProblem(await ask(ROWS, { key, headers: body }), 'body_too_large')
    expectProblem(await ask(ROWS, { key, method: 'POST', headers: body }), 'method_not_allowed')
    const large = { 'content-length': '50000000' }
    expectProblem(await ask(ROWS, { key, method: 'POST', headers: large }), 'body_too_large')
    expectProblem(await ask(`${ROWS}?cursor=${'x'.repeat(8200)}`, { key }), 'uri_too_long')
  })

  it('admit pages of the configured origin (CORS)', async () => {
    const corsOrigin = 'https://lab.example'
    const { ask } = await createTestServer({ routes: ROUTES, corsOrigin })
    const preflight = await ask(ROWS, {
      method: 'OPTIONS',
      headers: { origin: corsOrigin, 'access-control-request-method': 'GET' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': corsOrigin,
      'access-control-allow-headers': 'Authorization, Accept, Content-Type, If-None-Match',
    })
    expectProblem(await ask(ROWS, { method: 'OPTIONS' }), 'missing_key')
  })
})
