import type { Dataset } from '@priorbook/sdk/domain'
import { toGapJson, toMarketJson, type GapJson, type ValueStyle } from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'
import type { ApiContext, Meta } from '../route.ts'
import { explainEmpty } from './empty.ts'
import type { MergedPage } from './merged-rows.ts'
import { gapsOfPage } from './page-gaps.ts'
import { noticeMeta, rangeMeta, windowNotice, type Page } from './page.ts'

/** What stands around the rows of a merged page. */
export type Surroundings = {
  readonly meta: Meta
  readonly gaps: readonly GapJson[]
  readonly nextCursor: string | undefined
}

/** The market as known at the last row, the page's gaps, why it is empty, and where it goes on. */
export async function surroundingsOf(
  context: ApiContext,
  state: MarketState,
  page: Page,
  merged: MergedPage<unknown, unknown>,
  about: {
    readonly dataset: Dataset
    /** The streams of the page and what may have gaps above them. */
    readonly keys: readonly string[]
    readonly style: ValueStyle
  },
): Promise<Surroundings> {
  const { dataset, keys, style } = about
  const { venue, marketId } = state.record
  const { rows, hasMore, corrupt } = merged
  const last = rows.at(-1)?.received
  const gaps = await gapsOfPage(context.store, { venue, keys }, page, { last, hasMore })
  const isEmpty = rows.length === 0 && page.isFirst
  const notice = isEmpty
    ? await explainEmpty(context, state.record, dataset, keys, page.range)
    : windowNotice(page.range)
  const known = last === undefined ? state : await context.store.market(venue, marketId, last)
  return {
    meta: {
      range: rangeMeta(page.range, style),
      market: known === undefined ? null : toMarketJson(known, style),
      ...noticeMeta(notice),
    },
    gaps: [...gaps, ...corrupt].map((gap) => toGapJson(gap, style)),
    nextCursor: hasMore ? page.next(merged.state) : undefined,
  }
}
