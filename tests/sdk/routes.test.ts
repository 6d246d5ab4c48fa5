import { describe, expect, it } from 'vitest'
import { createClient } from '../../packages/sdk/src/client/index.ts'
import { allContracts, MARKET_ROUTES, ROUTES } from '../../packages/sdk/src/wire/index.ts'
import { ROUTES as SERVED } from '../../packages/service/src/api/routes/index.ts'

describe('the contract of routes', () => {
  const contracts = new Map(allContracts().map((contract) => [contract.id, contract]))

  it('is that of the routes which the server serves', () => {
    expect([...contracts.keys()].sort()).toEqual(SERVED.map(({ id }) => id).sort())
  })

  it('describes every parameter', () => {
    const missing = [...contracts.values()].flatMap(({ id, path, query, paramTexts }) =>
      [...Object.keys(path), ...Object.keys(query)]
        .filter((name) => paramTexts[name] === undefined)
        .map((name) => `${id} ${name}`),
    )
    expect(missing).toEqual([])
  })

  it('has the path parameters of every address', () => {
    for (const { address, aliases = [], path } of contracts.values()) {
      for (const one of [address, ...aliases]) {
        const names = [...one.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
        expect([one, names]).toEqual([one, Object.keys(path)])
      }
    }
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
  alert_deliveries: 'alertDeliveries',
  bulk: 'download',
  bulkManifest: 'manifest',
  contract_books: 'contractBooks',
  contract_consolidated: 'contractConsolidated',
  contract_leadlag: 'contractLeadLag',
  contract_snapshots: 'contractSnapshots',
  contract_spreads: 'contractSpreads',
  coverage_days: 'coverageDays',
  proof_day: 'proof',
  reference_prices: 'referencePrices',
  reference_asof: 'referenceAsOf',
  reference_audit: 'referenceAudit',
  market: 'record',
  orderbook_latest: 'latest',
  orderbook: 'asOf',
}
