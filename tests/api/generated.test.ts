import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROBLEMS } from '@priorbook/sdk/wire'
import { openSharedApi, type EmulatedApi } from './emulated-api.ts'
import {
  createRequests,
  resolveParameters,
  type Operation,
  type OpenApi,
} from './generated-requests.ts'

const RUNS = process.env['PRIORBOOK_FULL'] === '1' ? 200_000 : 2000
const SEED = 20_260_811
const BATCH = 5000

let api: EmulatedApi
let document: OpenApi

beforeAll(async () => {
  api = await openSharedApi()
  document = resolveParameters((await api.get('/v3/openapi.json')).body as OpenApi)
}, 180_000)

afterAll(() => api.close())

describe('requests made from our own OpenAPI document', () => {
  it('would notice wrong answers', async () => {
    const judge = createJudge(document)
    const address = '/v3/venueb/markets'
    const operation = { address, get: document.paths[address]!.get }
    const { body } = await api.get(`${address}?limit=1`)
    const good = body as { data: object[]; meta: object; pagination: object }
    const json = 'application/json'
    const problem = 'application/problem+json'
    expect(judge(operation, 200, json, good)).toEqual([])
    expect(judge(operation, 200, json, { ...good, pagination: {} })).not.toEqual([])
    expect(judge(operation, 200, json, { ...good, meta: {} })).not.toEqual([])
    expect(judge(operation, 200, json, { ...good, data: [{}] })).not.toEqual([])
    expect(judge(operation, 200, 'text/html', good)).not.toEqual([])
    const refusal = (await api.get(`${address}?limit=0`)).body as object
    expect(judge(operation, 400, problem, refusal)).toEqual([])
    expect(judge(operation, 400, json, refusal)).not.toEqual([])
    expect(judge(operation, 404, problem, refusal)).not.toEqual([])
    expect(judge(operation, 400, problem, { ...refusal, code: 'oops' })).not.toEqual([])
    expect(judge(operation, 500, problem, refusal)).not.toEqual([])
  })

  it(`${RUNS}: never a 5xx, every answer has its schema, every error a listed code`, async () => {
    const judge = createJudge(document)
    const requests = createRequests(document, api)
    const histogram: Record<string, number> = {}
    const wrong: string[] = []
    let withData = 0
    for (const { url, operation, method } of inBatches(requests)) {
      const { status, headers, body } = await api.get(url, { method })
      const type = (headers['content-type'] ?? '').split(';')[0]!
      const name = status === 200 ? '200' : `${status} ${(body as { code?: string }).code ?? ''}`
      histogram[name] = (histogram[name] ?? 0) + 1
      if (status === 200 && hasData(body)) withData++
      for (const fault of judge(operation, status, type, body)) {
        if (wrong.length < 20) wrong.push(`${method} ${url} ${status}: ${fault}`)
      }
    }
    console.log(`${RUNS} requests: ${JSON.stringify(histogram)}, with data ${withData}`)
    expect(wrong).toEqual([])
    expect(api.errors).toEqual([])
    expect(withData / RUNS).toBeGreaterThan(0.5)
    for (const status of ['400', '404', '405']) {
      expect(Object.keys(histogram).some((name) => name.startsWith(status))).toBe(true)
    }
  }, 3_600_000)
})

function* inBatches<T>(requests: fc.Arbitrary<T>): Generator<T> {
  for (let done = 0; done < RUNS; done += BATCH) {
    yield* fc.sample(requests, { numRuns: Math.min(BATCH, RUNS - done), seed: SEED + done })
  }
}

type Judge = (operation: Operation, status: number, type: string, body: unknown) => string[]

function createJudge(openapi: OpenApi): Judge {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false })
  ajv.addSchema({ ...openapi, $id: 'api' })
  const known = new Map<string, ReturnType<typeof ajv.compile>>()
  const validatorOf = (pointer: string): ReturnType<typeof ajv.compile> => {
    let validate = known.get(pointer)
    if (validate === undefined) {
      validate = ajv.compile({ $ref: `api#${pointer}` })
      known.set(pointer, validate)
    }
    return validate
  }
  return ({ address, get }, status, type, body) => {
    if (status >= 500) return ['a 5xx']
    const listed = get.responses[String(status)]
    if (status !== 200) {
      const faults = status === 405 || listed !== undefined ? [] : ['a status that is not listed']
      if (type !== 'application/problem+json') return [...faults, `content type ${type}`]
      const { code } = body as { code: string }
      if (!Object.hasOwn(PROBLEMS, code)) faults.push(`code ${code}`)
      else if (PROBLEMS[code as keyof typeof PROBLEMS].status !== status) faults.push('status')
      const validate = validatorOf(
        `/components/responses/${status}/content/application~1problem+json/schema`,
      )
      if (!validate(body)) faults.push(ajv.errorsText(validate.errors))
      return faults
    }
    const content = listed?.content?.[type]
    if (content === undefined) return [`content type ${type} is not listed`]
    if (content.schema === undefined) return []
    const path = [address, 'get', 'responses', '200', 'content', type, 'schema']
    const validate = validatorOf(`/paths/${path.map(toPointer).join('/')}`)
    return validate(body) ? [] : [ajv.errorsText(validate.errors).slice(0, 300)]
  }
}

function toPointer(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
}

// Rows, a book, or a file with something in it.
function hasData(body: unknown): boolean {
  if (typeof body === 'string') return body.length > 0
  const { data } = body as { data?: unknown }
  return Array.isArray(data) ? data.length > 0 : data !== null
}
