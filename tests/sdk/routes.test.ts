import { describe, expect, it } from 'vitest'
import { MARKET_STATUSES, VENUE_IDS, type VenueId } from '../../packages/sdk/src/domain/index.ts'
import { SAMPLE_METRICS } from '../../packages/sdk/src/wire/index.ts'
import { createClient, FILE_FORMATS, PARAM_WORDS } from '../../packages/sdk/src/client/index.ts'
import {
  ACCOUNT_ADDRESSES,
  demoAddress,
  MARKET_ADDRESSES,
  MARKET_ROUTES,
  ROUTES,
  TOKEN_ROUTES,
} from '../../packages/sdk/src/client/routes.ts'
import { toOpenApi } from '../../packages/service/src/api/docs/openapi.ts'
import {
  isInDemo,
  ROUTES as SERVED,
  toDemoAddress,
} from '../../packages/service/src/api/routes/index.ts'

type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly schema: { readonly enum?: readonly string[] }
}

const { paths } = toOpenApi(SERVED) as {
  paths: Readonly<Record<string, { readonly get: { readonly parameters: readonly Parameter[] } }>>
}

/** What the client knows: the parameters of every address. */
function knownRoutes(): Map<string, string[]> {
  const known = new Map<string, string[]>()
  for (const { address, query } of Object.values(ROUTES)) known.set(address, [...query])
  for (const venue of VENUE_IDS) {
    for (const [name, { address, query }] of Object.entries(MARKET_ROUTES)) {
      known.set(MARKET_ADDRESSES[venue] + address, [...query, ...tokenParams(venue, name)])
    }
  }
  return known
}

function tokenParams(venue: VenueId, name: string): string[] {
  return venue === 'venuec' && TOKEN_ROUTES.includes(name) ? ['outcome', 'token_id'] : []
}

// Pages of the docs are for eyes, aliases serve the same, and the client reads JSON.
const isForClients = (address: string): boolean =>
  address.startsWith('/v3/') && !address.startsWith('/v3/venuea-alias/')

describe('the client and the server', () => {
  const known = knownRoutes()
  const served = Object.keys(paths).filter(isForClients)

  it('know the same routes', () => {
    expect([...known.keys()].sort()).toEqual(served.sort())
  })

  it.each(served)('know the same parameters of %s', (address) => {
    const { parameters } = paths[address]!.get
    const names = parameters.filter((one) => one.in === 'query').map(({ name }) => name)
    const wanted =
      address === ROUTES.bulk.address ? names : names.filter((name) => name !== 'format')
    expect(known.get(address)?.toSorted()).toEqual(wanted.sort())
  })

  it('know the same words', () => {
    const words: Readonly<Record<string, readonly string[]>> = PARAM_WORDS
    const all = served.flatMap((address) => paths[address]!.get.parameters)
    const different = all.filter(
      ({ name, schema }) =>
        schema.enum !== undefined &&
        words[name] !== undefined &&
        schema.enum.join() !== words[name].join(),
    )
    expect(different).toEqual([])
    const seen = new Set(all.filter(({ schema }) => schema.enum).map(({ name }) => name))
    expect(Object.keys(words).filter((name) => !seen.has(name))).toEqual([])
    expect(PARAM_WORDS.metric).toEqual(SAMPLE_METRICS)
    expect(PARAM_WORDS.status).toEqual(MARKET_STATUSES)
    const formats = paths['/v3/bulk']!.get.parameters.find(({ name }) => name === 'format')
    expect(formats!.schema.enum).toEqual(FILE_FORMATS)
  })

  it('put the demo at the same addresses', () => {
    for (const route of SERVED.filter(({ address }) => isForClients(address))) {
      const expected = isInDemo(route) ? toDemoAddress(route.address) : route.address
      expect(demoAddress(route.address)).toBe(expected)
    }
    expect(ACCOUNT_ADDRESSES.length).toBeGreaterThan(4)
  })

  it('have a method for every route', () => {
    const client = createClient({ url: 'http://x' })
    const methods = new Set(Object.getOwnPropertyNames(Object.getPrototypeOf(client)))
    const missing = Object.keys(ROUTES).filter((name) => !methods.has(METHODS[name] ?? name))
    expect(missing).toEqual([])
    const market = client.market({ venue: 'venueb', market_id: 'M' })
    const own = new Set(Object.getOwnPropertyNames(Object.getPrototypeOf(market)))
    expect(Object.keys(MARKET_ROUTES).filter((name) => !own.has(name))).toEqual([])
  })
})

const METHODS: Readonly<Record<string, string>> = { bulk: 'download' }
