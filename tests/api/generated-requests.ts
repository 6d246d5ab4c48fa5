import * as fc from 'fast-check'
import { deriveTerms, eventIdOf, printContractId, VENUE_IDS } from '@priorbook/sdk/domain'
import {
  EMULATED_VENUES,
  type EmulatedVenueId,
} from '../../packages/emulator/src/venues/registry.ts'
import type { BusyMarket } from './busy-market.ts'
import type { EmulatedApi } from './emulated-api.ts'

/** The part of an OpenAPI document that requests are made from. */
export type OpenApi = { readonly paths: Readonly<Record<string, { readonly get: Get }>> }

type Get = {
  readonly operationId: string
  readonly parameters: readonly Parameter[]
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: object }>> }>
  >
}

type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly schema: {
    readonly type?: string
    readonly enum?: readonly string[]
    readonly minimum?: number
    readonly maximum?: number
    readonly maxLength?: number
  }
}

/** The document with its references to parameters and to their schemas followed. */
export function resolveParameters(document: OpenApi): OpenApi {
  const follow = <Part>(part: Part): Part => {
    const { $ref } = part as { readonly $ref?: string }
    if ($ref === undefined) return part
    const names = $ref.slice('#/'.length).split('/')
    return names.reduce<unknown>(
      (at, name) => (at as Readonly<Record<string, unknown>>)[name],
      document,
    ) as Part
  }
  const paths = Object.entries(document.paths).map(([address, { get }]) => {
    const parameters = get.parameters.map((one) => {
      const parameter = follow(one)
      return { ...parameter, schema: follow(parameter.schema) }
    })
    return [address, { get: { ...get, parameters } }] as const
  })
  return { ...document, paths: Object.fromEntries(paths) }
}

/** One address of the document. */
export type Operation = { readonly address: string; readonly get: Get }

/** A request and the operation it is made from. */
export type GeneratedRequest = {
  readonly url: string
  readonly method: string
  readonly operation: Operation
}

// These take no rows from the store, or look at all of it: few of them are enough.
const SELDOM =
  /^(alert|openapi|home|docs|docs_errors|llms|bulk|bulkManifest|usage|limits|whoami|health|status|coverage|markets)/

/** Requests for every operation: three in four valid, the others with one thing wrong. */
export function createRequests(
  { paths }: OpenApi,
  { busiest }: EmulatedApi,
): fc.Arbitrary<GeneratedRequest> {
  const choices = Object.entries(paths).flatMap(([address, { get }]) => {
    const operation = { address, get }
    const weight = SELDOM.test(get.operationId) ? 1 : 8
    return venuesOf(operation).flatMap((venue) => {
      const good = valid(operation, busiest[venue], busiest)
      return [
        { weight: weight * 3, arbitrary: good },
        { weight, arbitrary: broken(operation, good) },
      ]
    })
  })
  return fc.oneof(...choices)
}

function venuesOf({ address, get }: Operation): readonly EmulatedVenueId[] {
  const own = VENUE_IDS.find((venue) => get.operationId.startsWith(`${venue}_`))
  if (own !== undefined) return EMULATED_VENUES.filter((venue) => venue === own)
  return address.includes('{asset}') ? ['venuec'] : EMULATED_VENUES
}

type Busiest = Readonly<Record<EmulatedVenueId, BusyMarket>>

function valid(
  operation: Operation,
  market: BusyMarket,
  busiest: Busiest,
): fc.Arbitrary<GeneratedRequest> {
  const { address, get } = operation
  const query = get.parameters.filter((one) => one.in === 'query')
  const chosen = query.map((parameter) => {
    const value = valueOf(parameter, operation, market)
    if (value === undefined) return fc.constant(undefined)
    const pair = value.map((text) => [parameter.name, text] as const)
    if (parameter.required || isNeeded(parameter.name, operation)) return pair
    // Most pages are small: large ones say the same more slowly.
    return fc.option(pair, { nil: undefined, freq: parameter.name === 'limit' ? 20 : 1 })
  })
  return fc.tuple(...chosen).map((pairs) => {
    const given = settle(
      pairs.filter((pair) => pair !== undefined),
      operation,
    )
    return { method: 'GET', operation, url: toUrl(address, busiest, market, given) }
  })
}

