import examples from './openapi-examples.json' with { type: 'json' }
import { PROBLEMS, type ProblemCode } from '@priorbook/sdk/wire'
import { MEDIA_TYPES } from '../http/negotiate.ts'
import { SCHEMA_VERSION } from '../http/envelope.ts'
import { problemType } from '../http/problem.ts'
import type { Param, Route } from '../route.ts'

type Json = Readonly<Record<string, unknown>>

/** What the interface says of itself before its routes. */
export const ABOUT = `Full-depth order books of prediction markets as they were recorded, in one schema for three venues, and exactly what is missing.

Every request carries \`Authorization: Bearer <API_KEY>\`. Everything that reads data also exists without a key, over demonstration data, below \`/v3/demo\` (\`/v3/venueb/markets\` is \`/v3/demo/venueb/markets\`).

Answers are \`{"data", "meta", "pagination"}\`. Rows are ordered by received time and sequence; \`start_time\` is inclusive, \`end_time\` exclusive. \`pagination.next_cursor\` goes into \`cursor\` with all other parameters unchanged; cursors never expire. What was not observed is a gap in \`meta.gaps\`: nothing is filled forward, and an empty answer says why in \`meta.notice\`. Errors are \`application/problem+json\` with a listed code.

The service does not reproduce hidden liquidity, queue priority or the market impact of a real order.`

/** The OpenAPI 3.1 document of routes; aliases are operations of their own. */
export function toOpenApi(routes: readonly Route[]): Json {
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    paths[route.address] = { get: toOperation(route, route.id) }
    for (const [index, alias] of (route.aliases ?? []).entries()) {
      const id = `${route.id}_alias${index === 0 ? '' : index + 1}`
      paths[alias] = { get: toOperation(route, id, route.address) }
    }
  }
  const tags = [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name }))
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
    tags,
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
      schemas: SCHEMAS,
      responses: toProblemResponses(),
      headers: HEADERS,
    },
  }
}

function toOperation(route: Route, id: string, aliasOf?: string): Json {
  const { tag, summary, isKeyless = false } = route
  const same = aliasOf === undefined ? '' : `\n\nThe same as \`${aliasOf}\`.`
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: route.description + same,
    ...(isKeyless ? { security: [] } : {}),
    parameters: [
      ...Object.entries(route.path).map(([name, param]) => toParameter(name, param, 'path')),
      ...Object.entries(route.query).map(([name, param]) => toParameter(name, param, 'query')),
    ],
    responses: {
      200: {
        description: 'The answer.',
        headers: headersOf(route),
        content: contentOf(route),
      },
      ...(route.data === undefined ? {} : { 304: { description: 'Nothing changed.' } }),
      ...Object.fromEntries(
        statusesOf(route).map((status) => [status, { $ref: `#/components/responses/${status}` }]),
      ),
    },
  }
}

function toParameter(name: string, param: Param<unknown>, where: 'path' | 'query'): Json {
  const { schema } = param
  return {
    name,
    in: where,
    required: where === 'path' || param.isRequired === true,
    description: param.description,
    schema,
    ...(param.example === undefined ? {} : { example: exampleOf(param.example, schema) }),
  }
}

function exampleOf(text: string, { type }: Json): unknown {
  return type === 'integer' || type === 'number' || type === 'boolean' ? JSON.parse(text) : text
}

function contentOf(route: Route): Json {
  const { data, formats = [] } = route
  const files = formats.map((format) => [
    MEDIA_TYPES[format][0],
    format === 'ndjson' || format === 'csv' ? { schema: { type: 'string' } } : {},
  ])
  if (data !== undefined) {
    const exampleData = (examples as Json)[route.id]
    const schema = {
      type: 'object',
      properties: {
        data: exampleData === undefined ? data : { ...data, examples: [exampleData] },
        meta: { $ref: '#/components/schemas/Meta' },
        pagination: { $ref: '#/components/schemas/Pagination' },
      },
      required: ['data', 'meta', 'pagination'],
      additionalProperties: false,
    }
    return { 'application/json': { schema }, ...Object.fromEntries(files) }
  }
  if (files.length > 0) return Object.fromEntries(files) as Json
  if (route.address.endsWith('.json')) return { 'application/json': { schema: { type: 'object' } } }
  const type = route.address.endsWith('.txt') ? 'text/plain' : 'text/html'
  return { [type]: { schema: { type: 'string' } } }
}

