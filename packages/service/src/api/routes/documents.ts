import {
  defineRoute,
  type Answer,
  type ApiContext,
  type Route,
  requireServer,
  type DocumentName,
} from '../route.ts'

const HTML = 'text/html; charset=utf-8'

/** The pages and documents that need no key. */
export const DOCUMENT_ROUTES: readonly Route[] = [
  page('home', '/', 'home', HTML, 'The door', 'What this is, and where to go.'),
  page('docs', '/docs', 'docs', HTML, 'The docs', 'Every route, with a way to try it.'),
  page('docs_errors', '/docs/errors', 'errors', HTML, 'Errors', 'Every error code and what to do.'),
  page(
    'llms',
    '/llms.txt',
    'llms',
    'text/plain; charset=utf-8',
    'The docs for language models',
    'The whole interface in plain text.',
  ),
  page(
    'openapi',
    '/v3/openapi.json',
    'openapi',
    'application/json; charset=utf-8',
    'The OpenAPI document',
    'OpenAPI 3.1, made from the routes that this server serves.',
  ),
  page(
    'asyncapi',
    '/v3/asyncapi.json',
    'asyncapi',
    'application/json; charset=utf-8',
    'The AsyncAPI document',
    'AsyncAPI 3, made from the messages of the stream.',
  ),
]

function page(
  id: string,
  address: string,
  name: DocumentName,
  contentType: string,
  summary: string,
  description: string,
): Route {
  return defineRoute({
    id,
    address,
    tag: 'Service',
    summary,
    description: `Keyless. ${description}`,
    isKeyless: true,
    path: {},
    query: {},
    async handle(_request: unknown, context: ApiContext): Promise<Answer> {
      return { kind: 'text', contentType, body: requireServer(context).document(name) }
    },
  })
}
