/** A piece of HTML, in which everything that came from elsewhere is escaped. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type HtmlValue = string | number | undefined | Html | readonly Html[]

/** Writes HTML: values are text and are escaped, unless they are pieces of HTML themselves. */
export function markup(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const text = parts.reduce((sum, part, at) => sum + toText(values[at - 1]) + part)
  return new Html(text)
}

function toText(value: HtmlValue): string {
  if (value === undefined) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(({ text }) => text).join('')
  return escape(String(value))
}

// For text and for values of attributes between double quotes.
function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** A cell, aligned to the left where it is text. */
export type Cell = string | number | Html

/** A table with a caption; a sentence in its place where it has no rows. */
export function table(
  caption: string,
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  none: string,
): Html {
  if (rows.length === 0)
    return markup`<h2>${caption}</h2>
<p>${none}</p>`
  const body = rows.map((cells) => markup`<tr>${cells.map(toCell)}</tr>\n`)
  const head = heads.map((name) => markup`<th scope="col">${name}</th>`)
  return markup`<h2>${caption}</h2>
<div class="wide" tabindex="0" role="region" aria-label="${caption}">
<table>
<thead><tr>${head}</tr></thead>
<tbody>${body}</tbody>
</table>
</div>`
}

/** A table of names and values. */
export function facts(rows: readonly (readonly [name: string, value: string])[]): Html {
  const body = rows.map(
    ([name, value]) => markup`<tr><th scope="row">${name}</th><td>${value}</td></tr>\n`,
  )
  return markup`<table><tbody>${body}</tbody></table>`
}

function toCell(cell: Cell): Html {
  return typeof cell === 'number'
    ? markup`<td class="number">${cell.toLocaleString('en')}</td>`
    : markup`<td>${cell}</td>`
}
