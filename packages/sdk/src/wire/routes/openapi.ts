import { envelopeOf, SCHEMA_VERSION } from '../envelope.ts'
import { NAME, named, type JsonSchema } from '../json-schema.ts'
import { PROBLEM_SCHEMA, PROBLEMS, problemType, type ProblemCode } from '../problems.ts'
import type { RouteContract } from './contract.ts'
import type { Param } from './param.ts'
import type { WriteContract } from './writes.ts'
import { MEDIA_TYPES } from './params.ts'

/** What the interface says of itself before its routes. */
export const ABOUT = `Full-depth order books of prediction markets as they were recorded, in one schema for three venues, and exactly what is missing.

Every request carries \`Authorization: Bearer <API_KEY>\`. Everything that reads data also exists without a key, over demonstration data, below \`/v3/demo\` (\`/v3/venueb/markets\` is \`/v3/demo/venueb/markets\`).

Answers are \`{"data", "meta", "pagination"}\`. Rows are ordered by received time and sequence; \`start_time\` is inclusive, \`end_time\` exclusive. \`pagination.next_cursor\` goes into \`cursor\` with all other parameters unchanged; cursors never expire. What was not observed is a gap in \`meta.gaps\`: nothing is filled forward, and an empty answer says why in \`meta.notices\`. Errors are \`application/problem+json\` with a listed code.

The service does not reproduce hidden liquidity, queue priority or the market impact of a real order.`

/** A recorded request of a route and the body of its answer. */
export type RouteExample = {
  /** The parameters of the request, those of the path included. */
  readonly params: Readonly<Record<string, string>>
  /** The JSON that the request carried, where it carried one. */
  readonly request?: unknown
  readonly body: unknown
}

/** On operations that are not below `/v3/demo`: there is nothing of them to try without a key. */
const NO_DEMO: DocumentPart = { 'x-demo': false }

/** The OpenAPI 3.1 document of contracts; aliases are operations of their own. */
export function toOpenApi(
  contracts: readonly RouteContract[],
  examples: Readonly<Record<string, RouteExample>> = {},
): DocumentPart {
  const schemas = new SchemaComponents()
  const parameters = new ParameterComponents(contracts, schemas, examples)
  const paths: Record<string, DocumentPart> = {}
  for (const contract of contracts) {
    const { id, address, aliases = [] } = contract
    const operation = toOperation(contract, schemas, parameters, examples[id])
    paths[address] = { get: operation, ...toWrites(contract, schemas, parameters, examples) }
    for (const [index, alias] of aliases.entries()) {
      const operationId = `${id}_alias${index === 0 ? '' : index + 1}`
      const summary = `${contract.summary} (alias)`
      const description = `${contract.description}\n\nThe same as \`${address}\`.`
      paths[alias] = { get: { ...operation, operationId, summary, description } }
    }
  }
  const problem = schemas.refer(PROBLEM_SCHEMA)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Priorbook',
      version: SCHEMA_VERSION,
      summary: 'Historical order books of prediction markets',
      description: ABOUT,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    tags: [...new Set(contracts.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'pb_live_ and 36 letters and digits',
          description: 'A key of this service; in this header alone, never in an address.',
        },
      },
      schemas: schemas.all(),
      parameters: parameters.all(),
      responses: toProblemResponses(problem),
      headers: HEADERS,
    },
  }
}

function toOperation(
  contract: RouteContract,
  schemas: SchemaComponents,
  parameters: ParameterComponents,
  example: RouteExample | undefined,
): DocumentPart {
  const { tag, summary, description, isKeyless = false, data, deprecated, hasNoDemo } = contract
  const problems = statusesOf(contract).map((status) => [
    status,
    { $ref: `#/components/responses/${status}` },
  ])
  return {
    operationId: contract.id,
    tags: [tag],
    summary,
    description,
    ...(deprecated === undefined ? {} : { deprecated: true }),
    ...(isKeyless ? { security: [] } : {}),
    ...(hasNoDemo === true ? NO_DEMO : {}),
    parameters: parameters.of(contract),
    responses: {
      200: {
        description: 'The answer.',
        headers: headersOf(contract),
        content: contentOf(contract, schemas, example),
      },
      ...(hasParts(contract) ? { 206: { description: 'A part of a file: `Range`.' } } : {}),
      ...(data === undefined && !hasParts(contract)
        ? {}
        : { 304: { description: 'Nothing changed.' } }),
      ...Object.fromEntries(problems),
    },
  }
}

