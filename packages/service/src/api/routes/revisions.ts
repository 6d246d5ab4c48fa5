import { findAnomaly, type RevisionAnomaly } from '@priorbook/sdk/domain'
import { marketContract, revisionSchema, toMarketJson } from '@priorbook/sdk/wire'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import type { MarketState } from '../../store/store.ts'
import { presentNotices, removedRevisions, windowNotice } from '../pages/notices.ts'
import { NO_END, openPage, rangeMeta, tableStyle, type Page } from '../pages/page.ts'
import { answerList } from '../pages/answer-rows.ts'
import { VENUE_ADDRESSES, type VenueAddress } from '../markets/addresses.ts'
import { findMarket } from '../markets/find.ts'
import { marketColumns, type AnyMarket } from '../markets/lists.ts'
import { defineRoute, type ApiContext, type Notice, type Route } from '../route.ts'

/** The history of a market record. */
export const REVISION_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(revisionsRoute)

function revisionsRoute(address: VenueAddress): Route {
  const { venue } = address
  const schema = revisionSchema(venue)
  return defineRoute(
    marketContract('revisions', venue, address.isPlain),
    async (request, context) => {
      const style = tableStyle(request)
      const { known_at: knownAt } = request.query
      const { record } = await findMarket(context, address, request.path, request.grant)
      const page = openPage(request, context, { venue, market: record.marketId, knownAt })
      const { states, hasMore } = await walkRevisions(context, record, page, knownAt)
      const rows: RevisionRow[] = states.map(({ anomaly, ...state }) => ({
        ...toMarketJson(state, style),
        revision: state.revision,
        ...(anomaly === undefined ? {} : { anomaly }),
      }))
      const last = states.at(-1)
      const none: Notice = {
        code: 'no_rows_in_range',
        message: 'No version was received in the range.',
      }
      const cut = windowNotice(page.range)
      return answerList(request, {
        type: 'market',
        rows,
        columns: [...marketColumns(['native']), 'revision', 'anomaly'],
        schema,
        meta: { range: rangeMeta(page.range, style) },
        notices: presentNotices(
          cut ?? (rows.length === 0 ? none : undefined),
          await cutNotice(context, record, page),
        ),
        page,
        next: hasMore && last !== undefined ? { revision: last.revision } : undefined,
      })
    },
  )
}

// The first page says that versions before the first one are gone, if the range asks for them.
async function cutNotice(
  { store }: ApiContext,
  { venue, marketId }: MarketState['record'],
  page: Page,
): Promise<Notice | undefined> {
  if (page.state['revision'] !== undefined) return undefined
  const [first] = await store.revisions(venue, marketId, { limit: 1 })
  if (first === undefined || first.revision === 1 || page.from > first.knownAt) return undefined
  return removedRevisions(first.revision)
}

type RevisionRow = AnyMarket & { readonly revision: number; readonly anomaly?: RevisionAnomaly }

type JudgedState = MarketState & { readonly anomaly?: RevisionAnomaly | undefined }

// Max versions per read of the store.
const SLICE = 200

// Versions have numbers and no index by time, so those before the range are read and skipped. The one
// before the page is read too: whether a status is legal depends on its predecessor.
async function walkRevisions(
  { store }: ApiContext,
  { venue, marketId }: MarketState['record'],
  page: Page,
  knownAt = NO_END,
): Promise<{ states: readonly JudgedState[]; hasMore: boolean }> {
  const states: JudgedState[] = []
  const first = ((page.state['revision'] as number | undefined) ?? 0) + 1
  let after = Math.max(0, first - 2)
  let before: MarketState | undefined
  for (;;) {
    const slice = await store.revisions(venue, marketId, { after, limit: SLICE })
    for (const state of slice) {
      const anomaly = findAnomaly(before?.record, state.record)
      before = state
      if (state.revision < first) continue
      if (state.knownAt >= page.end || state.knownAt > knownAt) return { states, hasMore: false }
      if (state.knownAt < page.from) continue
      if (states.length === page.limit) return { states, hasMore: true }
      states.push({ ...state, anomaly })
    }
    if (slice.length < SLICE) return { states, hasMore: false }
    after = slice.at(-1)!.revision
    await yieldToEventLoop()
  }
}
