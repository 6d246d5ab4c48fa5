import type { Phase, Proposition } from '../../core/upstream.ts'
import { aboutEvent, aboutMarket } from './about.ts'
import type { PhaseTimes, TopicSeriesFacts } from './markets.ts'
import type { Names, RoundSeries } from './names.ts'
import { contracts, dollars, isoMicros, isoSeconds, type NativeObject } from './values.ts'
import type { Trade } from './trades.ts'

/** The venue's name for a phase. */
const STATUS: Readonly<Record<Phase, string>> = {
  listed: 'initialized',
  open: 'active',
  paused: 'inactive',
  closed: 'closed',
  determined: 'determined',
  disputed: 'disputed',
  resolved: 'finalized',
}

const DAY_MS = 86_400_000
const NEVER = '0001-01-01T00:00:00Z'

/** A market as /markets gives it: the fields of the recorded answers, settled ones once there are any. */
export function marketObject(
  market: Proposition,
  names: Names,
  times: PhaseTimes,
  updatedAt: number,
): NativeObject {
  const { openTime, closeTime, outcome, phase, book } = market
  const bid = book.bids[0]
  const ask = book.asks[0]
  const about = aboutMarket(market)
  const later = isoSeconds(closeTime + 300_000)
  const decided = outcome !== undefined && phase !== 'closed'
  const first = outcome?.winner === 'first'
  return {
    can_close_early: true,
    ...(about.cap === undefined ? {} : { cap_strike: about.cap }),
    close_time: isoSeconds(closeTime),
    created_time: isoMicros(market.listTime, market.index * 37),
    ...(about.customStrike === undefined ? {} : { custom_strike: about.customStrike }),
    event_ticker: names.event,
    exchange_index: 0,
    expected_expiration_time: later,
    expiration_time: isoSeconds(closeTime + 7 * DAY_MS),
    expiration_value: decided ? outcome.endPrice : '',
    ...(about.floor === undefined ? {} : { floor_strike: about.floor }),
    last_price_dollars: dollars(market.lastTrade ?? 0),
    latest_expiration_time: isoSeconds(closeTime + 7 * DAY_MS),
    liquidity_dollars: '0.0000',
    market_type: 'binary',
    no_ask_dollars: dollars(10_000 - (bid?.price ?? 0)),
    no_bid_dollars: dollars(10_000 - (ask?.price ?? 10_000)),
    ...about.combination,
    no_sub_title: about.noSubTitle,
    notional_value_dollars: '1.0000',
    occurrence_datetime: later,
    open_interest_fp: contracts(Math.floor(market.volume * 0.48)),
    open_time: isoSeconds(openTime),
    previous_price_dollars: dollars(market.lastTrade ?? 0),
    previous_yes_ask_dollars: dollars(ask?.price ?? 10_000),
    previous_yes_bid_dollars: dollars(bid?.price ?? 0),
    price_level_structure: priceStructure(market),
    price_ranges: [{ end: '1.0000', start: '0.0000', step: dollars(market.tick) }],
    result: decided ? (first ? 'yes' : 'no') : '',
    rules_primary: about.rules,
    rules_secondary: about.moreRules,
    settlement_bounds_type: 'default',
    settlement_timer_seconds: 1,
    ...(decided && phase === 'resolved'
      ? {
          settlement_ts: isoMicros(times.get('resolved') ?? closeTime, market.index * 41),
          settlement_value_dollars: first ? '1.0000' : '0.0000',
        }
      : {}),
    status: STATUS[phase],
    strike_type: about.strikeType,
    ticker: names.ticker,
    title: about.title,
    updated_time: isoMicros(updatedAt, market.index * 43),
    volume_24h_fp: contracts(phase === 'resolved' ? 0 : market.volume),
    volume_fp: contracts(market.volume),
    yes_ask_dollars: dollars(ask?.price ?? 10_000),
    yes_ask_size_fp: contracts(ask?.size ?? 0),
    yes_bid_dollars: dollars(bid?.price ?? 0),
    yes_bid_size_fp: contracts(bid?.size ?? 0),
    yes_sub_title: about.yesSubTitle,
  }
}

