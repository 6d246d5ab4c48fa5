import type { BookRowJson, PriorbookClient } from '../../client/index.ts'
import { VENUES } from '../../domain/index.ts'
import type { GapJson } from '../../wire/index.ts'
import { toLevel, type OwnLevel } from './book-update.ts'
import { topOf, type TopText } from './own-book.ts'
import type { OwnRow } from './read-capture.ts'

/** A recorded row of the service. */
export type ServiceRow = { readonly id: string; readonly time: number; readonly top: TopText }

/** A span that the service says it did not observe. */
export type ServiceGap = { readonly start: number; readonly end: number; readonly reason: string }

/** One instrument of a capture. */
export type SeriesName = Pick<OwnRow, 'venue' | 'marketId' | 'key'>

/** Reads what a service recorded of one instrument. */
export class ServiceRows {
  private readonly client: PriorbookClient
  private readonly depth: number
  private readonly signal: AbortSignal

  constructor(client: PriorbookClient, depth: number, signal: AbortSignal) {
    this.client = client
    this.depth = depth
    this.signal = signal
  }

  /** The rows that were received in [start, end), page by page. */
  async *rows(series: SeriesName, start: number, end: number): AsyncGenerator<ServiceRow> {
    const { venue, marketId, key } = series
    const isToken = VENUES[venue].booksPer === 'token'
    const walk = this.client.market({ venue, market_id: marketId }).snapshots(
      {
        start_time: start,
        end_time: end,
        include_orderbook: true,
        depth: this.depth,
        time_format: 'epoch_us',
        number_format: 'string',
        ...(isToken ? { token_id: key } : {}),
      },
      { signal: this.signal },
    )
    for await (const page of walk.pages()) {
      for (const row of page.data) yield toRow(row)
    }
  }

  /** The same, after the last row before the start, where the service has one. */
  async *rowsFrom(series: SeriesName, start: number, end: number): AsyncGenerator<ServiceRow> {
    const { venue, marketId, key } = series
    const isToken = VENUES[venue].booksPer === 'token'
    const { data } = await this.client.market({ venue, market_id: marketId }).asOf(
      {
        at: start - 1,
        depth: this.depth,
        time_format: 'epoch_us',
        number_format: 'string',
        ...(isToken ? { token_id: key } : {}),
      },
      { signal: this.signal },
    )
    for (const row of data) yield toRow(row)
    yield* this.rows(series, start, end)
  }

  /** The declared gaps of an instrument that touch a span. */
  async gaps(series: SeriesName, start: number, end: number): Promise<ServiceGap[]> {
    const { venue, marketId, key } = series
    const gaps: ServiceGap[] = []
    const asked = { venue, market: marketId, start_time: start, end_time: end } as const
    const walk = this.client.gaps({ ...asked, time_format: 'epoch_us' }, { signal: this.signal })
    for await (const page of walk.pages()) {
      for (const gap of page.data) if (concerns(gap, marketId, key)) gaps.push(toGap(gap))
    }
    return gaps
  }
}

function concerns({ scope, key }: GapJson, marketId: string, own: string): boolean {
  return scope === 'venue' || key === null || key === own || key === marketId
}

function toGap({ start_time: start, end_time: end, reason }: GapJson): ServiceGap {
  return { start: Number(start), end: end === null ? Infinity : Number(end), reason }
}

function toRow(row: BookRowJson): ServiceRow {
  const top = topOf(levelsOf(row.bids), levelsOf(row.asks))
  return { id: row.id, time: Number(row.received_time), top }
}

function levelsOf(side: BookRowJson['bids']): OwnLevel[] {
  if (side === undefined) return []
  return side.price.map((price, index) => toLevel(price, side.size[index]))
}