type Pair = readonly [name: string, value: string]

// Some parameters say nothing, or the wrong thing, beside others.
function settle(pairs: readonly Pair[], { get }: Operation): readonly Pair[] {
  const names = new Set(pairs.map(([name]) => name))
  return pairs.filter(([name]) => {
    if (name === 'token_id') return !names.has('outcome')
    if (name === 'market' || name === 'key') return names.has('venue')
    // A day is a range of its own, and a file of columns has its own style.
    if (get.operationId.startsWith('bulk')) {
      if (name === 'day') return !names.has('start_time') && !names.has('end_time')
      // An archive of another tool's files has both datasets.
      if (isArchive(pairs) && /^(dataset|origin|offset)$/.test(name)) return false
      return !/^(number_format|time_format|depth|include_orderbook|known_at|metric)$/.test(name)
    }
    if (get.operationId === 'panels' && isOfColumns(pairs)) {
      return !/^(number_format|time_format|limit)$/.test(name)
    }
    return !(name === 'clock' && names.has('interval'))
  })
}

function isArchive(pairs: readonly Pair[]): boolean {
  return pairs.some(([name, value]) => name === 'format' && /^(hft|nau|tar)/.test(value))
}

function isOfColumns(pairs: readonly Pair[]): boolean {
  return pairs.some(([name, value]) => name === 'format' && /^(arrow|parquet)$/.test(value))
}

function isNeeded(name: string, { get }: Operation): boolean {
  return get.operationId.startsWith('bulk') && name === 'market_id'
}

function valueOf(
  { name, schema }: Parameter,
  { get }: Operation,
  { record, key, rows, first, last }: BusyMarket,
): fc.Arbitrary<string> | undefined {
  const time = (from: number, to: number): fc.Arbitrary<string> =>
    fc.integer({ min: 0, max: 1000 }).chain((share) => {
      const micros = Math.floor(from + ((to - from) * share) / 1000)
      return fc.constantFrom(
        String(micros),
        String(Math.floor(micros / 1000)),
        new Date(micros / 1000).toISOString(),
      )
    })
  const middle = Math.floor((first + last) / 2)
  const isList = /_markets$|^markets$/.test(get.operationId.replace('_alias', ''))
  switch (name) {
    case 'cursor':
      return undefined
    case 'start_time':
      return time(first - 60_000_000, isList ? first : Math.floor((first + middle) / 2))
    case 'end_time':
      return time(middle + 1000, last + 60_000_000)
    case 'known_at':
      return time(last + 1000, last + 60_000_000)
    case 'from':
      return time(first - 60_000_000, first)
    case 'to':
      return time(middle + 1000, last + 60_000_000)
    case 'at':
      if (get.operationId === 'panels') return fc.constantFrom('0s', '-1m', '-60s,-30s,-10s,-2s')
      return time(first + 1000, last)
    case 'day':
      return fc.constant(new Date(first / 1000).toISOString().slice(0, 10))
    case 'series':
      return record.seriesTicker === undefined ? undefined : fc.constant(record.seriesTicker)
    case 'event':
    case 'event_id':
      return fc.constant(eventIdOf(record) ?? '1')
    case 'category':
    case 'tag':
      return undefined
    case 'asset':
    case 'coin':
      return record.asset === undefined ? undefined : fc.constant(record.asset)
    case 'window':
      return record.window === undefined ? undefined : fc.constant(record.window)
    case 'status':
      return fc.constant('open')
    case 'venue':
      return fc.constant(record.venue)
    case 'market':
    case 'market_id':
      return fc.constant(record.marketId)
    case 'key':
      return fc.constant(key)
    case 'token_id':
      return record.outcomes[0]?.tokenId === undefined
        ? undefined
        : fc.constant(tokenOf(record, key))
    case 'outcome':
      return fc.constantFrom(...record.outcomes.map(({ label }) => label))
    case 'reason':
      return fc.constantFrom('before_capture', 'recorder_down')
    // Fixed strikes have few members, and only orders of both values say something.
    case 'kind':
    case 'members':
    case 'side':
      return get.operationId.startsWith('contract') ? undefined : fromSchema(schema)
    case 'min_edge':
      return fc.constantFrom('0', '0.01', '0.5')
    case 'q':
      return fc.constantFrom('Bitcoin', 'up', record.marketId.slice(0, 8))
    case 'id':
      return fc.integer({ min: 1, max: rows }).map((row) => `${record.venue}:${key}:${row}`)
    case 'size':
      if (get.operationId.startsWith('contract')) return undefined
      return fc.constantFrom('1', '5', '12.5', '100')
    case 'metric':
      return get.operationId.startsWith('bulk') ? undefined : fc.constantFrom('chance', 'price')
    case 'formats':
      return fc.constantFrom('ndjson', 'csv', 'ndjson,csv')
    case 'format':
      return fc.constantFrom(...(schema.enum ?? ['json']))
  }
  return fromSchema(schema)
}