function toWrites(
  contract: RouteContract,
  schemas: SchemaComponents,
  parameters: ParameterComponents,
  examples: Readonly<Record<string, RouteExample>>,
): DocumentPart {
  const { tag, writes = {} } = contract
  const statuses = statusesOf(contract).filter((status) => status !== 406)
  const problems = statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }])
  const toWrite = ({ id, summary, description, body, data }: WriteContract): DocumentPart => {
    const schema = schemas.refer(named(answerName(data)!, envelopeOf(data)))
    const json = MEDIA_TYPES.json[0]
    const example = examples[id]
    const { request } = example ?? {}
    const sent = body && {
      schema: schemas.refer(body),
      ...(request === undefined ? {} : { example: request }),
    }
    const answered = { schema, ...(example === undefined ? {} : { example: example.body }) }
    return {
      operationId: id,
      tags: [tag],
      summary,
      description,
      ...NO_DEMO,
      parameters: parameters.of({ ...contract, query: {} }),
      ...(sent && { requestBody: { required: true, content: { [json]: sent } } }),
      responses: {
        200: {
          description: 'The answer.',
          headers: headersOf({ ...contract, formats: [] }),
          content: { [json]: answered },
        },
        ...Object.fromEntries(problems),
        501: { $ref: '#/components/responses/501' },
      },
    }
  }
  const all = Object.entries(writes).map(([method, write]) => [
    method.toLowerCase(),
    toWrite(write),
  ])
  return Object.fromEntries(all) as DocumentPart
}

function contentOf(
  { address, data, formats = [] }: RouteContract,
  schemas: SchemaComponents,
  example: RouteExample | undefined,
): DocumentPart {
  const files = formats.map((format) => [
    MEDIA_TYPES[format][0],
    format === 'ndjson' || format === 'csv' ? { schema: { type: 'string' } } : {},
  ])
  if (data !== undefined) {
    const name = answerName(data)
    const envelope = envelopeOf(data)
    const schema = schemas.refer(name === undefined ? envelope : named(name, envelope))
    const json = { schema, ...(example === undefined ? {} : { example: example.body }) }
    return { [MEDIA_TYPES.json[0]]: json, ...Object.fromEntries(files) }
  }
  if (files.length > 0) return Object.fromEntries(files) as DocumentPart
  if (address.endsWith('.json')) return { [MEDIA_TYPES.json[0]]: { schema: { type: 'object' } } }
  const type = address.endsWith('.txt') ? 'text/plain' : 'text/html'
  return { [type]: { schema: { type: 'string' } } }
}

// Routes with the same data share the schema of their answer: `BookPage`, `BookAnswer`.
function answerName({ items, anyOf, ...schema }: JsonSchema): string | undefined {
  const name = schema[NAME]
  if (name !== undefined) return `${name}Answer`
  if (items !== undefined) {
    const row = (items as JsonSchema)[NAME]
    return row === undefined ? undefined : `${row}Page`
  }
  const [first] = (anyOf ?? []) as readonly JsonSchema[]
  if (first === undefined) return undefined
  return answerName(first)?.replace(/Page$/, 'ListAnswer')
}

/** Parameters that several routes share, each listed once. */
class ParameterComponents {
  private readonly schemas: SchemaComponents
  private readonly examples: Readonly<Record<string, RouteExample>>
  private readonly names = new Map<string, string>()
  private readonly shared: Record<string, DocumentPart> = {}

  constructor(
    contracts: readonly RouteContract[],
    schemas: SchemaComponents,
    examples: Readonly<Record<string, RouteExample>>,
  ) {
    this.schemas = schemas
    this.examples = examples
    const counts = new Map<string, { readonly part: DocumentPart; count: number }>()
    for (const contract of contracts) {
      for (const part of this.partsOf(contract)) {
        const text = JSON.stringify(part)
        const known = counts.get(text) ?? { part, count: 0 }
        known.count++
        counts.set(text, known)
      }
    }
    // The most frequent meaning of a name gets the name itself.
    const sorted = [...counts].sort(([, a], [, b]) => b.count - a.count)
    for (const [text, { part, count }] of sorted) {
      const name = String(part['name'])
      if (count < 2 || this.shared[name] !== undefined) continue
      this.shared[name] = part
      this.names.set(text, name)
    }
  }

  all(): DocumentPart {
    return this.shared
  }

  of(contract: RouteContract): readonly DocumentPart[] {
    return this.partsOf(contract).map((part) => {
      const name = this.names.get(JSON.stringify(part))
      return name === undefined ? part : { $ref: `#/components/parameters/${name}` }
    })
  }

  private partsOf(contract: RouteContract): readonly DocumentPart[] {
    const { path, query } = contract
    return [
      ...Object.entries(path).map(([name, param]) => this.part(contract, name, param, 'path')),
      ...Object.entries(query).map(([name, param]) => this.part(contract, name, param, 'query')),
    ]
  }

  private part(
    { id, paramTexts }: RouteContract,
    name: string,
    param: Param,
    where: 'path' | 'query',
  ): DocumentPart {
    // The recorded request shows values that belong to its answer.
    const example = this.examples[id]?.params[name] ?? param.example
    const { type } = param.schema
    const isText = type !== 'integer' && type !== 'boolean'
    return {
      name,
      in: where,
      required: where === 'path' || param.isRequired === true,
      description: paramTexts[name] ?? '',
      schema: this.schemas.refer(param.schema),
      ...(example === undefined ? {} : { example: isText ? example : JSON.parse(example) }),
    }
  }
}

