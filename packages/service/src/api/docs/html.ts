import { hash } from 'node:crypto'

/** A page with its style and its script inside, so that it needs nothing from other hosts. */
export function toPage(title: string, body: string, script = ''): string {
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
export function escapeHtml(text: string): string {
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
