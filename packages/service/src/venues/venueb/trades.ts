import { PriorbookError, type Trade } from '@priorbook/sdk/domain'
import type { Arrival, MessageProblem, Normalized } from '../capture/contract.ts'
import { isNoTime, readArray, readObject, readTime } from '../capture/fields.ts'
import { parsePrint } from './native.ts'
import { toTrade } from './normalize.ts'

/**
 * Turns an answer of GET /markets/trades into trades, oldest first (the venue sends the newest
 * first). It has no seq: the venue's `trade_id` tells which of them the socket brought too.
 */
export function normalizeTradesAnswer(answer: unknown, at: Arrival): Normalized {
  const list = readArray(readObject(answer, 'the trades answer')['trades'], 'trades')
  const events: Trade[] = []
  const problems: MessageProblem[] = []
  list.forEach((value, index) => {
    const where = `trades[${index}]`
    try {
      events.push(parseTrade(value, where, at))
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      problems.push({ where, error })
    }
  })
  events.sort((a, b) => (a.source ?? 0) - (b.source ?? 0))
  return { events, problems }
}

function parseTrade(value: unknown, where: string, at: Arrival): Trade {
  const trade = readObject(value, where)
  const created = trade['created_time']
  const print = parsePrint(trade, trade['ticker'] ?? trade['market_ticker'])
  const time = isNoTime(created) ? undefined : readTime(created, 'created_time')
  return toTrade({ type: 'trade', sid: undefined, seq: undefined, ...print, time }, at)
}
