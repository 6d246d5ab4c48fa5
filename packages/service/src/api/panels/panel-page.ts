import type { VenueId } from '@priorbook/sdk/domain'
import type { PanelRowJson, ValueStyle } from '@priorbook/sdk/wire'
import type { PlanFilter } from '../markets/plan-filter.ts'
import type { ApiContext, CursorState } from '../route.ts'
import { PanelReader } from './panel-rows.ts'
import { walkRounds, type Round, type RoundQuery } from './rounds.ts'

/** What a walk over a panel reads. */
export type PanelQuery = RoundQuery & {
  /** Seconds from the close, the earliest first. */
  readonly offsets: readonly number[]
  /** The start of the plan's window. */
  readonly since: number
  readonly style: ValueStyle
}

/** A page of a panel. */
export type PanelPage = {
  readonly rows: readonly PanelRowJson[]
  readonly next: CursorState | undefined
}

// How many rows of its last round a page has: where they are not all, the next page has the others.
const SERVED = 'o'

/** Reads a page of rows by (close time, venue, id, instant), and as many rounds as it needs. */
export class PanelWalk {
  private readonly context: ApiContext
  private readonly query: PanelQuery
  private readonly plan: PlanFilter
  private readonly offsets: readonly number[]
  private readonly reader: PanelReader

  constructor(context: ApiContext, query: PanelQuery, plan: PlanFilter) {
    this.context = context
    this.query = query
    this.plan = plan
    this.offsets = query.order === 'asc' ? query.offsets : query.offsets.toReversed()
    this.reader = new PanelReader(context, query.since, query.style)
  }

  /** At most `limit` rows after the state of the page before; from the first one where it is undefined. */
  async page(state: CursorState | undefined, limit: number): Promise<PanelPage> {
    const { offsets } = this
    const rows: PanelRowJson[] = []
    const begun = await this.findBegun(state)
    if (begun !== undefined) {
      const { round, served } = begun
      const end = Math.min(offsets.length, served + limit)
      rows.push(...(await this.reader.rowsOf(round, offsets.slice(served, end))))
      if (end < offsets.length) return { rows, next: { ...round.place, [SERVED]: end } }
    }
    const count = Math.ceil((limit - rows.length) / offsets.length)
    // Also where the page is full: whether a round follows decides about the cursor.
    const asked = Math.max(1, count)
    const { rounds, next } = await walkRounds(this.context, this.query, this.plan, state, asked)
    if (count === 0) {
      const hasMore = rounds.length > 0 || next !== undefined
      return {
        rows,
        next: hasMore ? { ...begun!.round.place, [SERVED]: offsets.length } : undefined,
      }
    }
    for (const round of rounds) {
      const wanted = offsets.slice(0, limit - rows.length)
      rows.push(...(await this.reader.rowsOf(round, wanted)))
      if (wanted.length < offsets.length) {
        return { rows, next: { ...round.place, [SERVED]: wanted.length } }
      }
    }
    return { rows, next: next === undefined ? undefined : { ...next, [SERVED]: offsets.length } }
  }

  // The round whose first rows are on the page before, and how many these are.
  private async findBegun(
    state: CursorState | undefined,
  ): Promise<{ readonly round: Round; readonly served: number } | undefined> {
    const served = Number(state?.[SERVED] ?? this.offsets.length)
    if (state === undefined || served >= this.offsets.length) return undefined
    const { time, venue, id, value } = state
    const known = await this.context.store.market(venue as VenueId, String(id))
    // Retention may have removed it since, and the plan may be another one.
    if (known === undefined || !this.plan.includes(known.record)) return undefined
    const place = { time: time!, venue: venue!, id: id!, value: value! }
    return { round: { record: known.record, closeTime: Number(value), place }, served }
  }
}
