import { hash } from 'node:crypto'
import { Script } from 'node:vm'
import { PROBLEMS } from '@priorbook/sdk/wire'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { ROUTES } from '../routes/index.ts'
import { createTestServer } from '../server.testing.ts'
import { VENUE_IDS } from '@priorbook/sdk/domain'
import { EMULATED_VENUES } from '../../../../emulator/src/venues/registry.ts'

// Examples are rows of emulated venues; a venue may be without an emulation.
const hasNoRows = (route: string): boolean =>
  VENUE_IDS.some(
    (venue) => route.startsWith(`${venue}_`) && !EMULATED_VENUES.some((id) => id === venue),
  )

type Parameter = { name: string; in: string; required: boolean; schema: object }
type Operation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly parameters: readonly (Parameter | { readonly $ref: string })[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { $ref?: string; content?: object }>>
  readonly security?: readonly unknown[]
}
type Document = {
  readonly openapi: string
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, { get: Operation } & Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly responses: Readonly<Record<string, object>>
    readonly schemas: Readonly<Record<string, object>>
    readonly headers: Readonly<Record<string, object>>
  }
}

type Content = {
  readonly 'application/json': { readonly schema: object; readonly example?: unknown }
}

async function read(): Promise<Document> {
  const { ask } = await createTestServer()
  return (await ask('/v3/openapi.json')).json() as unknown as Document
}

function resolve<T extends object>(document: Document, part: T | { readonly $ref: string }): T {
  if (!('$ref' in part)) return part
  return at(document, part.$ref) as T
}

function at(document: Document, ref: string): unknown {
  let found: unknown = document
  for (const name of ref.replace('#/', '').split('/')) {
    found = (found as Record<string, unknown>)[name]
  }
  return found
}

