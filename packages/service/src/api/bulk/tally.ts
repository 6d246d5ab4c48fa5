import { createHash } from 'node:crypto'
import { printMicros, toMicros } from '@priorbook/sdk/domain'
import type { Notice } from '../kit/index.ts'
import type { BulkScope } from './scope.ts'
import type { WalkItem } from './walk-item.ts'

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
  /**
   * SHA-256 over a line for each series of each market in the order of the file,
   * `<id without its number><first number>-<last number> <rows>` and a line feed: the same in every
   * format, and told by the rows alone.
   */
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

type Series = { readonly name: string; first: number; last: number; rows: number }

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
  private series: Series[] = []
  private readonly ids = createHash('sha256')

  constructor(scope: BulkScope) {
    this.scope = scope
  }

  /** Counts an item of the walk. */
  add(item: WalkItem): void {
    switch (item.kind) {
      case 'market':
        this.closeMarket()
        this.markets++
        break
      case 'gap':
        this.gaps++
        break
      case 'book':
        for (const { columns, firstSequence, from, to, source } of item.pieces) {
          const name = this.nameOf(item.contexts[source]!.key)
          this.count(name, source, firstSequence + from, firstSequence + to - 1)
          this.stretch(columns.received[from]!, columns.received[to - 1]!)
        }
        break
      case 'trade':
      case 'sample':
        for (const { columns, row, ordinal, source } of item.rows) {
          this.count(this.nameOf(item.contexts[source]!.key), source, ordinal, ordinal)
          this.stretch(columns.received[row]!, columns.received[row]!)
        }
        break
    }
  }

  /** Counts all series of a market at once; which row is first and last follows from their times. */
  addSeries(list: readonly (SeriesFacts & { readonly name: string })[]): void {
    const first = list.toSorted(
      (a, b) => a.firstReceived - b.firstReceived || a.first - b.first,
    )[0]!
    const last = list.toSorted((a, b) => a.lastReceived - b.lastReceived || a.last - b.last).at(-1)!
    this.firstId ??= `${first.name}${first.first}`
    for (const { name, firstReceived, lastReceived, ...facts } of list) {
      this.series.push({ name, ...facts })
      this.rows += facts.rows
      this.stretch(firstReceived, lastReceived)
    }
    this.lastId = `${last.name}${last.last}`
  }

  /** The id of a row of a series, without its number. */
  nameOf(key: string): string {
    const { venue, dataset, metric } = this.scope
    if (dataset === 'books') return `${venue}:${key}:`
    return `${venue}:${key}/${dataset === 'trades' ? 'trade' : metric}:`
  }

  /** Ends the count. */
  finish(): Receipt {
    this.closeMarket()
    const { scope, rows } = this
    const print = (time: number): string => printMicros(toMicros(time))
    const notices = [...scope.notices, ...(rows === 0 ? emptyNotices(scope) : [])]
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

  private count(name: string, source: number, first: number, last: number): void {
    const rows = last - first + 1
    this.rows += rows
    this.firstId ??= `${name}${first}`
    this.lastId = `${name}${last}`
    const series = (this.series[source] ??= { name, first, last: 0, rows: 0 })
    series.last = last
    series.rows += rows
  }

  private stretch(first: number, last: number): void {
    this.firstReceived = Math.min(this.firstReceived, first)
    this.lastReceived = Math.max(this.lastReceived, last)
  }

  private closeMarket(): void {
    for (const series of this.series) {
      // A list with holes: an instrument without rows has no line.
      if (series === undefined) continue
      this.ids.update(`${series.name}${series.first}-${series.last} ${series.rows}\n`)
    }
    this.series = []
  }
}

/** Why a file has no rows. */
function emptyNotices(scope: BulkScope): Notice[] {
  const { venue, dataset, start, end, notices, market } = scope
  if (dataset === 'trades' && venue === 'venuea') {
    return [
      {
        code: 'trades_not_reconstructed',
        message:
          'Venue A has no historical fills: they are being reconstructed, and the dataset is empty until then.',
      },
    ]
  }
  if (start >= end && notices.some(({ code }) => code === 'plan_window' || code === 'future_range'))
    return []
  const { openTime, closeTime } = market?.record ?? {}
  if (openTime !== undefined && end <= openTime) {
    const message = 'The range ends before the market opens.'
    return [{ code: 'market_not_open', message, open_time: printMicros(openTime) }]
  }
  if (closeTime !== undefined && start >= closeTime) {
    const message = 'The range begins after the market closed.'
    return [{ code: 'market_closed', message, close_time: printMicros(closeTime) }]
  }
  const what = market === undefined ? 'No market of the family has' : 'The market has'
  return [{ code: 'no_rows_in_range', message: `${what} ${dataset} in the range.` }]
}
