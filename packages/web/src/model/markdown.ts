/** A piece of a line. */
export type Inline =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'em'; readonly parts: readonly Inline[] }
  | { readonly kind: 'link'; readonly href: string; readonly parts: readonly Inline[] }

/** A part of a document, from top to bottom. */
export type Block =
  | {
      readonly kind: 'heading'
      readonly level: number
      readonly id: string
      readonly parts: readonly Inline[]
    }
  | { readonly kind: 'paragraph'; readonly parts: readonly Inline[] }
  | { readonly kind: 'code'; readonly text: string }
  | {
      readonly kind: 'list'
      readonly isOrdered: boolean
      readonly items: readonly (readonly Inline[])[]
    }
  | {
      readonly kind: 'table'
      readonly head: readonly (readonly Inline[])[]
      readonly rows: readonly (readonly (readonly Inline[])[])[]
    }

/** Parses the Markdown of the guides: headings, paragraphs, fenced code, flat lists, tables and links. */
export function parseMarkdown(text: string): Block[] {
  const blocks: Block[] = []
  const lines = text.replaceAll('\r', '').split('\n')
  let index = 0
  const takeWhile = (isPart: (line: string) => boolean): string[] => {
    const taken: string[] = []
    while (index < lines.length && isPart(lines[index]!)) taken.push(lines[index++]!)
    return taken
  }
  while (index < lines.length) {
    const line = lines[index]!
    const heading = /^(#{1,6}) (.*)$/.exec(line)
    if (line.trim() === '') index++
    else if (line.startsWith('```')) {
      index++
      const code = takeWhile((one) => !one.startsWith('```'))
      index++
      blocks.push({ kind: 'code', text: code.join('\n') })
    } else if (heading !== null) {
      index++
      const [, marks = '', title = ''] = heading
      blocks.push(toHeading(marks.length, title))
    } else if (line.startsWith('|')) {
      blocks.push(toTable(takeWhile((one) => one.startsWith('|'))))
    } else if (ITEM.test(line)) {
      blocks.push(toList(takeWhile((one) => ITEM.test(one) || /^\s+\S/.test(one))))
    } else {
      const own = takeWhile((one) => one.trim() !== '' && !STARTS_BLOCK.test(one))
      const parts = parseInline(own.join(' '))
      if (parts.length > 0) blocks.push({ kind: 'paragraph', parts })
    }
  }
  return blocks
}

const ITEM = /^(?:[-*]|\d+\.) /
const STARTS_BLOCK = /^(?:```|#{1,6} |\||[-*] |\d+\. )/

function toHeading(level: number, title: string): Block {
  const parts = parseInline(title)
  const words = title.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '')
  return { kind: 'heading', level, id: words.trim().replaceAll(' ', '-'), parts }
}

function toTable(lines: readonly string[]): Block {
  // A bar inside of code is written with a backslash.
  const cells = (line: string): Inline[][] =>
    line
      .replace(/^\|/, '')
      .replace(/\|\s*$/, '')
      .split(/(?<!\\)\|/)
      .map((cell) => parseInline(cell.trim().replaceAll('\\|', '|')))
  const [head = '', , ...rows] = lines
  return { kind: 'table', head: cells(head), rows: rows.map(cells) }
}

function toList(lines: readonly string[]): Block {
  const items: string[] = []
  for (const line of lines) {
    if (ITEM.test(line)) items.push(line.replace(ITEM, ''))
    else items.push(`${items.pop() ?? ''} ${line.trim()}`)
  }
  const isOrdered = /^\d/.test(lines[0] ?? '')
  return { kind: 'list', isOrdered, items: items.map((item) => parseInline(item)) }
}

// Code first, because nothing inside of it is markup; images are left out.
const INLINE =
  /`([^`]+)`|!\[[^\]]*\]\([^)]*\)|\[((?:[^[\]]|\[[^\]]*\])+)\]\(([^)]+)\)|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*/g

function parseInline(text: string): Inline[] {
  const parts: Inline[] = []
  let last = 0
  const addText = (end: number): void => {
    if (end > last) parts.push({ kind: 'text', text: text.slice(last, end) })
  }
  for (const match of text.matchAll(INLINE)) {
    addText(match.index)
    last = match.index + match[0].length
    const [, code, label, href, strong, em] = match
    if (code !== undefined) parts.push({ kind: 'code', text: code })
    else if (label !== undefined && href !== undefined) {
      parts.push({ kind: 'link', href, parts: parseInline(label) })
    } else if (strong !== undefined) parts.push({ kind: 'strong', parts: parseInline(strong) })
    else if (em !== undefined) parts.push({ kind: 'em', parts: parseInline(em) })
  }
  addText(text.length)
  return parts
}

/** Where a link of a guide leads: to another guide, to a part of this one, or undefined for files outside of them. */
export function guideLink(
  href: string,
  guide: string,
  isKnown: (guide: string) => boolean,
): string | undefined {
  if (/^https?:\/\//.test(href)) return href
  const { pathname, hash } = new URL(href, `http://guides/${guide}.md`)
  const target = pathname.slice(1).replace(/\.md$/, '')
  if (/^\w+:/.test(href) || !isKnown(target)) return undefined
  return target === guide && hash !== '' ? hash : `/guides/${target}${hash}`
}
