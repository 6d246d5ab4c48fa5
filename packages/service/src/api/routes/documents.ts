import { contractOf } from '@priorbook/sdk/wire'
import { defineRoute, requireServer, type DocumentName, type Route } from '../route.ts'

const HTML = 'text/html; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'

/** The pages and documents that need no key. */
export const DOCUMENT_ROUTES: readonly Route[] = [
  page('home', 'home', HTML),
  page('docs', 'docs', HTML),
  page('docs_errors', 'errors', HTML),
  page('llms', 'llms', 'text/plain; charset=utf-8'),
  page('openapi', 'openapi', JSON_TYPE),
  page('asyncapi', 'asyncapi', JSON_TYPE),
]

function page(
  id: Parameters<typeof contractOf>[0],
  name: DocumentName,
  contentType: string,
): Route {
  return defineRoute(contractOf(id), async (_request, context) => ({
    kind: 'text',
    contentType,
    body: requireServer(context).document(name),
  }))
}
