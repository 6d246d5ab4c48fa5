import { toOpenApi } from '@priorbook/sdk/wire'
import { toDocsPage, toErrorsPage, toHomePage } from './html-pages.ts'
import { toLlmsText } from './llms.ts'
import type { PlanBook } from '../auth/plans.ts'
import type { DocumentName, Route } from '../route.ts'
import examples from './openapi-examples.json' with { type: 'json' }
import { toAsyncApi } from './asyncapi.ts'

/** Creates the documents of a server, each when it is first requested. */
export function createDocuments(
  routes: readonly Route[],
  plans: PlanBook,
  /** Whether pages may link to the explorer. */
  hasExplorer: boolean,
): (name: DocumentName) => string {
  const made = new Map<string, string>()
  const make = {
    openapi: () => JSON.stringify(toOpenApi(routes, examples)),
    asyncapi: () => JSON.stringify(toAsyncApi()),
    docs: () => toDocsPage(hasExplorer),
    errors: () => toErrorsPage(hasExplorer),
    llms: () => toLlmsText(routes, plans.all()),
    home: () => toHomePage(),
  }
  return (name) => {
    let text = made.get(name)
    if (text === undefined) made.set(name, (text = make[name]()))
    return text
  }
}
