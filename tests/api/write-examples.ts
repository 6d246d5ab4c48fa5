import { writeFileSync } from 'node:fs'
import {
  printMicros,
  VENUE_IDS,
  type Micros,
  type VenueId,
} from '../../packages/sdk/src/domain/index.ts'
import type { RouteExample } from '../../packages/sdk/src/wire/index.ts'
import { ROUTES } from '../../packages/service/src/api/routes/index.ts'
import type { Route } from '../../packages/service/src/api/route.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'
import { openEmulatedApi, type BusyMarket } from './emulated-api.ts'

// Writes the examples of the OpenAPI document: for each route a request to a server over emulated venues
// and the body of its answer, one row where possible. Run it when rows change; `openapi.test.ts` fails then.
const TARGET = new URL('../../packages/service/src/api/docs/openapi-examples.json', import.meta.url)
// Short answers are better examples.
const SHORT = { limit: '1', depth: '2', include_orderbook: 'true' }
// Optional parameters that make an answer short or its example clear, by the end of the route's id.
const WANTED: Readonly<Record<string, readonly string[]>> = {
  execution: ['at', 'outcome'],
  coverage: ['venue'],
  coverage_days: ['start_time'],
  bulkManifest: ['market_id'],
}

const api = await openEmulatedApi({
  ms: 15_000,
  speed: 60,
  until: async (store) => (await store.gaps({ limit: 1 })).length > 0,
})
const busiest = new Map<VenueId, BusyMarket>(EMULATED_VENUES.map((id) => [id, api.busiest[id]]))
const examples: Record<string, RouteExample> = {}
try {
  for (const route of ROUTES) {
    // Raw messages of an audit are long and say little.
    if (route.data === undefined || route.id.endsWith('_audit')) continue
    const venue = VENUE_IDS.find((id) => route.id.startsWith(id)) ?? 'venueb'
    const market = busiest.get(venue)
    // Without an emulation there are no rows to show.
    if (market === undefined) continue
    const params = paramsOf(route, market)
    const { status, body } = await api.get(toUrl(route, params))
    if (status !== 200) throw new Error(`${route.id}: ${status} ${JSON.stringify(body)}`)
    examples[route.id] = { params, body }
  }
} finally {
  await api.close()
}
const lines = Object.entries(examples).map(
  ([id, example]) => `${JSON.stringify(id)}: ${JSON.stringify(example)}`,
)
writeFileSync(TARGET, `{\n${lines.join(',\n')}\n}\n`)

function paramsOf({ id, path, query }: Route, market: BusyMarket): RouteExample['params'] {
  const { record, key, first, last } = market
  const values: Readonly<Record<string, string | undefined>> = {
    market_id: record.marketId,
    market_ticker: record.marketId,
    asset: (record.asset ?? 'btc').toLowerCase(),
    id: `${record.venue}:${key}:1`,
    venue: record.venue,
    at: printMicros(Math.floor((first + last) / 2) as Micros),
    outcome: record.outcomes[0]!.label,
    ...SHORT,
    ...(id === 'coverage_days' && { start_time: printMicros(first as Micros) }),
  }
  const isWanted = (name: string): boolean =>
    Object.hasOwn(path, name) ||
    query[name]!.isRequired === true ||
    Object.hasOwn(SHORT, name) ||
    (WANTED[id.replace(`${record.venue}_`, '')] ?? []).includes(name)
  const names = [...Object.keys(path), ...Object.keys(query)].filter(isWanted)
  return Object.fromEntries(
    names.map((name) => [name, values[name] ?? query[name]?.example ?? record.marketId]),
  )
}

function toUrl({ address }: Route, params: RouteExample['params']): string {
  const inQuery = Object.entries(params).filter(([name]) => !address.includes(`{${name}}`))
  const path = address.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name]!),
  )
  const query = inQuery.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
  return query === '' ? path : `${path}?${query}`
}
