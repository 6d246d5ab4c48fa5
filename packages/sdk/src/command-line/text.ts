/** One column of a table: its head, and whether its cells are right-aligned. */
export type Column = { readonly head: string; readonly right?: boolean; readonly shrinks?: boolean }

/**
 * Lays rows out in columns. Where the lines would be longer than `width`, the column with `shrinks`
 * is cut, and cut cells end with `…`.
 */
export function layTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width = Infinity,
): string[] {
  const widths = columns.map(({ head }, index) =>
    Math.max(head.length, ...rows.map((row) => row[index]!.length)),
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
        return columns[index]!.right === true
          ? text.padStart(widths[index]!)
          : text.padEnd(widths[index]!)
      })
      .join('  ')
      .trimEnd()
  return [line(columns.map(({ head }) => head)), ...rows.map(line)]
}

/** Cuts text to a width. */
export function cut(text: string, width: number): string {
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
  let value = bytes
  let unit = -1
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${units[unit]}`
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
