import { PROBLEMS, STREAM_ERRORS } from '@priorbook/sdk/wire'
import { escapeHtml, toPage } from './html.ts'

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
