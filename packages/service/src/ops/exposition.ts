/** What a metric counts or measures. */
type MetricKind = 'counter' | 'gauge' | 'histogram' | 'summary'

/** One line of a metric: the value, the labels, and the suffix of its name where it is part of a distribution. */
export type MetricLine = {
  readonly value: number
  readonly labels: Readonly<Record<string, string>>
  readonly suffix?: '_bucket' | '_sum' | '_count'
}

/** A metric with its present lines. */
export type MetricFamily = {
  readonly name: string
  readonly kind: MetricKind
  readonly help: string
  readonly lines: readonly MetricLine[]
}

/** Writes metrics in the text format of Prometheus; families without lines are named too. */
export function toExposition(families: Iterable<MetricFamily>): string {
  let text = ''
  for (const { name, kind, help, lines } of families) {
    text += `# HELP ${name} ${escapeText(help)}\n# TYPE ${name} ${kind}\n`
    for (const { value, labels, suffix = '' } of lines) {
      text += `${name}${suffix}${toLabels(labels)} ${toNumber(value)}\n`
    }
  }
  return text
}

function toLabels(labels: MetricLine['labels']): string {
  const pairs = Object.entries(labels).map(
    ([label, value]) => `${label}="${escapeText(value).replaceAll('"', '\\"')}"`,
  )
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function toNumber(value: number): string {
  if (value === Infinity) return '+Inf'
  return value === -Infinity ? '-Inf' : String(value)
}

/** The lines of one histogram; `counts` are not cumulative and have one more element than the bounds. */
export function histogramLines(
  labels: MetricLine['labels'],
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
): MetricLine[] {
  let below = 0
  const lines: MetricLine[] = counts.map((count, index) => {
    below += count
    const le = bounds[index] === undefined ? '+Inf' : String(bounds[index])
    return { value: below, labels: { ...labels, le }, suffix: '_bucket' }
  })
  lines.push({ value: sum, labels, suffix: '_sum' }, { value: below, labels, suffix: '_count' })
  return lines
}
