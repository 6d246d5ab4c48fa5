import type { Book, Level, Proposition, WorldEvent } from '../../core/upstream.ts'
import { aboutEvent, aboutMarket } from './about.ts'
import type { Names } from './names.ts'
import { ladders, priceStructure } from './objects.ts'
import type { Trade } from './trades.ts'
import { contracts, dollars, isoMicros, isoSeconds, type NativeObject } from './values.ts'

/** The number of a subscription and of a message within it. */
export type Place = { readonly sid: number; readonly seq: number }

type LevelChange = Extract<WorldEvent, { kind: 'book' }>['levels'][number]

/** The whole book; a side without levels has no key. An answer to `get_snapshot` carries its id. */
export function snapshotFrame(
  { sid, seq }: Place,
  names: Names,
  book: Book,
  options: { readonly yesPrice: boolean; readonly id?: number },
): string {
  const { yes, no } = ladders(book)
  const shown = options.yesPrice
    ? book.asks.map(({ price, size }) => [dollars(price), contracts(size)]).reverse()
    : no
  return JSON.stringify({
    type: 'orderbook_snapshot',
    sid,
    seq,
    ...(options.id === undefined ? {} : { id: options.id }),
    msg: {
      market_ticker: names.ticker,
      market_id: names.id,
      ...(yes.length > 0 ? { yes_dollars_fp: yes } : {}),
      ...(no.length > 0 ? { no_dollars_fp: shown } : {}),
    },
  })
}

/** The part of a delta after its sid and seq, identical for all subscribers. */
export function deltaText(
  names: Names,
  change: LevelChange,
  at: number,
  yesPrice: boolean,
): string {
  const yes = change.side === 'bid'
  const price = dollars(yes || yesPrice ? change.price : 10_000 - change.price)
  return (
    `,"msg":{"market_ticker":"${names.ticker}","market_id":"${names.id}",` +
    `"price_dollars":"${price}","delta_fp":"${contracts(change.delta)}",` +
    `"side":"${yes ? 'yes' : 'no'}","ts":"${isoMicros(at, change.price)}","ts_ms":${at}}}`
  )
}

/** The head of a delta: its sid and seq for one subscriber. */
export function deltaHead({ sid, seq }: Place): string {
  return `{"type":"orderbook_delta","sid":${sid},"seq":${seq}`
}

/** The book before a change, for events of several levels that are sent one by one. */
export function undo(book: Book, { side, price, size, delta }: LevelChange): Book {
  const before = size - delta
  const levels = side === 'bid' ? book.bids : book.asks
  const others = levels.filter((level) => level.price !== price)
  const better = (level: Level): boolean =>
    side === 'bid' ? level.price > price : level.price < price
  const at = others.findIndex((level) => !better(level))
  if (before > 0) others.splice(at < 0 ? others.length : at, 0, { price, size: before })
  return side === 'bid' ? { bids: others, asks: book.asks } : { bids: book.bids, asks: others }
}

/** One trade. */
export function tradeFrame({ sid, seq }: Place, trade: Trade): string {
  const taker = trade.taker === 'buy' ? 'yes' : 'no'
  return JSON.stringify({
    type: 'trade',
    sid,
    seq,
    msg: {
      trade_id: trade.id,
      market_ticker: trade.ticker,
      yes_price_dollars: dollars(trade.price),
      no_price_dollars: dollars(10_000 - trade.price),
      count_fp: contracts(trade.size),
      taker_side: taker,
      taker_outcome_side: taker,
      taker_book_side: taker === 'yes' ? 'bid' : 'ask',
      ts: Math.floor(trade.at / 1000),
      ts_ms: trade.at,
    },
  })
}