function headersOf({ isKeyless = false, formats = [] }: Route): Json {
  const names = ['X-Request-Id', 'ETag']
  if (!isKeyless) names.push('RateLimit', 'RateLimit-Policy')
  if (formats.length > 0) names.push('Link')
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function statusesOf({ isKeyless = false, path, data, formats = [] }: Route): number[] {
  const statuses = [400, 408, 413, 414, 431, 500, 503]
  if (!isKeyless) statuses.push(401, 403, 429)
  if (Object.keys(path).length > 0 || !isKeyless) statuses.push(404)
  if (data !== undefined || formats.length > 0) statuses.push(406)
  return statuses.sort((a, b) => a - b)
}

function toProblemResponses(): Json {
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
          schema: {
            allOf: [
              { $ref: '#/components/schemas/Problem' },
              { properties: { status: { const: status }, code: { enum: codes } } },
            ],
          },
          examples: Object.fromEntries(
            codes.map((code) => [code, { value: exampleProblem(code) }]),
          ),
        },
      },
    },
  ])
  return Object.fromEntries(entries) as Json
}

function exampleProblem(code: ProblemCode): Json {
  const { status, title } = PROBLEMS[code]
  const type = problemType(code)
  return { type, title, status, detail: title, code, request_id: '5f3a1c09be27-1x' }
}

const NOTICE = {
  type: 'object',
  description: 'One thing to know about the answer, such as why it is empty.',
  properties: { code: { type: 'string' }, message: { type: 'string' } },
  required: ['code', 'message'],
}

const TIME_OR_NULL = { type: ['string', 'integer', 'null'] }

const SCHEMAS: Json = {
  Meta: {
    type: 'object',
    properties: {
      count: { type: 'integer', minimum: 0, description: 'Rows of this answer.' },
      range: {
        description: 'What was really served.',
        anyOf: [
          {
            type: 'object',
            properties: { start_time: TIME_OR_NULL, end_time: TIME_OR_NULL },
            required: ['start_time', 'end_time'],
          },
          { type: 'null' },
        ],
      },
      gaps: {
        type: 'array',
        items: { type: 'object' },
        description: 'What was not observed between the row before this page and its last row.',
      },
      market: {
        type: ['object', 'null'],
        description: 'The market as known at the last row of the page.',
      },
      schema_version: { type: 'string', const: SCHEMA_VERSION },
      notice: { anyOf: [NOTICE, { type: 'array', items: NOTICE }] },
    },
    required: ['count', 'range', 'gaps', 'market', 'schema_version'],
  },
  Pagination: {
    type: 'object',
    properties: { next_cursor: { type: ['string', 'null'] }, has_more: { type: 'boolean' } },
    required: ['next_cursor', 'has_more'],
    additionalProperties: false,
  },
  Problem: {
    type: 'object',
    description: 'RFC 9457.',
    properties: {
      type: { type: 'string', description: 'Where the docs explain it.' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
      code: { type: 'string', enum: Object.keys(PROBLEMS) },
      request_id: { type: 'string' },
      param: { type: 'string', description: 'The parameter that is wrong.' },
      allowed: { type: 'array', items: { type: 'string' }, description: 'What it may be.' },
      hint: { type: 'string', description: 'What to do.' },
      plan: { type: 'string', description: 'The plan that would do.' },
      limit: { type: 'string', description: 'The limit that is used up.' },
      retry_after: { type: 'number', description: 'Seconds.' },
    },
    required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
    additionalProperties: false,
  },
}

const HEADERS: Json = {
  'X-Request-Id': text('Names the request in the log of the service.'),
  ETag: text('On answers that cannot change any more; send it back in If-None-Match.'),
  Link: text('The next page of a format without an envelope, `rel="next"`.'),
  'RateLimit-Policy': text('The limits of the key, such as `"second";q=25;w=1`.'),
  RateLimit: text('What is left of them, such as `"second";r=24;t=1`.'),
}

function text(description: string): Json {
  return { description, schema: { type: 'string' } }
}
