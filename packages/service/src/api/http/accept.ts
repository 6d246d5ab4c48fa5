import { Problem } from '@priorbook/sdk/wire'
import type { Route, RouteRequest } from '../route.ts'

/** The name of a format of answers. */
export type Format = RouteRequest<{}, {}>['format']

/** The media types of each format, the one that answers carry first. */
export const MEDIA_TYPES: Readonly<Record<Format, readonly string[]>> = {
  json: ['application/json'],
  ndjson: ['application/x-ndjson', 'application/ndjson', 'application/jsonl'],
  csv: ['text/csv'],
  arrow: ['application/vnd.apache.arrow.stream'],
  parquet: ['application/vnd.apache.parquet'],
  tape: ['application/vnd.priorbook.tape'],
}

/** Chooses the format of an answer by `format=` or by `Accept`; throws `not_acceptable`. */
export type FormatChooser = (
  accept: string | undefined,
  asked: unknown,
  isAsked?: boolean,
) => Format

const MAX_REMEMBERED = 200

/** A chooser for one route, which remembers what the same header meant before. */
export function createFormatChooser(route: Pick<Route, 'formats' | 'data'>): FormatChooser {
  const more = route.formats ?? []
  // Pages and plain text come as they are; files without an envelope come in the first format named.
  const isPlain = route.data === undefined && more.length === 0
  const formats: readonly Format[] =
    route.data === undefined && more.length > 0 ? more : ['json', ...more]
  const first = formats[0]!
  const remembered = new Map<string, Format | undefined>()
  return (accept, asked) => {
    if (typeof asked === 'string') {
      const format = formats.find((one) => one === asked)
      if (format === undefined) throw refusal(formats)
      return format
    }
    if (accept === undefined || accept === '*/*' || isPlain) return first
    let format = remembered.get(accept)
    if (format === undefined && !remembered.has(accept)) {
      format = choose(accept, formats)
      if (remembered.size >= MAX_REMEMBERED) remembered.clear()
      remembered.set(accept, format)
    }
    if (format === undefined) throw refusal(formats)
    return format
  }
}

function choose(accept: string, formats: readonly Format[]): Format | undefined {
  const ranges = accept.split(',').map((part) => {
    const [range = '', ...params] = part.split(';').map((word) => word.trim().toLowerCase())
    const q = params.find((word) => word.startsWith('q='))
    return { range, quality: q === undefined ? 1 : Number(q.slice(2)) || 0 }
  })
  let best: Format | undefined
  let bestQuality = 0
  for (const format of formats) {
    // The most exact range that names the format decides its quality.
    let exactness = -1
    let quality = 0
    for (const one of ranges) {
      const how = matches(one.range, format)
      if (how > exactness) {
        exactness = how
        quality = one.quality
      }
    }
    if (quality > bestQuality) {
      best = format
      bestQuality = quality
    }
  }
  return best
}

function matches(range: string, format: Format): number {
  if (range === '*/*') return 0
  const types = MEDIA_TYPES[format]
  if (types.includes(range)) return 2
  return range.endsWith('/*') && types.some((type) => type.startsWith(range.slice(0, -1))) ? 1 : -1
}

function refusal(formats: readonly Format[]): Problem {
  return new Problem('not_acceptable', `the route answers with ${formats.join(', ')}`, {
    allowed: formats.map((format) => MEDIA_TYPES[format][0]!),
    hint: 'Ask by the header Accept, or by format= where the route takes it.',
  })
}
