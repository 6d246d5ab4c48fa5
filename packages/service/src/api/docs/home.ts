import { toPage } from './html.ts'

/** `/` where the explorer is not built: a page of links. */
export function toHomePage(): string {
  return toPage(
    'Priorbook',
    `<main><h1>Priorbook</h1>
<p>Full-depth order books of prediction markets, recorded exactly, gaps declared.</p>
<p>The explorer, which shows them here, is not built: <code>npm run build:web</code>, then start again.</p>
<ul>
<li><a href="/docs">Docs</a> with every route and a way to try it</li>
<li><a href="/v3/openapi.json">OpenAPI 3.1</a>, <a href="/v3/asyncapi.json">AsyncAPI 3</a> and <a href="/llms.txt">llms.txt</a></li>
<li><a href="/docs/errors">Errors</a></li>
<li><a href="/v3/health">Health</a></li>
</ul></main>`,
  )
}
