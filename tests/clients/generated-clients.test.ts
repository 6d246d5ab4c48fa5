import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSharedApi, type EmulatedApi } from '../api/emulated-api.ts'
import { install, type Installed } from './install.ts'

// Programs that strangers would use with our OpenAPI document.
const PACKAGES = {
  pip: ['openapi-python-client==0.29.1', 'openapi-spec-validator==0.9.0'],
  npm: ['openapi-typescript@7.13.0', 'typescript@5.9.3'],
}
// About half a minute on a quiet machine.
const INSTALL_MS = 300_000

let api: EmulatedApi
let url: string
let installed: Installed
let folder: string

beforeAll(async () => {
  installed = await install(PACKAGES)
  folder = installed.folder
}, INSTALL_MS)

beforeAll(async () => {
  api = await openSharedApi()
  url = (await api.server.listen({ host: '127.0.0.1', port: 0 })).url
  writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${url}/v3/openapi.json`)).text())
}, 180_000)

afterAll(async () => {
  await api.close()
  installed.remove()
})

describe('the OpenAPI document', () => {
  it('is valid for a public validator', async () => {
    const { code, text } = await installed.run(installed.python('openapi-spec-validator'), [
      'openapi.json',
    ])
    expect([code, text.trim()]).toEqual([0, 'openapi.json: OK'])
  })

  it('gives a Python client without a warning, which reads every kind of answer exactly', async () => {
    const paths = ['--path', 'openapi.json', '--output-path', 'priorbook_client']
    const options = ['--meta', 'none', '--fail-on-warning']
    const generated = await installed.run(installed.python('openapi-python-client'), [
      'generate',
      ...paths,
      ...options,
    ])
    expect([generated.code, generated.text.trim()]).toEqual([0, 'Generating priorbook_client'])
    const program = join(folder, 'call_routes.py')
    copyFileSync(join(import.meta.dirname, 'call_routes.py'), program)
    const calls = callsOf(api)
    const input = calls.map((call) => `${JSON.stringify(call)}\n`).join('')
    const { code, text } = await installed.run(
      installed.python('python'),
      [program, url, api.keyOf()],
      input,
    )
    const expected = calls.map(({ operation }) => `${operation}: ok`)
    expect(text.trim().split('\n')).toEqual(expected)
    expect(code).toBe(0)
  })

  it('gives TypeScript types that compile strictly and hold real answers', async () => {
    const bin = join(folder, 'node_modules/.bin')
    const generated = await installed.run(join(bin, 'openapi-typescript'), [
      'openapi.json',
      '-o',
      'api.ts',
    ])
    expect(generated.code).toBe(0)
    expect(generated.text).not.toMatch(/warn|error/i)
    expect(readFileSync(join(folder, 'api.ts'), 'utf8')).toContain('Book: {')
    writeFileSync(join(folder, 'use.ts'), await useOfTypes(api))
    const flags = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--skipLibCheck',
      'false',
    ]
    const { code, text } = await installed.run(join(bin, 'tsc'), [...flags, 'use.ts'])
    expect([code, text]).toEqual([0, ''])
  })
})

type Call = {
  readonly tag: string
  readonly operation: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly status: number
}

// One call for every kind of row and answer.
function callsOf({ busiest }: EmulatedApi): readonly Call[] {
  const { venuea, venueb, venuec } = busiest
  const a = { market_id: venuea.record.marketId }
  const b = { market_ticker: venueb.record.marketId }
  const c = { asset: venuec.record.asset!.toLowerCase(), market_id: venuec.record.marketId }
  const order = { side: 'buy', size: '1', at: String(Math.floor((venueb.first + venueb.last) / 2)) }
  const scope = { venue: 'venueb', market_id: b.market_ticker }
  const across = (operation: string, more: object): Call => call('across_venues', operation, more)
  return [
    call('venue_a', 'venuea_markets', { coin: 'BTC', limit: 2 }),
    call('venue_b', 'venueb_markets', { limit: 2 }),
    call('venue_c', 'venuec_markets', { asset: c.asset, limit: 2 }),
    across('markets', { limit: 5 }),
    across('gaps', { limit: 5 }),
    across('coverage', {}),
    across('coverage', { venue: 'venueb', market: b.market_ticker }),
    across('coverage_days', { venue: 'venuec' }),
    across('parity', {}),
    across('panels', { asset: 'btc', window: '5m', at: '-1s,0s', limit: 5 }),
    call('proofs', 'proofs', {}),
    call('venue_a', 'venuea_market', a),
    call('venue_a', 'venuea_snapshots', { ...a, limit: 3 }),
    call('venue_a', 'venuea_timeseries', { ...a, metric: 'chance', limit: 3 }),
    call('venue_b', 'venueb_revisions', { ...b, limit: 3 }),
    call('venue_b', 'venueb_snapshots', { ...b, limit: 3, include_orderbook: true }),
    call('venue_b', 'venueb_snapshots', { ...b, limit: 3, interval: '1s' }),
    call('venue_b', 'venueb_orderbook_latest', { ...b, number_format: 'string' }),
    call('venue_b', 'venueb_changes', { ...b, limit: 3, time_format: 'epoch_us' }),
    call('venue_b', 'venueb_execution', { ...b, ...order }),
    call('venue_b', 'venueb_audit', { ...b, id: `venueb:${venueb.key}:1` }),
    call('venue_c', 'venuec_orderbook_latest', c),
    call('venue_c', 'venuec_trades', { ...c, limit: 3 }),
    call('bulk', 'bulk_manifest', scope),
    call('account', 'whoami', {}),
    call('account', 'limits', {}),
    call('account', 'usage', {}),
    call('service', 'status', {}),
    call('service', 'health', {}),
    call('venue_b', 'venueb_market', { market_ticker: 'KXNOTHING-1' }, 404),
  ]
}

function call(tag: string, operation: string, more: object, status = 200): Call {
  return { tag, operation, arguments: more as Call['arguments'], status }
}

// A program whose literals are real answers: the compiler checks them against the generated types.
async function useOfTypes(server: EmulatedApi): Promise<string> {
  const { busiest } = server
  const addresses = {
    BookPage: `${busiest.venueb.path}/snapshots?limit=2&include_orderbook=true`,
    BookListAnswer: `${busiest.venuec.path}/orderbook/latest`,
    BookChangePage: `${busiest.venuec.path}/changes?limit=2`,
    TradePage: `${busiest.venueb.path}/trades?limit=2`,
    SamplePage: `${busiest.venuea.path}/timeseries?metric=price&limit=2`,
    ListedMarketPage: '/v3/markets?limit=3',
    GapPage: '/v3/gaps?limit=2',
    StatusAnswer: '/v3/status',
    Problem: '/v3/gaps?limit=0',
  }
  const lines = await Promise.all(
    Object.entries(addresses).map(async ([name, address]) => {
      const { body } = await server.get(address)
      return `export const a${name}: components['schemas']['${name}'] = ${JSON.stringify(body)}\n`
    }),
  )
  const query = `export const query: NonNullable<operations['venueb_snapshots']['parameters']['query']> = { order: 'desc', interval: '1m' }\n`
  const wrong = `// @ts-expect-error: there is no such interval\nquery.interval = '7m'\n`
  return `import type { components, operations } from './api.ts'\n${lines.join('')}${query}${wrong}`
}
