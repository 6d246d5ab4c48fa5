import {
  pythonName,
  refOf,
  textOf,
  toType,
  unionName,
  type Part,
  type Schemas,
} from './python-models.ts'

/** The parts of an OpenAPI document that routes are made of. */
export type Document = {
  readonly paths: Readonly<
    Record<
      string,
      { readonly get: Operation; readonly post?: Operation; readonly delete?: Operation }
    >
  >
  readonly components: { readonly schemas: Schemas; readonly parameters: Schemas }
}

type Operation = {
  readonly operationId: string
  readonly summary: string
  readonly parameters?: readonly Part[]
  readonly requestBody?: Part
  readonly responses: Readonly<Record<string, Part>>
}

/** The routes of one market, by the end of their operation ids, with their names in Python. */
const MARKET_METHODS: Readonly<Record<string, string>> = {
  market: 'record',
  revisions: 'revisions',
  orderbook_latest: 'latest',
  orderbook: 'as_of',
  snapshots: 'snapshots',
  changes: 'changes',
  trades: 'trades',
  timeseries: 'timeseries',
  history: 'history',
  execution: 'execution',
  audit: 'audit',
}

/** Names in Python where they differ from the operation ids. */
const METHODS: Readonly<Record<string, string>> = {
  bulkManifest: 'manifest',
  reference_asof: 'reference_as_of',
  proof_day: 'proof',
  alert_create: 'create_alert',
  alert_delete: 'delete_alert',
  alert_test: 'test_alert',
}

/** Files and documents, which the client reads in its own way. */
const BY_HAND = new Set(['bulk', 'home', 'docs', 'docs_errors', 'llms', 'openapi', 'asyncapi'])

/** Rows that also come as columns, by method: their dataset. */
const DATASETS: Readonly<Record<string, string>> = {
  snapshots: 'books',
  changes: 'changes',
  trades: 'trades',
  timeseries: 'samples',
  history: 'history',
  panels: 'panels',
  // Pages of lists, each of them as columns.
  markets: 'list',
  events: 'list',
  gaps: 'list',
  parity: 'list',
  revisions: 'list',
  contracts: 'list',
  contract_snapshots: 'list',
  contract_spreads: 'list',
  // Lists that are one answer.
  coverage: 'list',
  coverage_days: 'list',
}

// The client chooses how values are written: decimals and times have types in Python.
const STYLE = new Set(['number_format', 'time_format', 'format'])

type Method = {
  readonly name: string
  readonly summary: string
  readonly address: string
  readonly path: readonly string[]
  readonly query: ReadonlyMap<string, Argument>
  readonly data: string
  readonly isWalk: boolean
  /** How it changes something; absent where it reads. */
  readonly write?: { readonly method: 'POST' | 'DELETE'; readonly hasBody: boolean }
}

type Argument = { readonly type: string; readonly isRequired: boolean }

/** The module `routes.py`: a typed method for every route, for both clients. */
export function toRoutes(document: Document): string {
  const { routes, market } = methodsOf(document)
  const blocks = [false, true].flatMap((isAsync) => [
    toRouteClass('Routes', 'Caller', routes, isAsync),
    toRouteClass('MarketRoutes', 'MarketCaller', market, isAsync),
  ])
  return `${header(blocks.join(''), document)}${blocks.join('')}`
}

function methodsOf(document: Document): { routes: Method[]; market: Method[] } {
  const routes: Method[] = []
  const market = new Map<string, Method>()
  for (const [address, { get, post, delete: remove }] of Object.entries(document.paths)) {
    const { operationId: id } = get
    if (BY_HAND.has(id) || id.includes('_alias') || /^venue[a-z]_(any_)?markets$/.test(id)) continue
    const own = /^venue[a-z]_(any_)?(\w+)$/.exec(id)?.[2]
    if (own === undefined) {
      routes.push(toMethod(METHODS[id] ?? id, address, get, document))
      if (post !== undefined) routes.push(toWrite('POST', address, post, document))
      if (remove !== undefined) routes.push(toWrite('DELETE', address, remove, document))
      continue
    }
    const suffix = /\{market_\w+\}(.*)$/.exec(address)?.[1] ?? ''
    const method = toMethod(MARKET_METHODS[own]!, suffix, get, document)
    const known = market.get(method.name)
    const query = new Map([...(known?.query ?? []), ...method.query])
    const data = joinData(known?.data, method.data)
    market.set(method.name, { ...method, query, data, path: [] })
  }
  return { routes, market: [...market.values()] }
}

function toWrite(
  method: 'POST' | 'DELETE',
  address: string,
  operation: Operation,
  document: Document,
): Method {
  const name = METHODS[operation.operationId]!
  const hasBody = operation.requestBody !== undefined
  return { ...toMethod(name, address, operation, document), write: { method, hasBody } }
}

// A book, a list of books or none: the client always gives a list.
function joinData(known: string | undefined, own: string): string {
  const isBook = (data: string): boolean => /^(list\[Book\]|Book)( \| None)?$/.test(data)
  if (isBook(own) && own.includes('None')) return 'list[Book]'
  return known ?? own
}

function toMethod(name: string, address: string, get: Operation, document: Document): Method {
  const { schemas, parameters } = document.components
  const path: string[] = []
  const query = new Map<string, Argument>()
  for (const part of get.parameters ?? []) {
    const ref = refOf(part)
    const own = ref === undefined ? part : parameters[ref]!
    const argument = String(own['name'])
    if (own['in'] === 'path') path.push(argument)
    else if (!STYLE.has(argument)) {
      const type = toArgumentType(own['schema'] as Part, schemas)
      query.set(argument, { type, isRequired: own['required'] === true })
    }
  }
  const data = dataOf(get, schemas)
  const isWalk = query.has('cursor') && data.startsWith('list[')
  return { name, summary: get.summary, address, path, query, data, isWalk }
}

