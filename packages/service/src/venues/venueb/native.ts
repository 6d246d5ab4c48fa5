import {
  PriorbookError,
  readTradeNative,
  type Instrument,
  type Level,
  type Micros,
  type PriceTicks,
  type SizeUnits,
  type TradeNative,
} from '@priorbook/sdk/domain'
import {
  isNoTime,
  readArray,
  readCounter,
  readId,
  readObject,
  readTime,
  readUnixTime,
  show,
  wrong,
  type NativeObject,
} from '../capture/fields.ts'
import { ONE_DOLLAR, readCents, readContracts, readDollars, readInstrument } from './fields.ts'

/** Both ladders of a market as venue B sends them: bids only, each in the prices of its own outcome. */
export type NativeBook = { readonly yes: readonly Level[]; readonly no: readonly Level[] }

/** A full book of one market; venue B sends no time with it. */
export type NativeSnapshot = NativeBook & {
  readonly type: 'orderbook_snapshot'
  readonly sid: number
  readonly seq: number
  readonly instrument: Instrument
}

/** A signed change of one level; the price is that of its own outcome. */
export type NativeDelta = {
  readonly type: 'orderbook_delta'
  readonly sid: number
  readonly seq: number
  readonly instrument: Instrument
  readonly side: 'yes' | 'no'
  readonly price: PriceTicks
  readonly delta: SizeUnits
  readonly time: Micros | undefined
}

/** One public trade. Old messages carry no seq. */
export type NativeTrade = {
  readonly type: 'trade'
  readonly sid: number | undefined
  readonly seq: number | undefined
  readonly instrument: Instrument
  readonly tradeId: string
  readonly yesPrice: PriceTicks
  readonly count: SizeUnits
  readonly takerSide: 'yes' | 'no' | undefined
  /** What the message said, unchanged. */
  readonly said: TradeNative | undefined
  readonly time: Micros | undefined
}

/**
 * A known message without book data. `ok`, `unsubscribed` and errors of a subscription also increment
 * its `seq`, so loss detection must count them too.
 */
type NativeControl = {
  readonly type: 'control'
  readonly name: string
  readonly sid: number | undefined
  readonly seq: number | undefined
}

/** Every message of venue B's socket. */
export type NativeMessage = NativeSnapshot | NativeDelta | NativeTrade | NativeControl

// Message types of the AsyncAPI document of autumn 2026, and older ones from its changelog.
const CONTROL_TYPES: ReadonlySet<string> = new Set([
  // answers to commands
  'subscribed',
  'unsubscribed',
  'ok',
  'error',
  'list_subscriptions',
  // public channels without a book
  'ticker',
  'ticker_v2',
  'market_lifecycle',
  'market_lifecycle_v2',
  'event_lifecycle',
  'event_fee_update',
  'multivariate_market_lifecycle',
  'multivariate_lookup',
  'cfbenchmarks_value',
  'cfbenchmarks_value_indexlist',
  'cfbenchmarks_value_5hz',
  'cfbenchmarks_value_5hz_indexlist',
  'pyth_value',
  'pyth_value_underlying_list',
  // private channels, in case a recording was made with them
  'fill',
  'market_position',
  'user_order',
  'order_group_updates',
  'rfq_created',
  'rfq_deleted',
  'quote_created',
  'quote_accepted',
  'quote_executed',
])

/** Parses one socket message, already decoded from JSON; throws nothing but PriorbookError. */
export function parseMessage(value: unknown): NativeMessage {
  const message = readObject(value, 'the message')
  switch (message['type']) {
    case 'orderbook_delta':
      return inContext(message, parseDelta)
    case 'orderbook_snapshot':
      return inContext(message, parseSnapshot)
    case 'trade':
      return inContext(message, parseTrade)
    default:
      return parseControl(message)
  }
}

