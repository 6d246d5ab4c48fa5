import { toMicros } from '@priorbook/sdk/domain'
import { PROBLEMS, type ProblemCode } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import { createKeyText } from './auth/key-text.ts'
import { FAKE_ROUTES } from './fake-routes.testing.ts'
import type { Route } from './route.ts'
import { isInDemo, ROUTES, toDemoAddress } from './routes/index.ts'
import { createTestServer, type TestServer } from './server.testing.ts'

const NOW = 1_790_000_000_000_000
// Only these need no key.
const KEYLESS = [
  '/',
  '/docs',
  '/docs/errors',
  '/llms.txt',
  '/v3/asyncapi.json',
  '/v3/health',
  '/v3/openapi.json',
]

const EXAMPLES: Readonly<Record<string, string>> = {
  market_id: '123',
  market_ticker: 'KXBTC15M-26AUG102130-30',
  asset: 'btc',
}

/** The address of a route with its examples and whatever it requires. */
function urlOf(route: Route, address: string): string {
  const path = address.replaceAll(/\{(\w+)\}/g, (_, name: string) => EXAMPLES[name] ?? 'x')
  const query = Object.entries(route.query)
    .filter(([, param]) => param.isRequired === true)
    .map(([name, param]) => `${name}=${encodeURIComponent(param.example ?? '1')}`)
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}

async function keyStates(
  test: TestServer,
): Promise<Record<string, [string | undefined, ProblemCode]>> {
  const { access } = test
  const revoked = access.keys.create({ plan: 'desk' })
  access.keys.revoke(revoked.id)
  const expired = access.keys.create({ plan: 'desk', expires: (NOW - 1) as never })
  const good = access.keys.create({ plan: 'desk' }).key
  const typo = good.slice(0, -1) + (good.endsWith('a') ? 'b' : 'a')
  return {
    none: [undefined, 'missing_key'],
    empty: ['Bearer ', 'missing_key'],
    'another scheme': [`Basic ${good}`, 'missing_key'],
    malformed: ['Bearer hello', 'invalid_key'],
    typo: [`Bearer ${typo}`, 'invalid_key'],
    unknown: [`Bearer ${createKeyText()}`, 'invalid_key'],
    revoked: [`Bearer ${revoked.key}`, 'revoked_key'],
    expired: [`Bearer ${expired.key}`, 'expired_key'],
  }
}

describe('routes and key states', () => {
  let test: TestServer
  const all = [...ROUTES, ...FAKE_ROUTES]
  const addresses = all.flatMap((route) =>
    [route.address, ...(route.aliases ?? [])].map((address) => ({ route, address })),
  )

  const create = async (): Promise<TestServer> =>
    createTestServer({ routes: all, now: () => NOW as never })

  it('are checked over all routes', () => {
    expect(addresses.length).toBeGreaterThan(20)
    expect(all.filter((route) => route.isKeyless === true).map(({ address }) => address)).toEqual(
      expect.arrayContaining(KEYLESS),
    )
    expect(all.filter((route) => route.isKeyless === true).length).toBe(KEYLESS.length)
  })

  it('refuse a wrong key on every address with every method', async () => {
    test = await create()
    const states = await keyStates(test)
    const urls = addresses
      .filter(({ route }) => route.isKeyless !== true)
      .map(({ route, address }) => urlOf(route, address))
    urls.push('/v3/nothing', '/v4/venueb/markets', '/favicon.ico', '/v3', '/docs/other')
    let asked = 0
    for (const url of urls) {
      for (const [state, [authorization, code]] of Object.entries(states)) {
        for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
          const headers = authorization === undefined ? {} : { authorization }
          const answer = await test.ask(url, { method, headers })
          asked++
          const { status } = PROBLEMS[code]
          expect([url, state, method, answer.status]).toEqual([url, state, method, status])
          const said = method === 'HEAD' ? answer.text : answer.json()['code']
          expect(said).toBe(method === 'HEAD' ? '' : code)
          expect(answer.headers['www-authenticate']).toContain('Bearer')
        }
      }
    }
    expect(asked).toBe(urls.length * 8 * 4)
  })

  it('answer keyless addresses without a key and with any key', async () => {
    test = await create()
    for (const url of KEYLESS) {
      expect([url, (await test.ask(url)).status]).toEqual([url, 200])
      const wrong = await test.ask(url, { headers: { authorization: 'Bearer nonsense' } })
      expect(wrong.status).toBe(200)
      expect((await test.ask(url, { method: 'HEAD' })).status).toBe(200)
      expect((await test.ask(url, { method: 'OPTIONS' })).status).toBe(204)
      expect((await test.ask(url, { method: 'DELETE' })).status).toBe(405)
    }
  })

  it('never answer a valid key with 401, 403 or 5xx', async () => {
    test = await create()
    const key = test.keyOf('unlimited')
    for (const { route, address } of addresses) {
      if (route.id === 'fake_failure') continue
      const url = urlOf(route, address)
      const { status } = await test.ask(url, { key })
      expect([url, [200, 400, 404].includes(status)]).toEqual([url, true])
    }
    const unknown = await test.ask('/v3/nothing', { key })
    expect(unknown.json()).toMatchObject({ code: 'unknown_route', status: 404 })
  })

  it('end a running download when its key is revoked', async () => {
    test = await createTestServer({ routes: FAKE_ROUTES })
    const { key, id } = test.access.keys.create({ plan: 'unlimited' })
    const { port } = await test.server.listen({ host: '127.0.0.1', port: 0 })
    // Six gigabytes.
    const pieces = 100_000
    const answer = await fetch(`http://127.0.0.1:${port}/v3/stream-of-rows?pieces=${pieces}`, {
      headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' },
    })
    expect(answer.status).toBe(200)
    const reader = answer.body!.getReader()
    await reader.read()
    test.access.keys.revoke(id)
    let bytes = 0
    const readAll = async (): Promise<void> => {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        bytes += value.length
      }
    }
    await expect(readAll()).rejects.toBeInstanceOf(TypeError)
    expect(bytes).toBeLessThan(pieces * 65_536)
  })

  it('name the plan quant in refusals of venue A', async () => {
    test = await create()
    for (const { route, address } of addresses) {
      if (!address.startsWith('/v3/venuea-')) continue
      // A new key each: explorers may ask once a second.
      const url = urlOf(route, address)
      const answer = await test.ask(url, { key: test.keyOf('explorer') })
      const plan = 'quant'
      expect([url, answer.json()]).toMatchObject([url, { code: 'plan_required', plan }])
    }
  })
})

