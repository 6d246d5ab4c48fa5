import { PROBLEMS } from '@priorbook/sdk/wire'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { ROUTES } from '../routes/index.ts'
import { createTestServer } from '../server.testing.ts'

type Operation = {
  readonly operationId: string
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: object }[]
  readonly responses: Readonly<Record<string, { $ref?: string; content?: object }>>
  readonly security?: readonly unknown[]
}
type Document = {
  readonly openapi: string
  readonly paths: Readonly<Record<string, { get: Operation }>>
  readonly components: {
    readonly responses: Readonly<Record<string, object>>
    readonly schemas: Readonly<Record<string, object>>
    readonly headers: Readonly<Record<string, object>>
  }
}

type Content = {
  readonly 'application/json': {
    readonly schema: { readonly properties: { readonly data: { readonly examples?: unknown[] } } }
  }
}

async function read(): Promise<Document> {
  const { ask } = await createTestServer()
  return (await ask('/v3/openapi.json')).json() as unknown as Document
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

  it('holds every parameter, and all of a path', async () => {
    const { paths } = await read()
    for (const route of ROUTES) {
      const { parameters } = paths[route.address]!.get
      const names = parameters.map(({ name }) => name)
      expect(names).toEqual([...Object.keys(route.path), ...Object.keys(route.query)])
      const inPath = [...route.address.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
      const said = parameters.filter((param) => param.in === 'path' && param.required)
      expect(said.map(({ name }) => name)).toEqual(inPath)
    }
  })

  it('shows of every route what it really answers (else: npm run examples)', async () => {
    const document = await read()
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    const wrong: string[] = []
    for (const { id, address, data } of ROUTES) {
      if (data === undefined || id.endsWith('_audit')) continue
      const content = document.paths[address]!.get.responses['200']!.content as Content
      const { examples = [], ...schema } = content['application/json'].schema.properties.data
      const validate = ajv.compile(schema)
      if (examples.length !== 1 || !validate(examples[0])) {
        wrong.push(`${id}: ${ajv.errorsText(validate.errors)}`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('has no reference that leads nowhere', async () => {
    const document = await read()
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((m) => m[1]!)
    expect(refs.length).toBeGreaterThan(50)
    for (const ref of new Set(refs)) {
      let at: unknown = document
      for (const name of ref.replace('#/', '').split('/'))
        at = (at as Record<string, unknown>)[name]
      expect([ref, typeof at]).toEqual([ref, 'object'])
    }
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

describe('the pages', () => {
  it('need nothing from other hosts', async () => {
    const { ask } = await createTestServer()
    for (const url of ['/', '/docs', '/docs/errors']) {
      const { text, headers } = await ask(url)
      expect(text).not.toMatch(/(src|href)="https?:|@import|url\(/)
      expect(text).toContain("default-src 'none'")
      expect(headers['content-type']).toBe('text/html; charset=utf-8')
    }
    const errors = (await ask('/docs/errors')).text
    for (const code of Object.keys(PROBLEMS)) expect(errors).toContain(`id="${code}"`)
    const llms = (await ask('/llms.txt')).text
    for (const { address } of ROUTES.filter((route) => route.data !== undefined)) {
      expect(llms).toContain(`GET ${address}`)
    }
    expect(llms).toContain('hidden liquidity, queue priority or the market impact')
  })
})
