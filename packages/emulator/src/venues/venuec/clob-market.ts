import type { Payload } from '../../core/upstream.ts'
import type { Condition } from './conditions.ts'
import { isClosed } from './gamma-market.ts'
import { pricesOf, toNumber, winnerClaim, winnerOf } from './market-state.ts'
import { descriptionOf, imageOf, isoTime, OUTCOMES, questionOf } from './texts.ts'

/** A market as the order books' own catalogue shows it. */
export function toClobMarket({ proposition: of, ...names }: Condition): object {
  const closed = isClosed(of.phase)
  const prices = pricesOf(of)
  const winner = winnerOf(of)
  const image = imageOf(of.asset)
  return {
    enable_order_book: !closed,
    active: true,
    closed,
    archived: false,
    accepting_orders: of.phase === 'open',
    accepting_order_timestamp: of.phase === 'listed' ? null : isoTime(of.openTime),
    minimum_order_size: 5,
    minimum_tick_size: toNumber(of.tick, 4),
    condition_id: names.conditionId,
    question_id: names.questionId,
    question: questionOf(of),
    description: descriptionOf(of),
    market_slug: names.slug,
    end_date_iso: isoTime(of.closeTime),
    game_start_time: isoTime(of.openTime),
    seconds_delay: 0,
    fpmm: '',
    maker_base_fee: 1000,
    taker_base_fee: 1000,
    notifications_enabled: true,
    neg_risk: false,
    neg_risk_market_id: '',
    neg_risk_request_id: '',
    icon: image,
    image,
    rewards: { rates: null, min_size: 50, max_spread: 4.5 },
    is_50_50_outcome: false,
    tokens: ([0, 1] as const).map((index) => ({
      token_id: names.tokens[index],
      outcome: OUTCOMES[index],
      price: toNumber(prices[index], 4),
      winner: winner === index,
    })),
    tags: ['Crypto', 'Up or Down', of.window.toUpperCase()],
  }
}

/** The same in the short form with one-letter names. */
export function toCompactMarket({ proposition: of, conditionId, tokens }: Condition): object {
  return {
    r: { mi: 50, ma: 4.5, moas: 30 },
    t: tokens.map((token, index) => ({ t: token, o: OUTCOMES[index] })),
    c: conditionId,
    mos: 5,
    mts: toNumber(of.tick, 4),
    mbf: 1000,
    tbf: 1000,
    ao: of.phase === 'open',
    ...(of.phase === 'listed' ? {} : { aot: isoTime(of.openTime) }),
    itode: true,
    fd: { r: 0.07, e: 1, to: true },
  }
}

/** The truth-log payload of the long form, which shows neither proposals nor disputes. */
export function clobClaimOf({ proposition: of, conditionId }: Condition): Payload {
  const winner = winnerOf(of)
  const phase = isClosed(of.phase) && winner === undefined ? 'closed' : of.phase
  return { kind: 'market', key: conditionId, phase, ...winnerClaim(winner) }
}