describe('the demo', () => {
  let test: TestServer

  it('serves the same paths without a key, and nothing else', async () => {
    test = await createTestServer({ routes: [...ROUTES, ...FAKE_ROUTES] })
    const rows = '/v3/demo/venueb/KXBTC/rows'
    let now = NOW
    expect((await test.ask(rows)).json()).toMatchObject({ code: 'unknown_route' })
    const demo = await createTestServer({
      routes: [...ROUTES, ...FAKE_ROUTES],
      demo: { store: test.store, notice: { code: 'emulated_data', message: 'Emulated.' } },
      // Slow enough for the limit of the demo.
      now: () => toMicros((now += 100_000)),
    })
    const answer = await demo.ask(rows)
    expect(answer.status).toBe(200)
    expect(answer.json()).toMatchObject({ meta: { notice: { code: 'emulated_data' } } })
    expect((await demo.ask('/v3/venueb/KXBTC/rows')).status).toBe(401)
    expect((await demo.ask('/v3/demo/whoami')).json()).toMatchObject({ code: 'unknown_route' })
    expect((await demo.ask('/v3/demo/nothing')).json()).toMatchObject({ code: 'unknown_route' })
    expect((await demo.ask('/v3/demo')).status).toBe(401)
    const copied = [...ROUTES, ...FAKE_ROUTES].filter(isInDemo)
    expect(copied.length).toBeGreaterThan(3)
    for (const route of copied) {
      for (const address of [route.address, ...(route.aliases ?? [])]) {
        if (route.id === 'fake_failure') continue
        const url = urlOf(route, toDemoAddress(address))
        const { status } = await demo.ask(url)
        expect([url, [200, 400, 403, 404].includes(status)]).toEqual([url, true])
      }
    }
  })
  it('limits requests per client address; documents are not limited', async () => {
    let now = NOW
    test = await createTestServer({ routes: ROUTES })
    const demo = await createTestServer({
      routes: ROUTES,
      demo: { store: test.store },
      now: () => toMicros((now += 1000)),
    })
    const statuses: number[] = []
    for (let count = 0; count < 51; count++) {
      statuses.push((await demo.ask('/v3/demo/venueb/markets')).status)
    }
    expect(statuses.indexOf(429)).toBe(50)
    const refused = await demo.ask('/v3/demo/venueb/markets')
    expect(refused.json()).toMatchObject({ code: 'rate_limited', limit: 'second' })
    expect((await demo.ask('/v3/health')).status).toBe(200)
    now += 2_000_000
    expect((await demo.ask('/v3/demo/venueb/markets')).status).toBe(200)
  })
})
