import type { Payload, Proposition } from '../../core/upstream.ts'
import type { Condition } from './conditions.ts'
import { baseFeeOf, feesOf } from './fees.ts'
import { isClosed, pricesOf, toNumber, winnerClaim, winnerOf } from './memory.ts'
import { descriptionOf, imageOf, isoTime, outcomesOf, questionOf } from './texts.ts'

/** A market as the order books' own catalogue shows it. */
export function toClobMarket(condition: Condition): object {
  const { proposition: of, event, ...names } = condition
  const closed = isClosed(of.phase)
  const image = imageOf(of)
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
    game_start_time: hasStart(of) ? isoTime(of.openTime) : null,
    seconds_delay: 0,
    fpmm: '',
    maker_base_fee: baseFeeOf(of),
    taker_base_fee: baseFeeOf(of),
    notifications_enabled: true,
    neg_risk: event.negRiskId !== undefined,
    neg_risk_market_id: event.negRiskId ?? '',
    neg_risk_request_id: event.negRiskId === undefined ? '' : names.questionId,
    icon: image,
    image,
    rewards: REWARDS,
    is_50_50_outcome: false,
    tokens: tokensOf(condition),
    tags:
      of.topic === undefined
        ? ['Crypto', 'Up or Down', of.window.toUpperCase()]
        : [of.topic.category, ...of.topic.tags],
  }
}

function hasStart({ topic }: Proposition): boolean {
  return topic === undefined || topic.kind === 'match'
}

const REWARDS = { rates: null, min_size: 50, max_spread: 4.5 } as const

function tokensOf({ proposition: of, tokens }: Condition): object[] {
  const prices = pricesOf(of)
  const winner = winnerOf(of)
  return ([0, 1] as const).map((index) => ({
    token_id: tokens[index],
    outcome: outcomesOf(of)[index],
    price: toNumber(prices[index], 4),
    winner: winner === index,
  }))
}

/** The same without words. */
export function toSimplifiedMarket(condition: Condition): object {
  const { phase } = condition.proposition
  return {
    condition_id: condition.conditionId,
    rewards: REWARDS,
    tokens: tokensOf(condition),
    active: true,
    closed: isClosed(phase),
    archived: false,
    accepting_orders: phase === 'open',
  }
}

/** The same in the short form with one-letter names. */
export function toCompactMarket({
  proposition: of,
  conditionId,
  tokens,
  event,
}: Condition): object {
  const fees = feesOf(of)
  return {
    r: { mi: 50, ma: 4.5, moas: 30 },
    t: tokens.map((token, index) => ({ t: token, o: outcomesOf(of)[index] })),
    c: conditionId,
    mos: 5,
    mts: toNumber(of.tick, 4),
    mbf: baseFeeOf(of),
    tbf: baseFeeOf(of),
    ...(event.negRiskId === undefined ? {} : { nr: true }),
    ao: of.phase === 'open',
    ...(of.phase === 'listed' ? {} : { aot: isoTime(of.openTime) }),
    itode: true,
    ...(fees === undefined ? {} : { fd: { r: fees.rate, e: 1, to: true } }),
  }
}

/** The truth-log payload of the long form, which shows neither proposals nor disputes. */
export function clobClaimOf({ proposition: of, conditionId }: Condition): Payload {
  const winner = winnerOf(of)
  const phase = isClosed(of.phase) && winner === undefined ? 'closed' : of.phase
  return { kind: 'market', key: conditionId, phase, ...winnerClaim(winner) }
}
