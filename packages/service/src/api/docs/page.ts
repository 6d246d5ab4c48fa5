import { readFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { toPage } from './html.ts'

/**
 * `/docs`: renders the OpenAPI document of this server in the browser, with a form to try every route.
 *
 * Its script is `packages/web/src/docs/docs.ts`, where compiler and linter see it. It is read and its
 * types are stripped when the page is first requested, so that the docs need no build.
 */
export function toDocsPage(): string {
  return toPage('Docs – Priorbook', BODY, readScript())
}

function readScript(): string {
  const { resolve } = createRequire(import.meta.url)
  let file: string
  try {
    file = join(dirname(resolve('@priorbook/web/package.json')), 'src/docs/docs.ts')
  } catch {
    // A service that was installed without the explorer: the page shows its links alone.
    return ''
  }
  return withoutWarnings(() => stripTypeScriptTypes(readFileSync(file, 'utf8')))
}

// Node runs this service by stripping types, yet warns that the same function is experimental.
function withoutWarnings<T>(work: () => T): T {
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = () => undefined
  try {
    return work()
  } finally {
    process.emitWarning = emitWarning
  }
}

const BODY = `<div class="split"><nav id="nav"></nav><main>
<h1>Priorbook</h1><div id="about"></div>
<p><a href="/docs/errors">Errors</a> · <a href="/v3/openapi.json">OpenAPI 3.1</a> · <a href="/v3/asyncapi.json">AsyncAPI 3</a> · <a href="/llms.txt">llms.txt</a></p>
<div class="bar"><label>Key <input id="key" type="password" size="48" autocomplete="off" placeholder="pb_live_…"></label>
<label><input id="demo" type="checkbox" checked> demonstration data, no key</label></div>
<div id="routes"><p class="soft">Loading…</p></div></main></div>`
