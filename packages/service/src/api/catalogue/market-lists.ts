import { floorOf, MARKET_STATUSES, type VenueId } from '@priorbook/sdk/domain'
import { listOf, MARKET_SCHEMAS, timeJson, toMarketJson } from '@priorbook/sdk/wire'
import type { MarketQuery } from '../../store/store.ts'
import { VENUE_A_ADDRESS, VENUE_B_ADDRESS, VENUE_C_ADDRESS } from '../kit/addresses.ts'
import { requireRecordedAsset } from '../kit/market-lookup.ts'
import { textParam, timeParam, wordParam } from '../kit/param.ts'
import { planAsset } from '../kit/plan-asset.ts'
import { PAGE_PARAMS, STYLE_PARAMS } from '../kit/params.ts'
import {
  defineRoute,
  type Answer,
  type ApiContext,
  type Notice,
  type Route,
  type RouteRequest,
} from '../kit/route.ts'
import { MARKET_COLUMNS, marketState, walkMarkets, type AnyMarket } from './market-rows.ts'
import {
  NO_END,
  noticeMeta,
  openPage,
  rangeMeta,
  styleOf,
  windowNotice,
  type PageRange,
  type PageRequest,
} from './page.ts'
import { answerRows } from './row-answer.ts'

const STATUS = wordParam(MARKET_STATUSES, 'Only markets whose status is this now.')
const WINDOW = wordParam(['5m', '15m', '1h', '4h', '1d'], 'Only rounds of this length.')

/** The range of a list of markets: a market matches when [open, close) meets it. */
export const MARKET_RANGE_PARAMS = {
  start_time: timeParam('Only markets that close after this time.'),
  end_time: timeParam('Only markets that open before this time.'),
}

/** The lists of markets of the interface document. */
export const MARKET_LIST_ROUTES: readonly Route[] = [
  defineRoute({
    id: 'venuea_markets',
    address: VENUE_A_ADDRESS.markets,
    aliases: [VENUE_A_ADDRESS.alias!.markets],
    tag: 'Venue A',
    summary: 'Markets of venue A',
    description:
      'Market records by (open_time, market_id), with the filters coin, window and status. A market matches a range when [open_time, close_time) meets it.',
    path: {},
    query: {
      coin: wordParam(['BTC', 'ETH', 'BNB', 'btc', 'eth', 'bnb'], 'The underlying asset.'),
      window: wordParam(['5m', '15m'], 'The window of the market.'),
      status: STATUS,
      ...MARKET_RANGE_PARAMS,
      ...PAGE_PARAMS,
      ...STYLE_PARAMS,
    },
    formats: ['ndjson', 'csv'],
    data: listOf(MARKET_SCHEMAS.venuea),
    handle(request, context) {
      const { coin, window, status } = request.query
      const asset = coin?.toUpperCase()
      request.grant.requireVenue('venuea')
      if (asset !== undefined) request.grant.requireAsset('venuea', asset)
      return listMarkets(request, context, { venue: 'venuea', asset, window, status })
    },
  }),
  defineRoute({
    id: 'venueb_markets',
    address: VENUE_B_ADDRESS.markets,
    tag: 'Venue B',
    summary: 'Markets of venue B',
    description:
      'Markets with their native series, event and market tickers, by (open_time, market_ticker). A market matches a range when [open_time, close_time) meets it.',
    path: {},
    query: {
      series: textParam(200, 'Only markets of this series ticker.', 'KXBTC15M'),
      event: textParam(200, 'Only markets of this event ticker.'),
      status: STATUS,
      ...MARKET_RANGE_PARAMS,
      ...PAGE_PARAMS,
      ...STYLE_PARAMS,
    },
    formats: ['ndjson', 'csv'],
    data: listOf(MARKET_SCHEMAS.venueb),
    handle(request, context) {
      const { series, event, status } = request.query
      request.grant.requireVenue('venueb')
      return listMarkets(request, context, { venue: 'venueb', series, event, status })
    },
  }),
  defineRoute({
    id: 'venuec_markets',
    address: VENUE_C_ADDRESS.markets,
    tag: 'Venue C',
    summary: 'Markets of venue C of one asset',
    description:
      'Market records by (open_time, condition id). The path names the underlying asset. A market matches a range when [open_time, close_time) meets it.',
    path: { asset: VENUE_C_ADDRESS.path['asset']! },
    query: {
      window: WINDOW,
      status: STATUS,
      event: textParam(200, 'Only markets of this event id.'),
      ...MARKET_RANGE_PARAMS,
      ...PAGE_PARAMS,
      ...STYLE_PARAMS,
    },
    formats: ['ndjson', 'csv'],
    data: listOf(MARKET_SCHEMAS.venuec),
    async handle(request, context) {
      const { window, status, event } = request.query
      const asset = (request.path.asset ?? '').toUpperCase()
      request.grant.requireVenue('venuec')
      request.grant.requireAsset('venuec', asset)
      await requireRecordedAsset(context, asset)
      return listMarkets(request, context, { venue: 'venuec', asset, window, status, event })
    },
  }),
]

type Filters = Readonly<Partial<Record<'asset' | 'window' | 'status' | 'series' | 'event', string>>>

type ListRequest = PageRequest & {
  readonly format: RouteRequest<{}, {}>['format']
  readonly query: Parameters<typeof styleOf>[0]
}

async function listMarkets(
  request: ListRequest,
  context: ApiContext,
  given: { readonly venue: VenueId } & { readonly [Name in keyof Filters]: string | undefined },
): Promise<Answer> {
  const style = styleOf(request.query)
  const page = openPage(request, context, given, NO_END)
  const filters = marketFilters(given, page.range)
  const { grant } = request
  const { markets, last, hasMore } = await walkMarkets(context, filters, page, ({ record }) =>
    grant.allows(record.venue, planAsset(record)),
  )
  const rows: AnyMarket[] = markets.map((market) => toMarketJson(market, style))
  const cut = windowNotice(page.range)
  const why = rows.length > 0 || hasMore ? undefined : (cut ?? emptyNotice(given, page.range))
  return answerRows(request, {
    type: 'market',
    rows,
    columns: MARKET_COLUMNS,
    meta: { range: rangeMeta(page.range, style), ...noticeMeta(rows.length > 0 ? cut : why) },
    nextCursor: hasMore && last !== undefined ? page.next(marketState(last)) : undefined,
  })
}

/** The store's filters; an absent one is left out, a range without bounds too. */
export function marketFilters(
  given: { readonly [name: string]: string | undefined },
  { from, end }: PageRange,
): Omit<MarketQuery, 'limit' | 'after' | 'order'> {
  const named = Object.entries(given).filter(([, value]) => value !== undefined)
  return {
    ...(Object.fromEntries(named) as Partial<MarketQuery>),
    ...(from === 0 ? {} : { start: from }),
    ...(end >= NO_END ? {} : { end }),
  }
}

function emptyNotice(
  given: { readonly venue: VenueId; readonly asset?: string | undefined },
  { end }: PageRange,
): Notice {
  const floor = floorOf(given.venue, 'catalogue', { asset: given.asset })
  if (floor !== undefined && end <= floor) {
    return {
      code: 'before_capture',
      message: 'The range lies before the catalogue of this venue begins.',
      available_from: timeJson(floor, {}),
    }
  }
  return { code: 'no_markets', message: 'No recorded market matches the filters and the range.' }
}
