import type { PriorbookClient } from '../client/index.ts'
import { GAP_REASONS } from '../domain/index.ts'
import { CODES } from './tools/errors.ts'

/** A document that a model can read. */
type Resource = {
  readonly uri: string
  readonly name: string
  readonly description: string
  readonly mimeType: string
  read(client: PriorbookClient): Promise<string>
}

/** What begins the address of the schema of one kind of row. */
const SCHEMA_PREFIX = 'priorbook://schemas/'

/** The template of the addresses of schemas. */
export const SCHEMA_TEMPLATE = {
  uriTemplate: `${SCHEMA_PREFIX}{name}`,
  name: 'schema',
  description: 'The JSON Schema of one kind of row, such as Book, Trade, Gap or Contract.',
  mimeType: 'application/schema+json',
} as const

/** Documents of the service and tables of codes. */
export const RESOURCES: readonly Resource[] = [
  {
    uri: 'priorbook://openapi',
    name: 'openapi',
    description: 'The OpenAPI 3.1 document of every REST route.',
    mimeType: 'application/json',
    read: async (client) => JSON.stringify(await client.openapi()),
  },
  {
    uri: 'priorbook://asyncapi',
    name: 'asyncapi',
    description: 'The AsyncAPI document of the live stream.',
    mimeType: 'application/json',
    read: async (client) => JSON.stringify(await client.asyncapi()),
  },
  {
    uri: 'priorbook://routes',
    name: 'routes',
    description: 'Every REST route with one sentence: what the interface can do, in one page.',
    mimeType: 'text/markdown',
    read: async (client) => routesPage(await client.openapi()),
  },
  {
    uri: 'priorbook://codes',
    name: 'codes',
    description: 'Every code of an error or of a gap, with its meaning.',
    mimeType: 'text/markdown',
    read: async () =>
      table(
        ['code', 'kind', 'meaning'],
        CODES.map(({ code, kind, meaning }) => [code, kind, meaning]),
      ),
  },
  {
    uri: 'priorbook://gap-reasons',
    name: 'gap-reasons',
    description: 'Why a span was not observed: every reason of a gap.',
    mimeType: 'text/markdown',
    read: async () => table(['reason', 'meaning'], Object.entries(GAP_REASONS)),
  },
]

/** Reads a resource; undefined where there is none at the address. */
export async function readResource(
  uri: string,
  client: PriorbookClient,
): Promise<{ readonly mimeType: string; readonly text: string } | undefined> {
  const resource = RESOURCES.find((one) => one.uri === uri)
  if (resource !== undefined) {
    return { mimeType: resource.mimeType, text: await resource.read(client) }
  }
  if (!uri.startsWith(SCHEMA_PREFIX)) return undefined
  const schemas = schemasOf(await client.openapi())
  const name = decodeURIComponent(uri.slice(SCHEMA_PREFIX.length))
  const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined
  if (schema === undefined) return undefined
  return { mimeType: SCHEMA_TEMPLATE.mimeType, text: JSON.stringify(schema) }
}

type Document = Readonly<Record<string, unknown>>

function schemasOf({ components }: Document): Readonly<Record<string, unknown>> {
  const { schemas = {} } = (components ?? {}) as { readonly schemas?: Document }
  return schemas
}

function routesPage({ paths }: Document): string {
  const rows = Object.entries((paths ?? {}) as Readonly<Record<string, Operations>>)
  return table(
    ['route', 'what it gives'],
    rows.map(([address, { get }]) => [address, get?.summary ?? '']),
  )
}

type Operations = { readonly get?: { readonly summary?: string } }

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads, heads.map(() => '---'), ...rows]
  return `${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`
}
