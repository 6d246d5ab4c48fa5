/** One column of a table: its head, and how its cells are aligned. */
export type Column = {
  readonly head: string
  readonly right?: boolean
  /** Numbers are aligned by their decimal point. */
  readonly isNumber?: boolean
  readonly shrinks?: boolean
}

/**
 * Lays rows out in columns. Where the lines would be longer than `width`, the column with `shrinks`
 * is cut, and cut cells end with `…`.
 */
export function layTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width = Infinity,
): string[] {
  const cells = columns.map(({ isNumber }, index) => {
    const own = rows.map((row) => toPlain(row[index]!))
    return isNumber === true ? alignNumbers(own) : own
  })
  const plain = rows.map((_, row) => cells.map((own) => own[row]!))
  const widths = columns.map(({ head }, index) =>
    Math.max(head.length, ...plain.map((row) => row[index]!.length)),
  )
  const total = widths.reduce((sum, one) => sum + one, 2 * (columns.length - 1))
  const shrinking = columns.findIndex(({ shrinks }) => shrinks === true)
  if (total > width && shrinking >= 0) {
    widths[shrinking] = Math.max(8, widths[shrinking]! - (total - width))
  }
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => {
        const text = cut(cell, widths[index]!)
        const { right, isNumber } = columns[index]!
        return right === true || isNumber === true
          ? text.padStart(widths[index]!)
          : text.padEnd(widths[index]!)
      })
      .join('  ')
      .trimEnd()
  return [line(columns.map(({ head }) => head)), ...plain.map(line)]
}

/** Pads numbers on the right so that their decimal points are below each other once they are right-aligned. */
export function alignNumbers(texts: readonly string[]): string[] {
  const restOf = (text: string): number => text.length - `${text}.`.indexOf('.')
  const rest = Math.max(0, ...texts.filter((text) => /\d/.test(text)).map(restOf))
  return texts.map((text) => (/\d/.test(text) ? text + ' '.repeat(rest - restOf(text)) : text))
}

/** As many parts as fit into a width, the first ones first, in one line. */
export function fitParts(parts: readonly string[], width: number): string {
  let line = ''
  for (const part of parts.map(toPlain).filter((one) => one !== '')) {
    const longer = line === '' ? part : `${line}   ${part}`
    if (longer.length <= width) line = longer
  }
  return line === '' ? cut(parts[0] ?? '', width) : line
}

// Controls, and marks that turn the direction of text around.
const CONTROL = String.raw`[\p{Cc}\u200E\u200F\u202A-\u202E\u2066-\u2069]`
const CONTROLS = new RegExp(CONTROL, 'gu')
// The same but for line ends, tabs, and the colours that `paint` sets.
const STRAY = new RegExp(String.raw`(\u001B\[[\d;]*m)|(?![\n\t])${CONTROL}`, 'gu')

/** Text of others, such as a market's title, without anything that a terminal would obey. */
export function toPlain(text: string): string {
  return text.replace(CONTROLS, '')
}

/** Lines of ours, which may have colours, without anything else that a terminal would obey. */
export function toPlainLines(text: string): string {
  return text.replace(STRAY, '$1')
}

/** Cuts text to a width. */
export function cut(given: string, width: number): string {
  const text = toPlain(given)
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`
}

/** A count with separated thousands. */
export function printCount(value: number): string {
  return value.toLocaleString('en-US')
}

/** Bytes with a unit and three digits. */
export function printBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes / 1000
  let unit = 0
  // Bounds are of the rounded number: 999,600 bytes are 1.00 MB, not 1000 kB.
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${units[unit]}`
}

/** A duration in its largest useful unit. */
export function printSpan(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`
}
