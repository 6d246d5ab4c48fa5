/** An element of an XML document: its name without namespace, its own text, and the elements inside. */
type Element = { readonly name: string; text: string; readonly children: Element[] }

/** What an S3 server says of a failure. */
export type S3Failure = {
  readonly code: string
  readonly message: string
  /** Where the bucket is, if the request went to the wrong region. */
  readonly region: string
}

/** One page of a list of objects, by their keys. */
export type S3Page = {
  readonly objects: readonly { readonly key: string; readonly size: number }[]
  /** Continues after this page; undefined after the last. */
  readonly next: string | undefined
}

/** What an error answer says; empty texts where it is not the XML of S3. */
export function parseS3Failure(body: Uint8Array): S3Failure {
  const root = parseXml(body)
  const isError = root?.name === 'Error'
  const say = (name: string): string => (isError ? (textOf(root, name) ?? '') : '').slice(0, 200)
  return { code: say('Code'), message: say('Message'), region: say('Region') }
}

/** Reads the answer of ListObjectsV2; undefined for one that is cut off or contradicts itself. */
export function parseS3Page(body: Uint8Array): S3Page | undefined {
  const root = parseXml(body)
  if (root?.name !== 'ListBucketResult') return undefined
  const isEncoded = textOf(root, 'EncodingType') === 'url'
  const objects = []
  for (const element of root.children) {
    if (element.name !== 'Contents') continue
    const key = decodeKey(textOf(element, 'Key') ?? '', isEncoded)
    const size = textOf(element, 'Size') ?? ''
    if (key === undefined || !/^\d{1,15}$/.test(size)) return undefined
    objects.push({ key, size: Number(size) })
  }
  const isLast = textOf(root, 'IsTruncated') !== 'true'
  const next = textOf(root, 'NextContinuationToken')
  if (!isLast && !next) return undefined
  return { objects, next: isLast ? undefined : next }
}

function decodeKey(text: string, isEncoded: boolean): string | undefined {
  if (!isEncoded) return text
  try {
    // As in forms: S3 encodes a space as a plus, and a plus as %2B.
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

function textOf(element: Element, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text
}

const MAX_DEPTH = 16
// A comment or instruction, verbatim text, a tag (end, name, attributes, empty), or text.
const TOKEN =
  /<!--[^]*?-->|<\?[^]*?\?>|<!\[CDATA\[([^]*?)\]\]>|<(\/?)([\w.:-]+)(?:\s(?:"[^"]*"|'[^']*'|[^<>"'])*?)?(\/?)>|([^<]+)/y

/**
 * The root of a document; undefined where it is not complete and well-formed. It knows no document types,
 * so that nothing expands.
 */
function parseXml(body: Uint8Array): Element | undefined {
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8')
  const document: Element = { name: '', text: '', children: [] }
  const open = [document]
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const token = TOKEN.exec(text)
    if (token === null) return undefined
    const [, verbatim, end, tag, empty, plain] = token
    const current = open.at(-1)!
    if (verbatim !== undefined) current.text += verbatim
    else if (plain !== undefined) {
      const decoded = decodeEntities(plain)
      if (decoded === undefined) return undefined
      current.text += decoded
    } else if (tag !== undefined) {
      const name = tag.slice(tag.indexOf(':') + 1)
      if (end === '/') {
        if (open.length === 1 || current.name !== name) return undefined
        open.pop()
      } else {
        const element: Element = { name, text: '', children: [] }
        current.children.push(element)
        if (empty !== '/') open.push(element)
        if (open.length > MAX_DEPTH) return undefined
      }
    }
  }
  return open.length === 1 && document.children.length === 1 ? document.children[0] : undefined
}

const ENTITIES = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
])

function decodeEntities(text: string): string | undefined {
  let isKnown = true
  const decoded = text.replace(/&([^;&]*);?/g, (all, name: string) => {
    const number = /^#(?:x([0-9a-f]{1,6})|(\d{1,7}))$/i.exec(name)
    const point = number ? parseInt(number[1] ?? number[2]!, number[1] ? 16 : 10) : NaN
    const meant = point <= 0x10ffff ? String.fromCodePoint(point) : ENTITIES.get(name)
    if (meant === undefined || !all.endsWith(';')) isKnown = false
    return meant ?? ''
  })
  return isKnown ? decoded : undefined
}
