import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { hash } from 'node:crypto'
import { PROBLEMS, STREAM_ERRORS } from '@priorbook/sdk/wire'
import { findExplorer } from '../../lib/find-explorer.ts'

/**
 * `/docs`: renders the OpenAPI document of this server in the browser, with a form to try every route.
 *
 * Its script is `packages/web/src/docs/docs.ts`, where compiler and linter see it. It is read and its
 * types are stripped when the page is first requested, so that the docs need no build. The published package has it as
 * JavaScript.
 */
export function toDocsPage(hasExplorer: boolean): string {
  const guides = hasExplorer ? GUIDES : ''
  const body = BODY.replace('<!--guides-->', guides)
  return toPage('Docs – Priorbook', `${topBar(hasExplorer)}${body}`, readScript())
}

function readScript(): string {
  const file = findExplorer()?.docsScript
  // A service that was installed without the explorer: the page shows its links alone.
  if (file === undefined) return ''
  const text = readFileSync(file, 'utf8')
  return file.endsWith('.ts') ? withoutWarnings(() => stripTypeScriptTypes(text)) : text
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

// Pages of the explorer with the guides of the repository.
const GUIDE_LINKS = [
  ['/guides/guide/rest', 'REST'],
  ['/guides/guide/sdk', 'SDK'],
  ['/guides/guide/cli', 'command line'],
  ['/guides/guide/replay', 'replay'],
  ['/guides/guide/backtest', 'backtest'],
  ['/guides/guide/explorer', 'explorer'],
  ['/guides', 'all guides'],
] as const
const GUIDES = `<p id="guides"><strong>Guides:</strong> ${GUIDE_LINKS.map(([href, name]) => `<a href="${href}">${name}</a>`).join(' · ')}</p>
`

const BODY = `<div class="split"><nav id="nav" aria-label="Routes"></nav><main id="main">
<h1>Priorbook</h1><div id="about"></div>
<!--guides--><p><a href="/docs/errors">Errors</a> · <a href="/v3/openapi.json">OpenAPI 3.1</a> · <a href="/v3/asyncapi.json">AsyncAPI 3</a> · <a href="/llms.txt">llms.txt</a></p>
<div class="bar"><label>Key <input id="key" type="password" size="48" autocomplete="off" placeholder="pb_live_…"></label>
<label><input id="demo" type="checkbox" checked> demonstration data, no key</label></div>
<div id="routes"><p class="soft">Loading…</p></div></main></div>`

/** `/docs/errors`: every error code with its status and meaning; problems link to their row. */
export function toErrorsPage(hasExplorer: boolean): string {
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
    `${topBar(hasExplorer)}<main id="main"><p><a href="/docs">Docs</a></p><h1>Errors</h1>
<p>Errors are <code>application/problem+json</code> (RFC 9457): <code>type</code>, <code>title</code>,
<code>status</code>, <code>detail</code>, <code>code</code> and <code>request_id</code>, and where they help
<code>param</code>, <code>allowed</code>, <code>hint</code>, <code>plan</code>, <code>limit</code> and
<code>retry_after</code>. Decide by <code>code</code>; quote <code>request_id</code> when you ask for help.</p>
<table><tr><th>code</th><th>status</th><th>meaning</th></tr>${rows.join('')}</table>
<h2>Of the stream</h2><p>In messages <code>error</code>, beside those above.</p>
<table><tr><th>code</th><th>meaning</th></tr>${own.join('')}</table></main>`,
    readScript(),
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

// The pages of the explorer, as in its own bar.
const EXPLORER_LINKS = [
  ['/markets', 'Markets'],
  ['/events', 'Events'],
  ['/contracts', 'Compare'],
  ['/reference', 'Reference'],
  ['/coverage', 'Coverage'],
  ['/backtest', 'Backtest'],
  ['/alerts', 'Alerts'],
  ['/status', 'Recorder'],
] as const

// The bar of the explorer; the script fills in the visitor's key and choice of colours.
function topBar(hasExplorer: boolean): string {
  const links = hasExplorer ? EXPLORER_LINKS : []
  const names = links.map(([href, name]) => `<a href="${href}">${name}</a>`).join('')
  const who = hasExplorer ? '<a id="who" class="who" href="/key">Demo data</a>' : ''
  return `<header class="top"><a class="skip" href="#main">Skip to content</a>
<a class="brand" href="/" aria-label="Priorbook, start page"><svg viewBox="0 0 20 20" aria-hidden="true"><path class="mark-ask" d="M10 3h8v3h-8zM10 7.3h5v2.2h-5z"/><path class="mark-bid" d="M2 14h8v3H2zM5 10.5h5v2.2H5z"/></svg> Priorbook</a>
<nav aria-label="Main">${names}<a href="/docs" aria-current="page">Docs</a></nav>
<div class="top-right">${who}<button id="theme" class="icon" type="button" hidden>◐</button></div></header>`
}

const DARK =
  '--ink:#dfe5ec;--soft:#929dac;--line:#232a33;--edge:#333c48;--back:#0c0f13;--top:#13171d;--box:#13171d;--mark:#7db7f5;--on:#0c0f13;--bid:#62a9f4;--ask:#f2924a'

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
:root{color-scheme:light;--ink:#1a1f27;--soft:#576070;--line:#e1e5ea;--edge:#cfd5dd;--back:#fff;--top:#fff;--box:#f4f6f8;--mark:#175fad;--on:#fff;--bid:#1b6ec2;--ask:#cf5f17}
:root[data-theme=dark]{color-scheme:dark;${DARK}}
@media(prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;${DARK}}}
*{box-sizing:border-box}
html{scroll-padding-top:60px}
body{margin:0;font:15px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--back)}
a{color:var(--mark);text-decoration:none}a:hover{text-decoration:underline}
main p a{text-decoration:underline}
code,pre,input,select,textarea{font:13px/1.5 ui-monospace,monospace}
pre{background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.7rem;overflow:auto;max-height:28rem;white-space:pre-wrap;word-break:break-word}
main{max-width:60rem;margin:0 auto;padding:1.5rem}
.top{position:sticky;top:0;z-index:2;display:flex;align-items:center;gap:1.5rem;height:44px;padding:0 16px;background:var(--top);border-bottom:1px solid var(--line);font-size:13px}
.top nav{display:flex;gap:1.3rem;overflow-x:auto;flex:1;align-self:stretch}
.top nav a{display:flex;align-items:center;color:var(--soft);white-space:nowrap}
.top nav a[aria-current]{color:var(--ink);box-shadow:inset 0 -2px var(--mark)}
.brand{display:flex;gap:.5rem;align-items:center;color:var(--ink);font-weight:600;font-size:15px}.brand svg{width:18px;height:18px}
.mark-ask{fill:var(--ask)}.mark-bid{fill:var(--bid)}
.top-right{display:flex;gap:.6rem;align-items:center}
.who{padding:.15rem .5rem;border:1px solid var(--edge);border-radius:5px;color:var(--ink);white-space:nowrap}
.icon{padding:.1rem .4rem;border:0;color:var(--ink);background:none}
.skip{position:absolute;left:-999px}.skip:focus{left:8px;background:var(--back);padding:.3rem}
.split{display:grid;grid-template-columns:17rem minmax(0,1fr);align-items:start}
#nav{position:sticky;top:44px;height:calc(100vh - 44px);overflow:auto;border-right:1px solid var(--line);padding:1rem;font-size:13px}
#nav a{display:block;padding:.12rem 0}#nav b{display:block;margin-top:.9rem;color:var(--soft);font-weight:600}
section section{border-top:1px solid var(--line);padding:1rem 0}
h1{font-size:1.5rem}h2{font-size:1.3rem;margin:2rem 0 .6rem}h3{font-size:1.1rem;margin:.2rem 0}
table{border-collapse:collapse;width:100%;font-size:14px}td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid var(--line)}
input,select,textarea{width:100%;padding:.3rem .45rem;color:inherit;background:var(--box);border:1px solid var(--line);border-radius:5px}
button{font:inherit;padding:.35rem 1rem;border:1px solid var(--mark);border-radius:5px;color:var(--on);background:var(--mark);cursor:pointer}
.soft{color:var(--soft)}.bar{display:flex;gap:1rem;align-items:center;flex-wrap:wrap}.bar label{display:flex;gap:.4rem;align-items:center}
.bar input[type=checkbox]{width:auto}.path{font-weight:600;word-break:break-all}
.method{padding:.05rem .35rem;border:1px solid var(--edge);border-radius:4px;font:600 11px/1.5 ui-monospace,monospace;vertical-align:1px}
.method.post,.method.put,.method.patch{border-color:var(--mark)}.method.delete,button.danger{border-color:var(--ask)}
button.danger{color:var(--ink);background:none}#nav small{color:var(--soft);font:600 10px ui-monospace,monospace}
[aria-invalid]{border-color:var(--ask)}.body{display:block;margin-top:.6rem}.body textarea{display:block;margin-top:.3rem;resize:vertical}
dialog{max-width:34rem;padding:1.2rem 1.4rem;color:inherit;background:var(--back);border:1px solid var(--edge);border-radius:8px}dialog::backdrop{background:#0008}dialog h2{margin:0 0 .5rem}
@media(max-width:50rem){.split{display:block}#nav{position:static;height:auto;max-height:14rem;border-right:0;border-bottom:1px solid var(--line)}.brand{font-size:0;gap:0}.top{gap:.8rem}}
`
