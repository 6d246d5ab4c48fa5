import { readFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { hash } from 'node:crypto'
import { PROBLEMS, STREAM_ERRORS } from '@priorbook/sdk/wire'

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

/** `/docs/errors`: every error code with its status and meaning; problems link to their row. */
export function toErrorsPage(): string {
  const rows = Object.entries(PROBLEMS).map(
    ([code, { status, title }]) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${escapeHtml(title)}</td></tr>`,
  )
  const own = Object.entries(STREAM_ERRORS).map(
    ([code, title]) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${escapeHtml(title)}</td></tr>`,
  )
  return toPage(
    'Errors – Priorbook',
    `<main><p><a href="/docs">Docs</a></p><h1>Errors</h1>
<p>Errors are <code>application/problem+json</code> (RFC 9457): <code>type</code>, <code>title</code>,
<code>status</code>, <code>detail</code>, <code>code</code> and <code>request_id</code>, and where they help
<code>param</code>, <code>allowed</code>, <code>hint</code>, <code>plan</code>, <code>limit</code> and
<code>retry_after</code>. Decide by <code>code</code>; quote <code>request_id</code> when you ask for help.</p>
<table><tr><th>code</th><th>status</th><th>meaning</th></tr>${rows.join('')}</table>
<h2>Of the stream</h2><p>In messages <code>error</code>, beside those above.</p>
<table><tr><th>code</th><th>meaning</th></tr>${own.join('')}</table></main>`,
  )
}

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

/** A page with its style and its script inside, so that it needs nothing from other hosts. */
function toPage(title: string, body: string, script = ''): string {
  // The browser runs this script only, whatever text the page shows.
  const allowed = script === '' ? "'none'" : `'sha256-${hash('sha256', script, 'base64')}'`
  const policy = `default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src ${allowed}; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
${body}
${script === '' ? '' : `<script type="module">${script}</script>`}
</html>
`
}

/** Escapes text for HTML. */
function escapeHtml(text: string): string {
  const words: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '"': '&quot;' }
  return text.replaceAll(/[&<"]/g, (letter) => words[letter]!)
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1c1f24;--soft:#5c6470;--line:#dfe3e8;--back:#fff;--box:#f5f7f9;--mark:#0b62c4}
@media(prefers-color-scheme:dark){:root{--ink:#e4e7eb;--soft:#98a2b0;--line:#30363d;--back:#101418;--box:#181d23;--mark:#6cb0ff}}
*{box-sizing:border-box}
body{margin:0;font:15px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--back)}
a{color:var(--mark);text-decoration:none}a:hover{text-decoration:underline}
code,pre,input,select,textarea{font:13px/1.5 ui-monospace,monospace}
pre{background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.7rem;overflow:auto;max-height:28rem;white-space:pre-wrap;word-break:break-word}
main{max-width:60rem;margin:0 auto;padding:1.5rem}
.split{display:grid;grid-template-columns:17rem minmax(0,1fr);align-items:start}
nav{position:sticky;top:0;height:100vh;overflow:auto;border-right:1px solid var(--line);padding:1rem;font-size:13px}
nav a{display:block;padding:.12rem 0}nav b{display:block;margin-top:.9rem;color:var(--soft);font-weight:600}
section{border-top:1px solid var(--line);padding:1rem 0}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin:.2rem 0}
table{border-collapse:collapse;width:100%;font-size:14px}td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid var(--line)}
input,select{width:100%;padding:.3rem .45rem;color:inherit;background:var(--box);border:1px solid var(--line);border-radius:5px}
button{font:inherit;padding:.35rem 1rem;border:1px solid var(--mark);border-radius:5px;color:#fff;background:var(--mark);cursor:pointer}
.soft{color:var(--soft)}.bar{display:flex;gap:1rem;align-items:center;flex-wrap:wrap}.bar label{display:flex;gap:.4rem;align-items:center}
.bar input[type=checkbox]{width:auto}.path{font-weight:600;word-break:break-all}
@media(max-width:50rem){.split{display:block}nav{position:static;height:auto}}
`
