import { VENUES, type Json, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import {
  compact,
  readArray,
  readId,
  readObject,
  readText,
  type NativeObject,
} from '../capture/fields.ts'
import { optionalId, readFlag, readInstant } from './fields.ts'
import { toOutcomes, winnerOf } from './gamma.ts'
import { readStatus } from './status.ts'
import { parseRoundSlug, roundStart } from './rounds.ts'

/**
 * Parses a market of CLOB, in the long form (`condition_id`, `tokens`) or the compact one of
 * `/clob-markets` (`c`, `t`). The record has no close time, because `end_date_iso` is only a day, and no
 * resolution unless a winner is named.
 */
export function parseClobMarket(market: NativeObject, received: Micros): MarketRecord {
  if (market['condition_id'] === undefined && market['c'] !== undefined) {
    return parseCompactMarket(market)
  }
  const marketId = readId(market['condition_id'], 'condition_id')
  const tokens = readArray(market['tokens'] ?? [], 'tokens').map((token) =>
    readObject(token, 'a token'),
  )
  const winners = tokens.map((token) => readFlag(token['winner'], 'winner') === true)
  const closed = readFlag(market['closed'], 'closed')
  const isFinal = closed === true && winners.filter(Boolean).length === 1
  const flagged = readStatus(
    {
      active: readFlag(market['active'], 'active'),
      closed,
      archived: readFlag(market['archived'], 'archived'),
      acceptingOrders: readFlag(market['accepting_orders'], 'accepting_orders'),
      acceptingSince: readInstant(market['accepting_order_timestamp'], 'accepting_order_timestamp'),
      closeTime: undefined,
      resolution: isFinal ? 'resolved' : undefined,
    },
    received,
  )
  const payouts = isFinal ? winners.map((wins) => (wins ? '1' : '0')) : undefined
  const outcomes = toOutcomes(
    tokens.map((token) => token['outcome']),
    tokens.map((token) => token['token_id']),
  )
  const slug = readText(market['market_slug'], 'market_slug')
  const round = slug === undefined ? undefined : parseRoundSlug(slug)
  const question = readText(market['question'], 'question')
  return compact<MarketRecord>({
    venue: 'venuec',
    marketId,
    title: question,
    status: flagged.status,
    statusNative: flagged.statusNative,
    openTime: round === undefined ? undefined : roundStart(round),
    resolution: payouts === undefined ? undefined : { state: 'final', payouts },
    winningOutcome: winnerOf(outcomes, payouts),
    outcomes,
    units: VENUES.venuec.units,
    conditionId: marketId,
    questionId: optionalId(market['question_id'], 'question_id'),
    question,
    slug,
    asset: round?.asset,
    window: round?.window,
    native: { clob: market as Json },
  })
}

function parseCompactMarket(market: NativeObject): MarketRecord {
  const marketId = readId(market['c'], 'c')
  const tokens = readArray(market['t'] ?? [], 't').map((token) => readObject(token, 'a token'))
  return {
    venue: 'venuec',
    marketId,
    outcomes: toOutcomes(
      tokens.map((token) => token['o']),
      tokens.map((token) => token['t']),
    ),
    units: VENUES.venuec.units,
    conditionId: marketId,
    native: { clob_info: market as Json },
  }
}
