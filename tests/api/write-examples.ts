import { writeFileSync } from 'node:fs'
import { printMicros, type Micros } from '../../packages/sdk/src/domain/index.ts'
import { ROUTES } from '../../packages/service/src/api/routes/index.ts'
import type { Route } from '../../packages/service/src/api/route.ts'
import { openEmulatedApi, type EmulatedApi } from './emulated-api.ts'

// Writes the examples of the OpenAPI document: the `data` that a server over emulated venues answers, one
// row of each. Run it when rows change; `openapi.test.ts` says when that is.
const TARGET = new URL('../../packages/service/src/api/docs/openapi-examples.json', import.meta.url)
// Short answers are better examples.
const SHORT = { limit: '1', depth: '2', include_orderbook: 'true' }

const api = await openEmulatedApi({
  ms: 15_000,
  speed: 60,
  until: async (store) => (await store.gaps({ limit: 1 })).length > 0,
})
const examples: Record<string, unknown> = {}
try {
  for (const route of ROUTES) {
    if (route.data === undefined) continue
    const { status, body } = await api.get(addressOf(route, api))
    if (status !== 200) throw new Error(`${route.id}: ${status} ${JSON.stringify(body)}`)
    const { data } = body as { readonly data: unknown }
    // Raw messages of an audit are long and say little.
    if (!route.id.endsWith('_audit')) examples[route.id] = data
  }
} finally {
  await api.close()
}
const lines = Object.entries(examples).map(
  ([id, data]) => `${JSON.stringify(id)}: ${JSON.stringify(data)}`,
)
writeFileSync(TARGET, `{\n${lines.join(',\n')}\n}\n`)

function addressOf(route: Route, { busiest }: EmulatedApi): string {
  const venue = (['venuea', 'venueb', 'venuec'] as const).find((id) => route.id.startsWith(id))
  const { record, key, first, last } = busiest[venue ?? 'venueb']
  const values: Record<string, string> = {
    market_id: record.marketId,
    market_ticker: record.marketId,
    asset: (busiest.venuec.record.asset ?? 'btc').toLowerCase(),
    id: `${record.venue}:${key}:1`,
    market: record.marketId,
    venue: record.venue,
    at: printMicros(Math.floor((first + last) / 2) as Micros),
  }
  const path = route.address.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name]!)
  const query = Object.entries(route.query).flatMap(([name, param]) => {
    const short = SHORT[name as keyof typeof SHORT]
    const isNeeded = param.isRequired === true || name === 'at'
    const value = short ?? (isNeeded ? (values[name] ?? param.example) : undefined)
    return value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]
  })
  if (route.id === 'bulkManifest') query.push(`market_id=${record.marketId}`)
  if (route.id === 'venuec_execution') query.push(`outcome=${record.outcomes[0]!.label}`)
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}
