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
