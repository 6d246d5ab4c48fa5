import { createHash } from 'node:crypto'
import { printMicros, toMicros } from '@priorbook/sdk/domain'
import type { Notice } from '../route.ts'
import type { BulkScope } from './scope.ts'
import type { WalkItem } from './walk-item.ts'

const encoder = new TextEncoder()
const LINE_FEED = 10
// A venue, a key of 200 characters, a metric and 16 digits.
const ID_MAX = 256

/** What a file holds, so that its reader can prove that nothing was dropped on the way. */
export type Receipt = {
  readonly rows: number
  readonly markets: number
  readonly gaps: number
  readonly first_id: string | null
  readonly last_id: string | null
  readonly first_received_time: string | null
  readonly last_received_time: string | null
  readonly range: { readonly start_time: string; readonly end_time: string }
  /** True when no row can be added to the range any more. */
  readonly is_final: boolean
  /** SHA-256 of the row ids in the order of the file, each followed by a line feed. */
  readonly ids_sha256: string
  readonly notice?: readonly Notice[]
}

/** The rows of one series of a market. */
export type SeriesFacts = {
  readonly first: number
  readonly last: number
  readonly rows: number
  readonly firstReceived: number
  readonly lastReceived: number
}

/** Counts what goes into a file. */
export class Tally {
  rows = 0
  private readonly scope: BulkScope
  private markets = 0
  private gaps = 0
  private firstId: string | null = null
  private lastId: string | null = null
  private firstReceived = Infinity
  private lastReceived = -1
  private readonly ids = createHash('sha256')
  /** The text of ids on its way into the hash; it begins with that of the name that was used last. */
  private readonly scratch = new Uint8Array(16_384)
  private prefix = ''
  private prefixLength = 0

  constructor(scope: BulkScope) {
    this.scope = scope
  }

  /** Counts an item of the walk. */
  add(item: WalkItem): void {
    switch (item.kind) {
      case 'market':
        this.markets++
        break
      case 'gap':
        this.gaps++
        break
      case 'book':
        for (const { columns, firstSequence, from, to, source } of item.pieces) {
          const name = this.nameOf(item.contexts[source]!.key)
          this.count(name, firstSequence + from, firstSequence + to - 1)
          this.stretch(columns.received[from]!, columns.received[to - 1]!)
        }
        break
      case 'trade':
      case 'sample':
        for (const { columns, row, ordinal, source } of item.rows) {
          this.count(this.nameOf(item.contexts[source]!.key), ordinal, ordinal)
          this.stretch(columns.received[row]!, columns.received[row]!)
        }
        break
    }
  }

  /**
   * Counts the series of a market whose ids were added before; which row is the first and which the
   * last follows from their times.
   */
  addSeries(list: readonly (SeriesFacts & { readonly name: string })[]): void {
    const first = list.toSorted(
      (a, b) => a.firstReceived - b.firstReceived || a.first - b.first,
    )[0]!
    const last = list.toSorted((a, b) => a.lastReceived - b.lastReceived || a.last - b.last).at(-1)!
    this.firstId ??= `${first.name}${first.first}`
    for (const { firstReceived, lastReceived, rows } of list) {
      this.rows += rows
      this.stretch(firstReceived, lastReceived)
    }
    this.lastId = `${last.name}${last.last}`
  }

  /** Adds the ids of rows whose numbers follow each other to the hash. */
  addIds(name: string, first: number, last: number): void {
    if (this.prefix !== name) {
      this.prefix = name
      this.prefixLength = encoder.encodeInto(name, this.scratch).written
    }
    const { scratch, prefixLength } = this
    let end = 0
    for (let number = first; number <= last; number++) {
      if (end > 0) scratch.copyWithin(end, 0, prefixLength)
      end = writeDigits(scratch, end + prefixLength, number)
      scratch[end++] = LINE_FEED
      if (end + ID_MAX < scratch.length) continue
      this.ids.update(scratch.subarray(0, end))
      end = 0
    }
    this.ids.update(scratch.subarray(0, end))
  }

  /** The id of a row of a series, without its number. */
  nameOf(key: string): string {
    const { venue, dataset, metric } = this.scope
    if (dataset === 'books') return `${venue}:${key}:`
    return `${venue}:${key}/${dataset === 'trades' ? 'trade' : metric}:`
  }

  /** Ends the count; `more` says why there are no rows. */
  finish(more: readonly Notice[] = []): Receipt {
    const { scope, rows } = this
    const print = (time: number): string => printMicros(toMicros(time))
    const notices = [...scope.notices, ...more]
    return {
      rows,
      markets: this.markets,
      gaps: this.gaps,
      first_id: this.firstId,
      last_id: this.lastId,
      first_received_time: rows === 0 ? null : print(this.firstReceived),
      last_received_time: rows === 0 ? null : print(this.lastReceived),
      range: { start_time: print(scope.start), end_time: print(scope.end) },
      is_final: scope.isFinal,
      ids_sha256: this.ids.digest('hex'),
      ...(notices.length === 0 ? {} : { notice: notices }),
    }
  }

  private count(name: string, first: number, last: number): void {
    this.rows += last - first + 1
    this.firstId ??= `${name}${first}`
    this.lastId = `${name}${last}`
    this.addIds(name, first, last)
  }

  private stretch(first: number, last: number): void {
    this.firstReceived = Math.min(this.firstReceived, first)
    this.lastReceived = Math.max(this.lastReceived, last)
  }
}

function writeDigits(bytes: Uint8Array, at: number, value: number): number {
  let digits = 1
  for (let power = 10; power <= value; power *= 10) digits++
  let rest = value
  for (let place = at + digits - 1; place >= at; place--) {
    const next = Math.floor(rest / 10)
    bytes[place] = 48 + rest - next * 10
    rest = next
  }
  return at + digits
}
