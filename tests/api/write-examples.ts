import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  deriveTerms,
  eventIdOf,
  printContractId,
  printMicros,
  VENUE_IDS,
  type Micros,
  type VenueId,
} from '../../packages/sdk/src/domain/index.ts'
import type { RouteExample } from '../../packages/sdk/src/wire/index.ts'
import { ROUTES } from '../../packages/service/src/api/routes/index.ts'
import type { Route } from '../../packages/service/src/api/route.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'
import { createAsker } from '../../packages/service/src/api/ask.testing.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { createProofReader } from '../../packages/service/src/proofs/proof-reader.ts'
import { ProofSigner } from '../../packages/service/src/proofs/proof-signer.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { alertExamples } from './alert-example.ts'
import type { BusyMarket } from './busy-market.ts'
import { DATED, FIRST_ROWS, writeDated } from './dated-tape.ts'
import { openEmulatedApi } from './emulated-api.ts'

// Writes the examples of the OpenAPI document: for each route a request to a server over emulated venues
// and the body of its answer, one row where possible. Run it when rows change; `openapi.test.ts` fails then.
const TARGET = new URL('../../packages/service/src/api/docs/openapi-examples.json', import.meta.url)
// Short answers are better examples.
const SHORT = { limit: '1', depth: '2', include_orderbook: 'true' }
// Optional parameters that make an answer short or its example clear, by the end of the route's id.
const WANTED: Readonly<Record<string, readonly string[]>> = {
  execution: ['at', 'outcome'],
  contract_snapshots: ['interval'],
  contract_consolidated: ['side', 'size'],
  coverage: ['venue'],
  coverage_days: ['start_time'],
  bulkManifest: ['market_id'],
  panels: ['venue', 'at', 'order'],
}

// When the days of the example were signed.
const SIGNED = Date.UTC(2026, 7, 13) * 1000

const api = await openEmulatedApi({
  ms: 15_000,
  speed: 60,
  until: async (store) => (await store.gaps({ limit: 1 })).length > 0,
})
const busiest = new Map<VenueId, BusyMarket>(EMULATED_VENUES.map((id) => [id, api.busiest[id]]))
const examples: Record<string, RouteExample> = {}
const alerts = await alertExamples()
try {
  for (const route of ROUTES) {
    // Raw messages of an audit are long and say little.
    if (route.data === undefined || route.id.endsWith('_audit')) continue
    const own = alerts[route.id]
    if (own !== undefined) {
      examples[route.id] = own
      for (const { id } of Object.values(route.writes ?? {})) examples[id] = alerts[id]!
      continue
    }
    if (route.id === 'proofs' || route.id === 'proof_day') {
      examples[route.id] = await signedExample(route)
      continue
    }
    // Rounds of venue C are contracts of several venues.
    const usual = route.id.startsWith('contract') ? 'venuec' : 'venueb'
    const venue = VENUE_IDS.find((id) => route.id.startsWith(id)) ?? usual
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

// Emulated days are still running, so signed ones are made.
async function signedExample(route: Route): Promise<RouteExample> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-examples-'))
  await writeDated(folder, FIRST_ROWS)
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  const signer = new ProofSigner({ store, folder, delayMs: 0, now: () => SIGNED })
  await signer.pass(true)
  signer.close()
  const access = openAccess(folder)
  const proofs = createProofReader(folder)
  const server = createApiServer({ store, access, proofs })
  const { ask, close } = createAsker(server.handle)
  const { market: market_id, venue } = DATED.early
  const params: RouteExample['params'] =
    route.id === 'proofs' ? { limit: '1' } : { day: '2026-08-11', venue, market_id }
  const { key } = access.keys.create({ plan: 'unlimited', name: 'examples' })
  const body = (await ask(toUrl(route, params), { key })).json()
  close()
  await server.close(500)
  access.close()
  proofs.close()
  await store.close()
  rmSync(folder, { recursive: true })
  return { params, body }
}

function contractIdOf({ record }: BusyMarket): string {
  const terms = deriveTerms(record)
  if (terms === undefined) throw new Error(`${record.marketId} is not of a contract`)
  return printContractId(terms.subject)
}

function paramsOf({ id, path, query }: Route, market: BusyMarket): RouteExample['params'] {
  const { record, key, first, last } = market
  const values: Readonly<Record<string, string | undefined>> = {
    market_id: record.marketId,
    market_ticker: record.marketId,
    event_id: eventIdOf(record),
    contract_id: contractIdOf(market),
    asset: (record.asset ?? 'btc').toLowerCase(),
    id: `${record.venue}:${key}:1`,
    venue: record.venue,
    at: printMicros(Math.floor((first + last) / 2) as Micros),
    outcome: record.outcomes[0]!.label,
    ...SHORT,
    // Emulated rounds are short: a minute before their close they had not opened.
    ...(id === 'panels' && { asset: 'btc', venue: 'venueb', at: '-2s', order: 'desc' }),
    ...(id === 'coverage_days' && { start_time: printMicros(first as Micros) }),
  }
  const isWanted = (name: string): boolean =>
    Object.hasOwn(path, name) ||
    query[name]!.isRequired === true ||
    Object.hasOwn(SHORT, name) ||
    (WANTED[id.replace(`${record.venue}_`, '').replace('any_', '')] ?? []).includes(name)
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
