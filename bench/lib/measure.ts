/** JSON text as an engine gives it: bytes where it has them, else a string. */
export type JsonText = string | Uint8Array

const WARM_UP_MS = 2000

/** Times of one kind of read, in milliseconds. */
export type ReadTimes = {
  readonly medianMs: number
  readonly p99Ms: number
  /** How many different reads were measured. */
  readonly measured: number
  /** Mean bytes of JSON text a read gave. */
  readonly bytes: number
}

/** Runs distinct reads one after another, warm, and stops early when the budget is used up. */
export async function measureReads<Item>(
  items: readonly Item[],
  budgetMs: number,
  read: (item: Item) => Promise<JsonText>,
): Promise<ReadTimes> {
  // Warm for every engine alike: the same time, with reads from the end of the list.
  const others = items.slice(-Math.ceil(items.length / 4))
  const warmUpEnd = performance.now() + WARM_UP_MS
  for (let index = 0; performance.now() < warmUpEnd; index++) {
    await read(others[index % others.length]!)
  }

  const times: number[] = []
  let bytes = 0
  const end = performance.now() + budgetMs
  for (const item of items) {
    const start = performance.now()
    const text = await read(item)
    times.push(performance.now() - start)
    bytes += typeof text === 'string' ? Buffer.byteLength(text) : text.byteLength
    if (performance.now() > end) break
  }
  return {
    medianMs: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    measured: times.length,
    bytes: bytes / times.length,
  }
}

/** Repeats one thing at least twice, warm, and gives the median of its milliseconds. */
export async function measureRepeated(
  repeats: number,
  budgetMs: number,
  run: () => Promise<unknown>,
): Promise<number> {
  const warmUpEnd = performance.now() + WARM_UP_MS
  do await run()
  while (performance.now() < warmUpEnd)
  const times: number[] = []
  const end = performance.now() + budgetMs
  for (let round = 0; round < repeats; round++) {
    const start = performance.now()
    await run()
    times.push(performance.now() - start)
    if (round > 0 && performance.now() > end) break
  }
  return quantile(times, 0.5)
}

/** The value below which a part of the numbers lies, by the nearest-rank rule. */
export function quantile(numbers: readonly number[], part: number): number {
  const sorted = numbers.toSorted((left, right) => left - right)
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN
}

/** Resident memory of this process in megabytes of 10^6 bytes. */
export function rssMb(): number {
  return process.memoryUsage.rss() / 1e6
}

/** Rounds to three significant decimals, enough for a report. */
export function rounded(value: number): number {
  return Number(value.toPrecision(value >= 1000 ? 6 : 4))
}

/** The value below which a share of the values lies; 0 where there is none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
