import {
  PriorbookError,
  type Instrument,
  type Micros,
  type PriceTicks,
  type SizeUnits,
} from '@priorbook/sdk/domain'
import {
  isNoTime,
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
import { parseBook, type NativeBook } from './levels.ts'

/** The whole book of one market; venue B gives it no time. */
export type NativeSnapshot = NativeBook & {
  readonly type: 'orderbook_snapshot'
  readonly sid: number
  readonly seq: number
  readonly instrument: Instrument
}

/** A signed change of one level, its price in the terms of its own side. */
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
  readonly isBlockTrade: boolean | undefined
  readonly time: Micros | undefined
}

/**
 * A message that is known and says nothing of a book.
 * `ok`, `unsubscribed` and errors of a subscription count in its `seq`: whoever looks for lost
 * messages must count them too.
 */
export type NativeControl = {
  readonly type: 'control'
  readonly name: string
  readonly sid: number | undefined
  readonly seq: number | undefined
}

/** Every message of venue B's socket. */
export type NativeMessage = NativeSnapshot | NativeDelta | NativeTrade | NativeControl

// Types of the AsyncAPI document of autumn 2026, and older ones that its changelog names.
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

/** Reads one message of the socket, already parsed from JSON; throws PriorbookError alone. */
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

/** Reads what a trade says in the same names on the socket and on REST; both clocks differ. */
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
    isBlockTrade,
  }
}

function parseControl(message: NativeObject): NativeControl {
  const name = message['type']
  if (typeof name !== 'string') throw wrong('type', name, 'text')
  if (!CONTROL_TYPES.has(name)) {
    throw new PriorbookError('unknown_event', `venue B has no message type ${show(name)}`)
  }
  // A control message is never an error, whatever it holds: numbers that are none are left out.
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

// `ts` has microseconds and is deprecated; `ts_ms` has not and is what will stay. Both are optional.
function deltaTime(msg: NativeObject): Micros | undefined {
  const ts = msg['ts']
  if (!isNoTime(ts)) return readTime(ts, 'ts')
  const millis = msg['ts_ms']
  return isNoTime(millis) ? undefined : readUnixTime(millis, 'ts_ms', 1000)
}

// Here `ts` is whole seconds, all that old messages have.
function tradeTime(msg: NativeObject): Micros | undefined {
  const millis = msg['ts_ms']
  if (!isNoTime(millis)) return readUnixTime(millis, 'ts_ms', 1000)
  const seconds = msg['ts']
  return isNoTime(seconds) ? undefined : readUnixTime(seconds, 'ts', 1)
}

// The three names say one thing: `bid` is documented as equivalent to outcome `yes`, `ask` to `no`.
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
