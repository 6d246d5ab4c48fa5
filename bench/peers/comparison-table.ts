/** The JSON object a benchmark ends with. */
export type Result = Readonly<Record<string, unknown>>

/** Sets our numbers beside those of the peers; a factor above 1 says that ours is better. */
export function comparisonTable(ours: Result, peers: Readonly<Record<string, Result>>): string {
  const columns = Object.entries(peers).flatMap(([name, result]) => [
    { name, result },
    { name: `${name} text`, result: textVariant(result) },
  ])
  const rows = [['', 'ours', ...columns.flatMap(({ name }) => [name, 'factor'])]]
  for (const [key, direction] of measures) {
    const own = toNumber(ours[key])
    const cells = columns.flatMap(({ result }) => {
      const other = toNumber(result[key])
      return [show(other), showFactor(own, other, direction)]
    })
    if ([show(own), ...cells].some((cell) => cell !== '')) rows.push([key, show(own), ...cells])
  }
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

type Direction = 'less is better' | 'more is better' | 'neither'

const measures: readonly (readonly [key: string, direction: Direction])[] = [
  ['bytes_per_observation', 'less is better'],
  ['page_100_ms', 'less is better'],
  ['page_100_p99_ms', 'less is better'],
  ['page_100_bytes', 'neither'],
  ['page_1000_ms', 'less is better'],
  ['page_1000_p99_ms', 'less is better'],
  ['page_100_no_ladder_ms', 'less is better'],
  ['as_of_ms', 'less is better'],
  ['as_of_p99_ms', 'less is better'],
  ['latest_ms', 'less is better'],
  ['sample_1s_ms', 'less is better'],
  ['sample_1m_ms', 'less is better'],
  ['append_per_s', 'more is better'],
  ['append_1000_per_s', 'more is better'],
  ['replay_per_s', 'more is better'],
  ['import_s', 'less is better'],
  ['rss_mb', 'less is better'],
]

function textVariant(result: Result): Result {
  const variant = result['text_variant']
  return typeof variant === 'object' && variant !== null ? (variant as Result) : {}
}

function toNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function show(value: number | undefined): string {
  if (value === undefined) return ''
  return value.toLocaleString('en-US', { maximumSignificantDigits: 4 })
}

function showFactor(
  own: number | undefined,
  other: number | undefined,
  direction: Direction,
): string {
  if (own === undefined || other === undefined || direction === 'neither') return ''
  return `${(direction === 'less is better' ? other / own : own / other).toFixed(2)}x`
}
