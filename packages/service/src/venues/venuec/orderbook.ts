import { PriorbookError, type BookSnapshot } from '@priorbook/sdk/domain'
import type { Arrival, CaptureRequest, MessageProblem, Normalized } from '../capture/contract.ts'
import { readArray, readObject, wrong } from '../capture/fields.ts'
import { readInstrument, readMillis } from './fields.ts'
import { parseLadders } from './levels.ts'

/**
 * Turns an answer of GET /book into a full book. The answer names its market and token; where it does
 * not, they are those that were asked for, and where it names others it is refused.
 */
export function normalizeBookAnswer(
  request: CaptureRequest,
  answer: unknown,
  at: Arrival,
): BookSnapshot {
  const object = readObject(answer, 'the order book')
  const asset = object['asset_id'] ?? request['token_id']
  const market = object['market'] ?? request['condition_id']
  if (request['token_id'] !== undefined && asset !== request['token_id']) {
    throw wrong('asset_id', asset, 'the token that was asked for')
  }
  if (request['condition_id'] !== undefined && market !== request['condition_id']) {
    throw wrong('market', market, 'the market that was asked for')
  }
  const instrument = readInstrument(market, asset)
  const source = readMillis(object['timestamp'], 'timestamp')
  const { bids, asks } = parseLadders(object)
  const { received, journal } = at
  const book = { kind: 'snapshot' as const, instrument, bids, asks, received, journal }
  return source === undefined ? book : { ...book, source }
}

/** Turns an answer of POST /books, a list of books, into full ones; a malformed one is a problem. */
export function normalizeBooksAnswer(answer: unknown, at: Arrival): Normalized {
  const events: BookSnapshot[] = []
  const problems: MessageProblem[] = []
  readArray(answer, 'the order books').forEach((book, index) => {
    try {
      events.push(normalizeBookAnswer({ kind: 'clob_books' }, book, at))
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      problems.push({ where: `[${index}]`, error })
    }
  })
  return { events, problems }
}