function dataOf({ responses }: Operation, schemas: Schemas): string {
  const content = responses['200']!['content'] as Readonly<Record<string, { schema: Part }>>
  const envelope = refOf(content['application/json']!.schema)!
  const properties = schemas[envelope]!['properties'] as Schemas
  return toType(properties['data']!, schemas)
}

function toArgumentType(schema: Part, schemas: Schemas): string {
  const ref = refOf(schema)
  if (ref !== undefined && schemas[ref]!['enum'] !== undefined) return unionName(ref)
  if (schema['type'] === 'array') return 'Sequence[str]'
  const pattern = textOf(schema['pattern'])
  if (pattern.startsWith(String.raw`^(\d{10}`)) return 'TimeInput'
  if (isDecimal(new RegExp(pattern))) return 'DecimalInput'
  if (/^\^?\S*,/.test(pattern)) return 'str | Sequence[str]'
  return toType(schema, schemas)
}

// Decimals from 0 on, whatever their upper bound is.
function isDecimal(pattern: RegExp): boolean {
  return ['0', '0.25', '1'].every((text) => pattern.test(text)) && !pattern.test('0.x')
}

function toRouteClass(
  name: string,
  base: string,
  methods: readonly Method[],
  isAsync: boolean,
): string {
  const prefix = isAsync ? 'Async' : ''
  const about = isAsync ? 'to await' : 'that wait for their answers'
  const texts = methods.map((method) => toMethodText(method, isAsync))
  return `\n\nclass ${prefix}${name}(${prefix}${base}):\n    """Routes ${about}."""\n${texts.join('')}`
}

function toMethodText(method: Method, isAsync: boolean): string {
  const { name, summary, address, path, query, data, isWalk, write } = method
  const walk = `${isAsync ? 'Async' : ''}Walk`
  const row = data.replace(/^list\[(.*)\]$/, '$1')
  const dataset = DATASETS[name]
  const isList = !isWalk && dataset === 'list'
  const list = `${isAsync ? 'Async' : ''}ListAnswer`
  const returned = isWalk ? `${walk}[${row}]` : isList ? `${list}[${row}]` : `Answer[${data}]`
  const given = [...query].filter(([key]) => !isWalk || key !== 'cursor')
  const options = given.map(([key, { type, isRequired }]) =>
    isRequired ? `${pythonName(key)}: ${type}` : `${pythonName(key)}: ${type} | None = None`,
  )
  const all = [...options, ...(isWalk ? ['resume: str | None = None'] : [])]
  const args = [
    'self',
    ...path.map((key) => `${key}: str`),
    ...(write?.hasBody === true ? ['body: Mapping[str, Any]'] : []),
    ...(all.length > 0 ? ['*', ...all] : []),
  ]
  const wire = given.map(([key]) => `                ${JSON.stringify(key)}: ${pythonName(key)},\n`)
  const filled = path.reduce((text, key) => text.replace(`{${key}}`, `{quoted(${key})}`), address)
  const where = `${path.length === 0 ? '' : 'f'}${JSON.stringify(filled)}`
  const more = isWalk
    ? `            resume=resume,\n${dataset === undefined ? '' : `            dataset=${JSON.stringify(dataset)},\n`}`
    : ''
  const isPlainAsync = isAsync && !isWalk
  if (write !== undefined) {
    const body = write.hasBody ? 'body' : 'None'
    return (
      `\n    ${isAsync ? 'async ' : ''}def ${name}(\n` +
      args.map((one) => `        ${one},\n`).join('') +
      `    ) -> ${returned}:\n        """${sentence(summary)}"""\n` +
      `        return ${isAsync ? 'await ' : ''}self._write(\n` +
      `            ${data},\n            "${write.method}",\n            ${where},\n            ${body},\n        )\n`
    )
  }
  const call = `self._${isWalk ? 'walk' : isList ? 'list' : isBooks(name) ? 'books' : 'one'}(`
  const type = isBooks(name) ? '' : `            ${isWalk || isList ? row : data},\n`
  return (
    `\n    ${isPlainAsync ? 'async ' : ''}def ${name}(\n` +
    args.map((one) => `        ${one},\n`).join('') +
    `    ) -> ${returned}:\n        """${sentence(summary)}"""\n` +
    `        return ${isPlainAsync ? 'await ' : ''}${call}\n${type}` +
    `            ${where},\n            {\n${wire.join('')}            },\n${more}        )\n`
  )
}

const isBooks = (name: string): boolean => name === 'latest' || name === 'as_of'

function sentence(text: string): string {
  const plain = text.replaceAll('’', "'").replaceAll('"', "'")
  return plain.endsWith('.') ? plain : `${plain}.`
}

function header(text: string, { components }: Document): string {
  const names = Object.keys(components.schemas).map(unionName)
  const used = [...new Set(names)].filter((name) => new RegExp(`\\b${name}\\b`).test(text)).sort()
  const list = used.map((name) => `    ${name},\n`).join('')
  const inputs = ['DecimalInput', 'TimeInput'].filter((name) => text.includes(name))
  return `"""A method for every route. Generated from the OpenAPI document: \`npm run models:python\`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from priorbook._caller import AsyncCaller, AsyncMarketCaller, Caller, MarketCaller
from priorbook._query import ${[...inputs, 'quoted'].join(', ')}
from priorbook._walk import Answer, AsyncListAnswer, AsyncWalk, ListAnswer, Walk
from priorbook.models import (
${list})
`
}