function tokenOf(record: BusyMarket['record'], key: string): string {
  return record.venue === 'venuec' ? key : record.outcomes[0]!.tokenId!
}

function fromSchema({
  type,
  enum: words,
  minimum,
  maximum,
}: Parameter['schema']): fc.Arbitrary<string> {
  if (words !== undefined) return fc.constantFrom(...words)
  if (type === 'boolean') return fc.constantFrom('true', 'false')
  if (type === 'integer') {
    return fc.integer({ min: minimum ?? 0, max: Math.min(maximum ?? 20, 20) }).map(String)
  }
  return fc.string({ minLength: 1, maxLength: 20 })
}

const NASTY = [
  '',
  '0',
  '-1',
  '1001',
  '1e3',
  '0x10',
  'NaN',
  'null',
  'true ',
  'TRUE',
  '2026-13-01T00:00:00Z',
  '2026-08-11',
  '1786410915',
  '99999999999999999999',
  '../../etc/passwd',
  "'; DROP TABLE market; --",
  '%00',
  '\u{1F4C8}',
  '\u0000',
  'a'.repeat(5000),
  '<script>',
]

// Made once: a text of any letters takes a list of all of Unicode.
const aNasty = fc.oneof(fc.constantFrom(...NASTY), fc.string({ maxLength: 40, unit: 'binary' }))

function broken(
  { address, get }: Operation,
  good: fc.Arbitrary<GeneratedRequest>,
): fc.Arbitrary<GeneratedRequest> {
  const names = get.parameters.filter((one) => one.in === 'query').map(({ name }) => name)
  const inPath = get.parameters.some((one) => one.in === 'path')
  const wrongValue = fc.tuple(fc.constantFrom(...names, 'nonsense'), aNasty)
  return good.chain((request) =>
    fc.oneof(
      wrongValue.map(([name, value]) => ({
        ...request,
        url: `${request.url}${request.url.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(value)}`,
      })),
      aNasty.map((value) => ({
        ...request,
        url: inPath
          ? address.replaceAll(/\{\w+\}/g, encodeURIComponent(value) || '%20')
          : `${request.url}${request.url.includes('?') ? '&' : '?'}${encodeURIComponent(value)}=1`,
      })),
      fc.constantFrom('POST', 'PUT', 'DELETE', 'PATCH').map((method) => ({ ...request, method })),
    ),
  )
}

function contractIdOf(record: BusyMarket['record']): string {
  const terms = deriveTerms(record)
  return terms === undefined ? 'x-none' : printContractId(terms.subject)
}

function toUrl(
  address: string,
  busiest: Busiest,
  { record }: BusyMarket,
  pairs: readonly Pair[],
): string {
  const path = address
    .replace('{asset}', (busiest.venuec.record.asset ?? 'btc').toLowerCase())
    .replace(/\{market_(id|ticker)\}/, encodeURIComponent(record.marketId))
    .replace('{contract_id}', contractIdOf(record))
  const query = pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
  return query === '' ? path : `${path}?${query}`
}