function parseDelta(message: NativeObject, msg: NativeObject): NativeDelta {
  const side = msg['side']
  if (side !== 'yes' && side !== 'no') throw wrong('side', side, 'yes or no')
  return {
    type: 'orderbook_delta',
    sid: readCounter(message['sid'], 'sid'),
    seq: readCounter(message['seq'], 'seq'),
    instrument: readInstrument(msg['market_ticker']),
    side,
    price: readPrice(msg, 'price_dollars', 'price'),
    delta: readEither(msg, 'delta_fp', 'delta'),
    time: deltaTime(msg),
  }
}

function parseSnapshot(message: NativeObject, msg: NativeObject): NativeSnapshot {
  const book = parseBook(msg)
  return {
    type: 'orderbook_snapshot',
    sid: readCounter(message['sid'], 'sid'),
    seq: readCounter(message['seq'], 'seq'),
    instrument: readInstrument(msg['market_ticker']),
    yes: book.yes,
    no: book.no,
  }
}

function parseTrade(message: NativeObject, msg: NativeObject): NativeTrade {
  return {
    type: 'trade',
    sid: optionalCounter(message['sid'], 'sid'),
    seq: optionalCounter(message['seq'], 'seq'),
    ...parsePrint(msg, msg['market_ticker']),
    time: tradeTime(msg),
  }
}

const SAID = [
  'taker_side',
  'taker_outcome_side',
  'taker_book_side',
  'is_block_trade',
  'yes_price_dollars',
  'no_price_dollars',
  'count_fp',
  'yes_price',
  'no_price',
  'count',
] as const

/** Parses the fields of a trade that the socket and REST share; only their time fields differ. */
export function parsePrint(
  msg: NativeObject,
  ticker: unknown,
): Omit<NativeTrade, 'type' | 'sid' | 'seq' | 'time'> {
  const yesPrice = readPrice(msg, 'yes_price_dollars', 'yes_price')
  const noPrice = readPrice(msg, 'no_price_dollars', 'no_price')
  if (yesPrice + noPrice !== ONE_DOLLAR) {
    throw new PriorbookError('invalid_message', 'the yes and the no price do not add up to 1')
  }
  const count = readEither(msg, 'count_fp', 'count')
  if (count <= 0) {
    throw new PriorbookError('invalid_message', 'the count of a trade is not above zero')
  }
  const isBlockTrade = msg['is_block_trade'] ?? undefined
  if (isBlockTrade !== undefined && typeof isBlockTrade !== 'boolean') {
    throw wrong('is_block_trade', isBlockTrade, 'true or false')
  }
  return {
    instrument: readInstrument(ticker),
    tradeId: readId(msg['trade_id'], 'trade_id'),
    yesPrice,
    count,
    takerSide: takerSide(msg),
    said: readTradeNative(msg, SAID),
  }
}

function parseControl(message: NativeObject): NativeControl {
  const name = message['type']
  if (typeof name !== 'string') throw wrong('type', name, 'text')
  if (!CONTROL_TYPES.has(name)) {
    throw new PriorbookError('unknown_event', `venue B has no message type ${show(name)}`)
  }
  // A control message is always valid: malformed numbers are left out.
  const { sid, seq } = message
  return { type: 'control', name, sid: counterOrNothing(sid), seq: counterOrNothing(seq) }
}

function inContext<T>(
  message: NativeObject,
  parse: (message: NativeObject, msg: NativeObject) => T,
): T {
  const msg = readObject(message['msg'], 'msg')
  try {
    return parse(message, msg)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    const where = `${String(message['type'])} of ${show(msg['market_ticker'])}`
    throw new PriorbookError(error.code, `${where}: ${error.message}`, { cause: error })
  }
}

function readPrice(msg: NativeObject, dollars: string, cents: string): PriceTicks {
  const value = msg[dollars]
  if (value !== undefined && value !== null) return readDollars(value, dollars)
  const legacy = msg[cents]
  if (legacy !== undefined && legacy !== null) return readCents(legacy, cents)
  throw wrong(dollars, value, 'a price')
}

