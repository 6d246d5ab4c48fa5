/** What a comparison of shapes lets pass. */
export type ShapeAllowance = {
  readonly missing?: readonly string[]
  readonly extra?: readonly string[]
  /** True where the values are made up, as in documentation: text is text, whatever it says. */
  readonly anyText?: boolean
}

/** Where two kinds of JSON differ: missing and extra paths, and values of another kind. */
export function shapeDifferences(
  emulated: readonly unknown[],
  recorded: readonly unknown[],
  /** Paths that may be missing or extra, each with a reason where it is given. */
  allowed: ShapeAllowance = {},
): string[] {
  const ours = shapeOf(emulated, allowed.anyText)
  const theirs = shapeOf(recorded, allowed.anyText)
  const under = (list: readonly string[] = [], path: string): boolean =>
    list.some((one) => path === one || path.startsWith(`${one}.`) || path.startsWith(`${one}[`))
  const differences: string[] = []
  for (const path of theirs.keys()) {
    if (!ours.has(path) && !under(allowed.missing, path)) differences.push(`missing ${path}`)
  }
  for (const [path, kinds] of ours) {
    const known = theirs.get(path)
    if (known === undefined) {
      if (!under(allowed.extra, path)) differences.push(`extra ${path}`)
      continue
    }
    for (const kind of kinds) {
      if (!known.has(kind)) differences.push(`${path}: ${kind}, not ${[...known].join(' | ')}`)
    }
  }
  return differences
}

/** The kinds of the values at every path; members of a list share one path. */
function shapeOf(values: readonly unknown[], anyText = false): Map<string, Set<string>> {
  const shape = new Map<string, Set<string>>()
  const visit = (path: string, value: unknown): void => {
    const kinds = shape.get(path) ?? new Set()
    shape.set(path, kinds.add(anyText && typeof value === 'string' ? 'text' : kindOf(value)))
    if (Array.isArray(value)) for (const one of value) visit(`${path}[]`, one)
    else if (typeof value === 'object' && value !== null) {
      for (const [key, one] of Object.entries(value)) visit(`${path}.${key}`, one)
    }
  }
  for (const value of values) visit('', value)
  return shape
}

const TEXTS: readonly (readonly [string, RegExp])[] = [
  ['empty', /^$/],
  ['milliseconds', /^1\d{12}$/],
  ['token', /^\d{60,78}$/],
  ['decimal', /^(0|[1-9]\d*)(\.\d*[1-9])?$/],
  ['padded decimal', /^(0|[1-9]\d*)\.\d*0$/],
  ['32 bytes', /^0x[0-9a-f]{64}$/],
  ['hash', /^[0-9a-f]{40}$/],
  ['iso time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/],
  ['blank time', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+00$/],
  ['date', /^\d{4}-\d\d-\d\d$/],
  ['list of texts', /^\[("[^"]*"(, "[^"]*")*)?\]$/],
  ['url', /^https:\/\//],
  ['slug', /^[a-z]+-updown-\d+[mh]-\d{10}$/],
]

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value !== 'string') return typeof value
  const kind = TEXTS.find(([, form]) => form.test(value))?.[0] ?? 'words'
  return `text: ${kind}`
}