describe('the OpenAPI document', () => {
  it('holds every address of every route and nothing else', async () => {
    const { openapi, paths } = await read()
    expect(openapi).toBe('3.1.0')
    const addresses = ROUTES.flatMap(({ address, aliases = [] }) => [address, ...aliases])
    expect(Object.keys(paths).sort()).toEqual(addresses.sort())
    const ids = Object.values(paths).map(({ get }) => get.operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('has one summary for each operation of a group, so that a list of them can be read', async () => {
    const { paths } = await read()
    const listed = Object.values(paths).map(({ get }) => `${get.tags[0]}: ${get.summary}`)
    expect(listed.filter((each, index) => listed.indexOf(each) !== index)).toEqual([])
  })

  it('holds every parameter, and all of a path', async () => {
    const document = await read()
    for (const route of ROUTES) {
      const { get } = document.paths[route.address]!
      const parameters = get.parameters.map((part) => resolve<Parameter>(document, part))
      const names = parameters.map(({ name }) => name)
      expect(names).toEqual([...Object.keys(route.path), ...Object.keys(route.query)])
      const inPath = [...route.address.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
      const said = parameters.filter((param) => param.in === 'path' && param.required)
      expect(said.map(({ name }) => name)).toEqual(inPath)
    }
  })

  it('shows a real answer of every route, which its schema allows (else: npm run examples)', async () => {
    const document = await read()
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ ...document, $id: 'api' })
    const wrong: string[] = []
    for (const { id, address, data } of ROUTES) {
      if (data === undefined || id.endsWith('_audit') || hasNoRows(id)) continue
      const content = document.paths[address]!.get.responses['200']!.content as Content
      const { schema, example } = content['application/json']
      const { $ref } = schema as { readonly $ref: string }
      const validate = ajv.compile({ $ref: `api${$ref}` })
      if (example === undefined || !validate(example)) {
        wrong.push(`${id}: ${ajv.errorsText(validate.errors)}`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('shows a real request and answer of every change (else: npm run examples)', async () => {
    const document = await read()
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ ...document, $id: 'api' })
    const errorsOf = ({ schema, example }: Content['application/json']): string => {
      const validate = ajv.compile({ $ref: `api${(schema as { readonly $ref: string }).$ref}` })
      return validate(example) ? '' : ajv.errorsText(validate.errors)
    }
    const shown = ROUTES.flatMap(({ address, writes = {} }) =>
      Object.entries(writes).map(([method, { id, body }]) => {
        const { operationId, requestBody, responses } =
          document.paths[address]![method.toLowerCase()]!
        expect([operationId, requestBody !== undefined]).toEqual([id, body !== undefined])
        const sent = requestBody?.content['application/json']
        const answered = (responses['200']!.content as Content)['application/json']
        return [id, sent === undefined ? '' : errorsOf(sent), errorsOf(answered)]
      }),
    )
    expect(shown).toEqual([
      ['alert_create', '', ''],
      ['alert_delete', '', ''],
      ['alert_test', '', ''],
    ])
  })

  it('says of every operation whether it can be tried without a key', async () => {
    const { paths } = await read()
    const { store } = await createTestServer()
    const { ask } = await createTestServer({ demo: { store } })
    for (const route of ROUTES) {
      const operations = paths[route.address]!
      const isDemo = (operations.get as { readonly 'x-demo'?: boolean })['x-demo'] !== false
      const address = route.address.replace('/v3/', '/v3/demo/').replaceAll(/[{}]/g, '')
      const { status, text } = await ask(address)
      const isUnknown = status === 404 && text.includes('"unknown_route"')
      const isThere = address !== route.address && !isUnknown
      expect([address, isDemo]).toEqual([address, isThere])
    }
  })

  it('shows examples of parameters that their schemas allow', async () => {
    const document = await read()
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ ...document, $id: 'api' })
    const wrong = Object.values(document.paths).flatMap(({ get }) =>
      get.parameters.flatMap((part) => {
        const { name, schema, ...more } = resolve<Parameter>(document, part)
        const { example } = more as { readonly example?: unknown }
        const { $ref } = schema as { readonly $ref?: string }
        const validate = ajv.compile($ref === undefined ? schema : { $ref: `api${$ref}` })
        return example === undefined || validate(example) ? [] : [`${get.operationId} ${name}`]
      }),
    )
    expect(wrong).toEqual([])
  })

  it('names every object and every list of words, and has one tag for each venue', async () => {
    const document = await read()
    const { Problem, ...schemas } = document.components.schemas
    expect(Problem).toBeDefined()
    const nameless = Object.entries(schemas).flatMap(([name, schema]) =>
      [...inner(schema)]
        .filter((part) => 'properties' in part || 'enum' in part)
        .map((part) => `${name}: ${JSON.stringify(part).slice(0, 80)}`),
    )
    expect(nameless).toEqual([])
    for (const { get } of Object.values(document.paths)) {
      for (const part of get.parameters) {
        const { schema } = resolve<Parameter>(document, part)
        expect('enum' in schema).toBe(false)
      }
    }
    const tags = document.tags.map(({ name }) => name)
    expect(new Set(tags.map((name) => name.toLowerCase().replace(' ', ''))).size).toBe(tags.length)
  })

  it('has no reference that leads nowhere', async () => {
    const document = await read()
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((m) => m[1]!)
    expect(refs.length).toBeGreaterThan(50)
    for (const ref of new Set(refs))
      expect([ref, typeof at(document, ref)]).toEqual([ref, 'object'])
  })

  it('names every error code', async () => {
    const { components } = await read()
    const text = JSON.stringify(components.responses)
    for (const [code, { status }] of Object.entries(PROBLEMS)) {
      expect(text).toContain(`"${code}"`)
      expect(Object.keys(components.responses)).toContain(String(status))
    }
  })
})

// The schemas inside a schema that are written out in it.
function* inner(schema: object): Generator<object> {
  for (const [keyword, value] of Object.entries(schema)) {
    const parts: unknown[] =
      keyword === 'properties' || keyword === 'anyOf' || keyword === 'allOf'
        ? Object.values(value as object)
        : keyword === 'items'
          ? [value]
          : []
    for (const part of parts) {
      yield part as object
      yield* inner(part as object)
    }
  }
}

describe('the pages', () => {
  it('need nothing from other hosts', async () => {
    const { ask } = await createTestServer()
    for (const url of ['/', '/docs', '/docs/errors']) {
      const { text, headers } = await ask(url)
      expect(text).not.toMatch(/(src|href)="https?:|@import|url\(/)
      expect(text).toContain("default-src 'none'")
      expect(headers['content-type']).toBe('text/html; charset=utf-8')
    }
    const docs = (await ask('/docs')).text
    const script = /<script type="module">(.*)<\/script>/s.exec(docs)![1]!
    // Parses as JavaScript, and the policy of the page allows it.
    expect(() => new Script(script)).not.toThrow()
    expect(docs).toContain(`script-src 'sha256-${hash('sha256', script, 'base64')}'`)
    const errors = (await ask('/docs/errors')).text
    for (const code of Object.keys(PROBLEMS)) expect(errors).toContain(`id="${code}"`)
    const llms = (await ask('/llms.txt')).text
    for (const { address } of ROUTES.filter((route) => route.data !== undefined)) {
      expect(llms).toContain(`GET ${address}`)
    }
    expect(llms).toContain('hidden liquidity, queue priority or the market impact')
  })
})