/** The top of a book and the last trade; this channel has no sequence numbers. */
export function tickerFrame(
  sid: number,
  market: Proposition,
  names: Names,
  lastSize: number,
  at: number,
): string {
  const bid = market.book.bids[0]
  const ask = market.book.asks[0]
  const interest = Math.floor(market.volume * 0.48)
  const price = market.lastTrade ?? 0
  const value = (size: number): number => Math.floor((size / 1_000_000) * (price / 10_000))
  return JSON.stringify({
    type: 'ticker',
    sid,
    msg: {
      market_id: names.id,
      market_ticker: names.ticker,
      price_dollars: dollars(price),
      yes_bid_dollars: dollars(bid?.price ?? 0),
      yes_ask_dollars: dollars(ask?.price ?? 10_000),
      volume_fp: contracts(market.volume),
      open_interest_fp: contracts(interest),
      dollar_volume: value(market.volume),
      dollar_open_interest: value(interest),
      yes_bid_size_fp: contracts(bid?.size ?? 0),
      yes_ask_size_fp: contracts(ask?.size ?? 0),
      last_trade_size_fp: contracts(lastSize),
      ts: Math.floor(at / 1000),
      ts_ms: at,
      time: isoSeconds(at),
    },
  })
}

/** The lifecycle message for a market that entered its phase; undefined: none is sent. */
export function lifecycleMessage(
  market: Proposition,
  names: Names,
  before: Proposition['phase'] | undefined,
  at: number,
): NativeObject | undefined {
  const head = { market_ticker: names.ticker, exchange_index: 0 }
  const now = Math.floor(at / 1000)
  const value = market.outcome?.winner === 'first' ? '1.0000' : '0.0000'
  switch (market.phase) {
    case 'listed':
      return { ...head, ...createdFields(market, names) }
    case 'open':
      if (before === 'paused') return { ...head, event_type: 'activated', is_deactivated: false }
      if (market.topic !== undefined || market.strike !== undefined) return undefined
      return {
        event_type: 'metadata_updated',
        market_ticker: names.ticker,
        strike_type: 'greater_or_equal',
        floor_strike: Number(market.startPrice),
        yes_sub_title: `Target Price: $${market.startPrice}`,
      }
    case 'paused':
      return { ...head, event_type: 'deactivated', is_deactivated: true }
    case 'determined':
      return {
        ...head,
        event_type: 'determined',
        determination_ts: now,
        result: market.outcome?.winner === 'first' ? 'yes' : 'no',
        settlement_value: value,
      }
    case 'resolved':
      return { ...head, event_type: 'settled', settled_ts: now }
    case 'closed':
    case 'disputed':
      // Implicit at close_time; a dispute shows on REST alone.
      return undefined
  }
}

function createdFields(market: Proposition, names: Names): NativeObject {
  const about = aboutMarket(market)
  const isRound = market.topic === undefined
  return {
    open_ts: Math.floor(market.openTime / 1000),
    close_ts: Math.floor(market.closeTime / 1000),
    additional_metadata: {
      name: names.ticker,
      title: isRound ? aboutEvent(market).shortTitle : about.title,
      yes_sub_title: isRound ? 'Target Price: TBD' : about.yesSubTitle,
      no_sub_title: about.noSubTitle,
      rules_primary: '',
      rules_secondary: '',
      can_close_early: true,
      event_ticker: names.event,
      expected_expiration_ts: Math.floor(market.closeTime / 1000) + 300,
      strike_type: about.strikeType,
      ...(about.floor === undefined ? {} : { floor_strike: about.floor }),
      ...(about.cap === undefined ? {} : { cap_strike: about.cap }),
    },
    event_type: 'created',
    price_level_structure: priceStructure(market),
  }
}

/** The lifecycle message for a market whose close was moved. */
export function movedMessage(market: Proposition, names: Names): NativeObject {
  return {
    market_ticker: names.ticker,
    exchange_index: 0,
    event_type: 'close_date_updated',
    close_ts: Math.floor(market.closeTime / 1000),
  }
}

/** The creation of an event, sent on the same channel. */
export function eventMessage(market: Proposition, names: Names): NativeObject {
  return {
    event_ticker: names.event,
    exchange_index: 0,
    title: aboutEvent(market).shortTitle,
    subtitle: isoSeconds(market.closeTime),
    collateral_return_type: aboutEvent(market).isExclusive ? 'MECNET' : '',
    series_ticker: names.series,
  }
}
