import { Html, markup } from './html.ts'

/** The pages of the operators' port, by path. */
const PAGES = [
  ['/', 'Overview'],
  ['/gaps', 'Gaps'],
  ['/quarantine', 'Quarantine'],
  ['/keys', 'Keys'],
] as const

const STYLE =
  new Html(`body{font:14px/1.5 system-ui,sans-serif;margin:2rem;color:#222;background:#fff}
nav a,nav b{margin-right:1.2rem}a{color:#0b5cad}
.wide{overflow-x:auto}table{border-collapse:collapse}
td,th{padding:.3rem .8rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
.number{text-align:right}pre,code,output{font:13px/1.5 ui-monospace,monospace}
pre{overflow-x:auto}form{margin:.8rem 0}label{margin-right:1.2rem}
output{display:block;padding:.8rem;border:2px solid #0b5cad;user-select:all}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}td,th{border-color:#333}a{color:#7db7ef}}`)

/** A page of the operators' port. It needs no script; one that reloads itself does so every 2 s. */
export function toPage(
  title: string,
  body: Html,
  { reloads = false, here }: { readonly reloads?: boolean; readonly here?: string } = {},
): string {
  const links = PAGES.map(([path, name]) =>
    path === here
      ? markup`<b aria-current="page">${name}</b>`
      : markup`<a href="${path}">${name}</a>`,
  )
  const reload = reloads ? markup`<meta http-equiv="refresh" content="2">` : undefined
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
${reload}
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<nav aria-label="Pages">${links}</nav>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`.text
}
