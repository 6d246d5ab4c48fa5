import { describe, expect, it } from 'vitest'
import { createClient } from '../../packages/sdk/src/client/index.ts'
import {
  allContracts,
  demoAddress,
  MARKET_ROUTES,
  ROUTES,
} from '../../packages/sdk/src/wire/index.ts'
import {
  isInDemo,
  ROUTES as SERVED,
  toDemoAddress,
} from '../../packages/service/src/api/routes/index.ts'

describe('the contract of routes', () => {
  const contracts = new Map(allContracts().map((contract) => [contract.id, contract]))

  it('is that of the routes which the server serves', () => {
    expect([...contracts.keys()].sort()).toEqual(SERVED.map(({ id }) => id).sort())
  })

  it.each(SERVED.map((route) => [route.id, route] as const))('of %s is served', (id, route) => {
    const contract = contracts.get(id)!
    expect(contract.address).toBe(route.address)
    expect(contract.aliases).toEqual(route.aliases)
    expect(contract.isKeyless).toBe(route.isKeyless)
    expect(contract.formats).toEqual(route.formats)
    expect(Object.keys(contract.path)).toEqual(Object.keys(route.path))
    expect(Object.keys(contract.query).toSorted()).toEqual(Object.keys(route.query).toSorted())
    for (const [name, { isRequired = false }] of Object.entries(contract.query)) {
      expect([name, isRequired]).toEqual([name, route.query[name]!.isRequired ?? false])
    }
    const missing = [...Object.keys(contract.path), ...Object.keys(contract.query)].filter(
      (name) => contract.paramTexts[name] === undefined,
    )
    expect(missing).toEqual([])
    expect(contract.data === undefined).toBe(route.data === undefined)
    expect(contract.summary).toBe(route.summary)
    expect(contract.hasNoDemo !== true).toBe(isInDemo(route))
    expect(demoAddress(contract.address)).toBe(toDemoAddress(route.address))
  })

  it('has a method of the client for every route that answers with JSON', () => {
    const client = createClient({ url: 'http://x' })
    const methods = new Set(Object.getOwnPropertyNames(Object.getPrototypeOf(client)))
    const ids = Object.values(ROUTES)
      .filter(({ address }) => address.startsWith('/v3/'))
      .map((route) => Object.keys(ROUTES).find((id) => ROUTES[id as 'gaps'] === (route as object))!)
    expect(ids.filter((id) => !methods.has(METHODS[id] ?? id))).toEqual([])
    const market = client.market({ venue: 'venueb', market_id: 'M' })
    const own = new Set(Object.getOwnPropertyNames(Object.getPrototypeOf(market)))
    expect(Object.keys(MARKET_ROUTES).filter((id) => !own.has(METHODS[id] ?? id))).toEqual([])
  })
})

// Methods that are not called like their route.
const METHODS: Readonly<Record<string, string>> = {
  bulk: 'download',
  bulkManifest: 'manifest',
  coverage_days: 'coverageDays',
  market: 'record',
  orderbook_latest: 'latest',
  orderbook: 'asOf',
}
