import { PriorbookError, toBackfillKey, type Json, type Trade } from '@priorbook/sdk/domain'
import type { CaptureRequest, MessageProblem, Normalized } from './contract.ts'

/** The span that a request of a history says its answer shows completely. */
export function spanOf(
  request: CaptureRequest,
  what: string,
): { readonly since: number; readonly until: number } {
  const since = Number(request['since'])
  const until = Number(request['until'])
  if (since < until) return { since, until }
  throw new PriorbookError('invalid_message', `the request does not say which ${what} it is about`)
}

/**
 * The trades of an answer as rows of a venue's history: those of the span that the request says is complete,
 * under keys of their own, in the order of the venue's clock. Both times change places, because rows are found
 * by the time of the venue and not by when they were fetched.
 */
export function asPastTrades(
  request: CaptureRequest,
  market: Json | undefined,
  trades: readonly Trade[],
  problems: readonly MessageProblem[],
): Normalized {
  const { since, until } = spanOf(request, 'trades')
  const events: Trade[] = []
  const wrong: MessageProblem[] = []
  const refuse = (where: string, why: string): void => {
    wrong.push({ where, error: new PriorbookError('invalid_message', why) })
  }
  for (const trade of trades) {
    const { source, received, instrument } = trade
    if (instrument.market !== market) {
      refuse(trade.tradeId, 'a past trade is of another market')
      continue
    }
    if (source === undefined) {
      refuse(trade.tradeId, 'a past trade has no time')
      continue
    }
    if (source < since || source >= until) continue
    const key = toBackfillKey(instrument.key)
    events.push({
      ...trade,
      instrument: { ...instrument, key },
      received: source,
      source: received,
    })
  }
  events.sort((a, b) => a.received - b.received)
  return { events, problems: [...problems, ...wrong] }
}