function readEither(msg: NativeObject, name: string, legacy: string): SizeUnits {
  const value = msg[name]
  if (value !== undefined && value !== null) return readContracts(value, name)
  return readContracts(msg[legacy], name)
}

// `ts` has microseconds but is deprecated in favour of `ts_ms`. Both are optional.
function deltaTime(msg: NativeObject): Micros | undefined {
  const ts = msg['ts']
  if (!isNoTime(ts)) return readTime(ts, 'ts')
  const millis = msg['ts_ms']
  return isNoTime(millis) ? undefined : readUnixTime(millis, 'ts_ms', 1000)
}

// In trades `ts` is whole seconds; old messages have only that.
function tradeTime(msg: NativeObject): Micros | undefined {
  const millis = msg['ts_ms']
  if (!isNoTime(millis)) return readUnixTime(millis, 'ts_ms', 1000)
  const seconds = msg['ts']
  return isNoTime(seconds) ? undefined : readUnixTime(seconds, 'ts', 1)
}

// Three fields with one meaning: `bid` is documented as equivalent to outcome `yes`, `ask` to `no`.
function takerSide(msg: NativeObject): 'yes' | 'no' | undefined {
  const outcome = msg['taker_outcome_side'] ?? msg['taker_side'] ?? undefined
  if (outcome === 'yes' || outcome === 'no') return outcome
  if (outcome !== undefined && outcome !== '') throw wrong('the taker side', outcome, 'yes or no')
  const book = msg['taker_book_side'] ?? undefined
  if (book === 'bid') return 'yes'
  if (book === 'ask') return 'no'
  if (book !== undefined && book !== '') throw wrong('taker_book_side', book, 'bid or ask')
  return undefined
}

function optionalCounter(value: unknown, name: string): number | undefined {
  return value === undefined || value === null ? undefined : readCounter(value, name)
}

function counterOrNothing(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

// Names of a side, newest first. `_fp` is the fixed-point form of the socket, `_dollars` that of
// REST since 2025; the bare names are whole cents, with an underscore on the demo exchange of 2024.
const YES = { dollars: ['yes_dollars_fp', 'yes_dollars'], cents: ['yes', '_yes'] } as const
const NO = { dollars: ['no_dollars_fp', 'no_dollars'], cents: ['no', '_no'] } as const

/** Parses both ladders; a side that is missing, null or [] is empty. Levels keep the order sent. */
export function parseBook(book: NativeObject): NativeBook {
  return { yes: parseSide(book, YES), no: parseSide(book, NO) }
}

/** Converts bids for no to asks for yes: a bid for no at p is an ask for yes at 1 − p. */
export function toAsks(no: readonly Level[]): Level[] {
  return no.map((level) => ({ price: complement(level.price), size: level.size }))
}

/** Converts a no price to its yes price. The row checks verify the bounds. */
export function complement(price: Level['price']): Level['price'] {
  return (ONE_DOLLAR - price) as Level['price']
}

const EMPTY: readonly Level[] = []

function parseSide(book: NativeObject, names: typeof YES | typeof NO): readonly Level[] {
  for (const name of names.dollars) {
    if (book[name] !== undefined && book[name] !== null) {
      return parseLevels(book[name], name, readDollars)
    }
  }
  for (const name of names.cents) {
    if (book[name] !== undefined && book[name] !== null) {
      return parseLevels(book[name], name, readCents)
    }
  }
  return EMPTY
}

function parseLevels(value: unknown, name: string, readPrice: typeof readDollars): Level[] {
  const levels: Level[] = []
  for (const pair of readArray(value, name)) {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw new PriorbookError('invalid_message', `${name} holds a level that is not [price, size]`)
    }
    const price = readPrice(pair[0], `a price of ${name}`)
    const size = readContracts(pair[1], `a size of ${name}`)
    if (size <= 0) {
      throw new PriorbookError(
        'invalid_message',
        `${name} holds size ${show(pair[1])} at ${show(pair[0])}; a resting size is above zero`,
      )
    }
    levels.push({ price, size })
  }
  return levels
}
