/** Times and values of one metric. */
export type Line = { readonly time: readonly number[]; readonly value: readonly number[] }

/**
 * Aligns lines to common times: between its own samples a metric keeps its last value. At a break every
 * line ends until its next sample.
 */
export function toSampleLines(
  lines: readonly (Line | undefined)[],
  breaksAt: readonly number[] = [],
): (number | null)[][] {
  const sampled = lines.flatMap((line) => line?.time ?? [])
  const breaks = new Set(breaksAt)
  const times = [...new Set([...sampled, ...breaks])].sort((a, b) => a - b)
  const aligned = lines.map((line) => {
    const { time: own, value } = line ?? { time: [], value: [] }
    let next = 0
    let last: number | null = null
    return times.map((time) => {
      while (next < own.length && own[next]! <= time) last = value[next++]!
      if (breaks.has(time)) last = null
      return last
    })
  })
  return [times.map((time) => time / 1e6), ...aligned]
}
