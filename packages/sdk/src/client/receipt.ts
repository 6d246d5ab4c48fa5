import type { WalkCount } from './errors.ts'

type Count = { rows: number; first: number; last: number; previous: number }

/** What `ReceivedRows.toJSON` gives: by instrument rows, lowest, highest and previous sequence. */
export type ReceivedState = {
  readonly instruments: readonly (readonly [string, number, number, number, number])[]
  readonly disorder?: string | undefined
  /** Rows without an id, such as market records. */
  readonly unnamed?: number
}

/** Counts rows by instrument as they arrive, and notes the first one out of order. */
export class ReceivedRows {
  rows = 0
  private unnamed = 0
  private readonly counts = new Map<string, Count>()
  /** 1 where sequences rise, −1 where they fall; absent while no instrument has two rows. */
  private step: 1 | -1 | undefined
  private disorder: string | undefined

  /** Goes on from what `toJSON` gave; undefined where another version of the client gave it. */
  static from({
    instruments,
    disorder,
    unnamed = 0,
  }: Partial<ReceivedState>): ReceivedRows | undefined {
    if (!Array.isArray(instruments)) return undefined
    const received = new ReceivedRows()
    for (const [key, rows, first, last, previous] of instruments as ReceivedState['instruments']) {
      received.counts.set(key, { rows, first, last, previous })
      received.rows += rows
      if (first < last) received.step = previous === last ? 1 : -1
    }
    received.disorder = disorder
    received.unnamed = unnamed
    received.rows += unnamed
    return received
  }

  /** Adds a row by its id, such as `venueb:KXBTC15M-26AUG051215-15:7`; rows of lists have none. */
  add(id: string | undefined): void {
    this.rows++
    if (id === undefined) {
      this.unnamed++
      return
    }
    const end = id.lastIndexOf(':')
    const key = id.slice(id.indexOf(':') + 1, end)
    const sequence = Number(id.slice(end + 1))
    const count = this.counts.get(key)
    if (count === undefined) {
      const edges = { first: sequence, last: sequence, previous: sequence }
      this.counts.set(key, { rows: 1, ...edges })
      return
    }
    const { previous } = count
    this.step ??= sequence < previous ? -1 : 1
    if ((sequence - previous) * this.step <= 0) this.disorder ??= `${id} comes after ${previous}`
    count.rows++
    count.first = Math.min(count.first, sequence)
    count.last = Math.max(count.last, sequence)
    count.previous = sequence
  }

  count(): WalkCount {
    const { rows, disorder } = this
    const instruments = Array.from(this.counts, ([key, { first, last, rows: own }]) => {
      return { key, first, last, rows: own }
    })
    return { rows, instruments, disorder }
  }

  toJSON(): ReceivedState {
    const instruments = Array.from(this.counts, ([key, { rows, first, last, previous }]) => {
      return [key, rows, first, last, previous] as const
    })
    return { instruments, disorder: this.disorder, unnamed: this.unnamed }
  }
}

/**
 * How rows differ from a receipt: in number, by instrument, or in order. Undefined where they do not: then
 * every row arrived once, because sequences that keep their order and their number between the same
 * edges leave no room for others.
 */
export function differenceOf(
  expected: Pick<WalkCount, 'rows'> & Partial<Pick<WalkCount, 'instruments'>>,
  received: WalkCount,
): string | undefined {
  const missing = expected.rows - received.rows
  if (missing > 0) return `${missing} of ${expected.rows} rows did not arrive${keyed()}`
  if (missing < 0) {
    return `${-missing} rows more arrived than the ${expected.rows} of the receipt${keyed()}`
  }
  if (keyed() !== '') return `${expected.rows} rows arrived, but not those of the receipt${keyed()}`
  return received.disorder === undefined
    ? undefined
    : `rows arrived out of order: ${received.disorder}`

  function keyed(): string {
    if (expected.instruments === undefined) return ''
    const found = new Map(received.instruments.map((one) => [one.key, one]))
    const parts: string[] = []
    for (const { key, rows, first, last } of expected.instruments) {
      const own = found.get(key)
      found.delete(key)
      if (own?.rows === rows && own.first === first && own.last === last) continue
      const came = own === undefined ? 'none' : `${own.rows} from ${own.first} to ${own.last}`
      parts.push(`of ${key} ${rows} rows from ${first} to ${last} were sent and ${came} arrived`)
    }
    for (const key of found.keys()) parts.push(`${key} is not in the receipt`)
    return parts.length === 0 ? '' : `; ${parts.slice(0, 3).join('; ')}`
  }
}
