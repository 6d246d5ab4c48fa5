import type { BookChange, BookSnapshot, TapeEvent, Trade } from '@priorbook/sdk/domain'
import type { Arrival } from '../capture/contract.ts'
import { complement, toAsks } from './levels.ts'
import { parseMessage, type NativeDelta, type NativeSnapshot, type NativeTrade } from './native.ts'

/**
 * Counts changes of what venue B's normalizer says of the same bytes; stored with every chunk.
 * 2: lifecycle messages are market revisions.
 */
export const VENUEB_NORMALIZER_VERSION = 2

const NOTHING: readonly TapeEvent[] = []

/**
 * Turns one message of venue B's socket into what it says of books and trades.
 * Bids are the yes ladder and asks the complement of the no ladder, in the order sent. Messages that
 * say nothing of a book give an empty list; whatever is malformed throws PriorbookError.
 */
export function normalizeVenueB(event: unknown, at: Arrival): readonly TapeEvent[] {
  const message = parseMessage(event)
  switch (message.type) {
    case 'orderbook_delta':
      return [toChange(message, at)]
    case 'orderbook_snapshot':
      return [toSnapshot(message, at)]
    case 'trade':
      return [toTrade(message, at)]
    case 'control':
      break
  }
  return NOTHING
}

function toChange(message: NativeDelta, at: Arrival): BookChange {
  const { price, delta: size, time } = message
  const change =
    message.side === 'yes'
      ? { price, size, side: 'bid' as const }
      : { price: complement(price), size, side: 'ask' as const }
  // Two literals, not one and an assignment: this is the hot path, and each is one allocation.
  if (time === undefined) {
    return {
      kind: 'change',
      instrument: message.instrument,
      changes: [change],
      signed: true,
      received: at.received,
      venueSeq: message.seq,
      channel: message.sid,
      journal: at.journal,
    }
  }
  return {
    kind: 'change',
    instrument: message.instrument,
    changes: [change],
    signed: true,
    received: at.received,
    source: time,
    venueSeq: message.seq,
    channel: message.sid,
    journal: at.journal,
  }
}

function toSnapshot(message: NativeSnapshot, at: Arrival): BookSnapshot {
  return {
    kind: 'snapshot',
    instrument: message.instrument,
    bids: message.yes,
    asks: toAsks(message.no),
    received: at.received,
    venueSeq: message.seq,
    channel: message.sid,
    journal: at.journal,
  }
}

/** A trade of the socket or of REST in the words of Priorbook. */
export function toTrade(message: NativeTrade, at: Arrival): Trade {
  const trade: { -readonly [Key in keyof Trade]: Trade[Key] } = {
    kind: 'trade',
    instrument: message.instrument,
    tradeId: message.tradeId,
    price: message.yesPrice,
    size: message.count,
    received: at.received,
    journal: at.journal,
  }
  if (message.time !== undefined) trade.source = message.time
  if (message.seq !== undefined) trade.venueSeq = message.seq
  if (message.sid !== undefined) trade.channel = message.sid
  if (message.takerSide !== undefined) trade.taker = message.takerSide === 'yes' ? 'buy' : 'sell'
  return trade
}