function headersOf({ isKeyless = false, formats = [], deprecated }: RouteContract): DocumentPart {
  const names = ['X-Request-Id', 'ETag']
  if (!isKeyless) names.push('RateLimit', 'RateLimit-Policy')
  if (formats.length > 0) {
    names.push('Link', 'Priorbook-Gaps', 'Priorbook-Notice', 'Priorbook-Receipt')
  }
  const shared = names.map((name) => [name, { $ref: `#/components/headers/${name}` }])
  return { ...Object.fromEntries(shared), ...(deprecated === undefined ? {} : DEPRECATION_HEADERS) }
}

/** True where parts of finished files can be asked for by `Range`. */
function hasParts({ query }: RouteContract): boolean {
  return 'offset' in query
}

function statusesOf(contract: RouteContract): number[] {
  const { isKeyless = false, path, data, formats = [] } = contract
  const statuses = [400, 408, 413, 414, 431, 500, 503]
  if (!isKeyless) statuses.push(401, 403, 429)
  if (Object.keys(path).length > 0 || !isKeyless) statuses.push(404)
  if (data !== undefined || formats.length > 0) statuses.push(406)
  if (hasParts(contract)) statuses.push(416)
  return statuses.sort((a, b) => a - b)
}

function toProblemResponses(problem: DocumentPart): DocumentPart {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of Object.keys(PROBLEMS) as ProblemCode[]) {
    const { status } = PROBLEMS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const entries = [...byStatus].map(([status, codes]) => [
    status,
    {
      description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join(' '),
      headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } },
      content: {
        'application/problem+json': {
          schema: problem,
          examples: Object.fromEntries(
            codes.map((code) => [code, { value: exampleProblem(code) }]),
          ),
        },
      },
    },
  ])
  return Object.fromEntries(entries) as DocumentPart
}

function exampleProblem(code: ProblemCode): DocumentPart {
  const { status, title } = PROBLEMS[code]
  const type = problemType(code)
  return { type, title, status, detail: title, code, request_id: '5f3a1c09be27-1x' }
}

const DEPRECATION_HEADERS: DocumentPart = {
  Deprecation: text('Since when the route is deprecated, such as `@1780272000` (RFC 9745).'),
  Sunset: text('When the route ends, as an HTTP date (RFC 8594).'),
}

const HEADERS: DocumentPart = {
  'X-Request-Id': text('Names the request in the log of the service.'),
  ETag: text('On answers that cannot change any more; send it back in If-None-Match.'),
  Link: text(
    'Of a format without an envelope: the next page, `rel="next"`, and its gaps as CSV, `rel="gaps"`.',
  ),
  'Priorbook-Gaps': text('NDJSON and CSV: how many gaps the page has.'),
  'Priorbook-Notice': text('NDJSON and CSV: the notices of the page as JSON.'),
  'Priorbook-Receipt': text('NDJSON and CSV: the receipt of the walk as JSON, on its last page.'),
  'RateLimit-Policy': text('The limits of the key, such as `"second";q=25;w=1`.'),
  RateLimit: text('What is left of them, such as `"second";r=24;t=1`.'),
}

function text(description: string): DocumentPart {
  return { description, schema: { type: 'string' } }
}

/** A JSON value of a document. */
export type DocumentPart = Readonly<Record<string, unknown>>

/** Collects named schemas: each is listed once and referred to from then on. */
export class SchemaComponents {
  private readonly byName = new Map<string, DocumentPart>()
  private readonly seen = new Map<JsonSchema, DocumentPart>()

  /** The schemas by their names, in alphabetical order. */
  all(): DocumentPart {
    return Object.fromEntries([...this.byName].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** A schema as documents show it: a reference where it has a name. */
  refer(schema: JsonSchema): DocumentPart {
    const name = schema[NAME]
    if (name === undefined) return this.expand(schema)
    if (!this.seen.has(schema)) {
      const expanded = this.expand(schema)
      const before = this.byName.get(name)
      if (before !== undefined && JSON.stringify(before) !== JSON.stringify(expanded)) {
        throw new Error(`two different schemas are named ${name}`)
      }
      this.byName.set(name, expanded)
      this.seen.set(schema, expanded)
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  private expand(schema: JsonSchema): DocumentPart {
    // A described use of a component is a reference with a sentence of its own.
    const { allOf, description } = schema
    if (Array.isArray(allOf) && allOf.length === 1 && description !== undefined) {
      return { ...this.refer(allOf[0] as JsonSchema), description }
    }
    return Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.member(keyword, value)]),
    )
  }

  private member(keyword: string, value: unknown): unknown {
    if (keyword === 'items') return this.refer(value as JsonSchema)
    if (keyword === 'anyOf' || keyword === 'allOf') {
      return (value as readonly JsonSchema[]).map((one) => this.refer(one))
    }
    if (keyword !== 'properties') return value
    const entries = Object.entries(value as Readonly<Record<string, JsonSchema>>)
    return Object.fromEntries(entries.map(([name, one]) => [name, this.refer(one)]))
  }
}