/** The venue's name for the prices that a market allows. */
export function priceStructure({ tick }: Proposition): string {
  return tick === 100 ? 'linear_cent' : 'deci_cent'
}

/** An event as /events gives it, without its markets. */
export function eventObject(market: Proposition, names: Names): NativeObject {
  const about = aboutEvent(market)
  return {
    available_on_brokers: true,
    category: about.category,
    collateral_return_type: about.isExclusive ? 'MECNET' : '',
    event_ticker: names.event,
    exchange_index: 0,
    last_updated_ts: NEVER,
    mutually_exclusive: about.isExclusive,
    product_metadata: about.metadata,
    series_ticker: names.series,
    settlement_sources: SOURCES,
    strike_date: isoSeconds(market.closeTime),
    strike_period: '',
    sub_title: about.subTitle,
    title: about.title,
  }
}

/** What /events/TICKER/metadata gives. */
export function eventMetadataObject(tickers: readonly string[]): NativeObject {
  const image = 'https://example.com/event.png'
  return {
    featured_image_url: image,
    image_url: image,
    market_details: tickers.map((ticker) => ({
      color_code: '#00AA88',
      image_url: image,
      market_ticker: ticker,
    })),
    settlement_sources: SOURCES,
  }
}

const SOURCES = [{ name: 'Emulated index', url: 'https://example.com/index' }] as const

/** A series of rounds as /series gives it. */
export function roundSeriesObject({ ticker, name, cadence }: RoundSeries): NativeObject {
  const title = `${name} ${cadence === 'hourly' ? 'price' : 'up or down, 15 minutes'}`
  const facts = { ticker, title, frequency: cadence, category: 'Crypto', tags: ['Crypto', name] }
  return seriesObject(facts, { cadence })
}

/** A series of topics as /series gives it. */
export function topicSeriesObject(series: TopicSeriesFacts): NativeObject {
  return seriesObject(series, {})
}

function seriesObject(
  { ticker, title, frequency, category, tags }: Omit<TopicSeriesFacts, 'code'>,
  metadata: NativeObject,
): NativeObject {
  return {
    additional_prohibitions: [],
    categories: [category],
    category,
    contract_terms_url: `https://example.com/terms/${ticker}.pdf`,
    contract_url: `https://example.com/contracts/${ticker}.pdf`,
    fee_multiplier: 1,
    fee_type: 'quadratic',
    frequency,
    last_updated_ts: NEVER,
    product_metadata: metadata,
    settlement_sources: SOURCES,
    tags,
    ticker,
    title,
  }
}

/** A book as REST gives it: bids of both outcomes, ascending, `depth` best ones (0: all). */
export function orderbookObject({ book }: Proposition, depth: number): NativeObject {
  const { yes, no } = ladders(book)
  const cut = (side: Ladder): Ladder => (depth > 0 ? side.slice(-depth) : side)
  return { no_dollars: cut(no), yes_dollars: cut(yes) }
}

type Ladder = readonly (readonly [string, string])[]

/** The two sides of a book in the venue's terms, worst first. */
export function ladders(book: Proposition['book']): { readonly yes: Ladder; readonly no: Ladder } {
  return {
    yes: book.bids.map(({ price, size }) => [dollars(price), contracts(size)] as const).reverse(),
    no: book.asks
      .map(({ price, size }) => [dollars(10_000 - price), contracts(size)] as const)
      .reverse(),
  }
}

/** A trade as /markets/trades gives it. */
export function tradeObject(trade: Trade): NativeObject {
  return {
    count_fp: contracts(trade.size),
    created_time: isoMicros(trade.at, trade.price),
    is_block_trade: false,
    no_price_dollars: dollars(10_000 - trade.price),
    taker_book_side: trade.taker === 'buy' ? 'bid' : 'ask',
    taker_outcome_side: trade.taker === 'buy' ? 'yes' : 'no',
    taker_side: trade.taker === 'buy' ? 'yes' : 'no',
    ticker: trade.ticker,
    trade_id: trade.id,
    yes_price_dollars: dollars(trade.price),
  }
}
