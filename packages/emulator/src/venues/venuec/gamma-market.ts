import { printScaled } from '@priorbook/sdk/domain'
import type { Phase, Proposition } from '../../core/upstream.ts'
import type { Condition } from './conditions.ts'
import { baseFeeOf, feesOf } from './fees.ts'
import { competitiveOf, restingOf } from './gamma-event.ts'
import { isClosed, pricesOf, toNumber, type Memory } from './memory.ts'
import {
  blankTime,
  descriptionOf,
  imageOf,
  isoDate,
  isoTime,
  outcomesOf,
  questionOf,
  sourceOf,
} from './texts.ts'
import { priceText } from './token-book.ts'

/** A market as Gamma shows it, up to its events: lists are JSON text, amounts are text and number. */
export function fieldsBeforeEvents(condition: Condition, memory: Memory): object {
  return {
    ...descriptionFields(condition),
    ...stateFields(condition, memory),
    ...volumeFields(condition),
    acceptingOrders: condition.proposition.phase === 'open',
    negRisk: condition.event.negRiskId !== undefined,
    ...negRiskIds(condition),
  }
}

/** The fields of a market after its events, which a market inside its event does not have. */
export function fieldsAfterEvents(condition: Condition, memory: Memory): object {
  const { proposition: of } = condition
  const { phase } = of
  const opened = memory.enteredAt(of, 'open') ?? (phase === 'listed' ? undefined : of.openTime)
  return {
    ready: false,
    funded: false,
    ...(opened === undefined ? {} : { acceptingOrdersTimestamp: isoTime(seconds(opened)) }),
    cyom: false,
    competitive: competitiveOf(condition),
    pagerDutyNotificationEnabled: false,
    approved: true,
    rewardsMinSize: 50,
    rewardsMaxSpread: 4.5,
    ...quotes(condition),
    automaticallyActive: true,
    clearBookOnStart: false,
    showGmpSeries: false,
    showGmpOutcome: false,
    manualActivation: false,
    negRiskOther: false,
    umaResolutionStatuses: listText(STATUSES[phase] ?? []),
    pendingDeployment: false,
    deploying: false,
    rfqEnabled: false,
    ...startFields(of),
    holdingRewardsEnabled: false,
    feesEnabled: feesOf(of) !== undefined,
    requiresTranslation: false,
    ...feeFields(of),
    ...(of.topic === undefined ? {} : ORACLE),
  }
}

// The question of a topic is answered by people, who put up money for their answer.
const ORACLE = {
  resolvedBy: '0x65070BE91477460D8A7AeEb94ef92fe056C2f2A7',
  submitted_by: '0x91430CaD2d3975766499717fA0D66A78D814E5c5',
  umaBond: '500',
  umaReward: '2',
  customLiveness: 0,
} as const

/** How long a match lasts at most; one that is listed later begins when it opens. */
const MATCH_MS = 3 * 3_600_000

function startFields(of: Proposition): object {
  if (of.topic === undefined) return { eventStartTime: isoTime(of.openTime) }
  if (of.topic.kind !== 'match') return {}
  const start = Math.max(of.openTime, of.closeTime - MATCH_MS)
  return {
    eventStartTime: isoTime(start),
    gameStartTime: blankTime(start),
    gameId: String(of.topic.number),
    secondsDelay: 3,
    sportsMarketType: 'moneyline',
  }
}

function feeFields(of: Proposition): object {
  const fees = feesOf(of)
  if (fees === undefined) return {}
  const { type, rate, rebateRate } = fees
  return {
    makerRebatesFeeShareBps: 10_000,
    feeType: type,
    feeSchedule: { rate, exponent: 1, takerOnly: true, rebateRate },
  }
}

function descriptionFields(condition: Condition): object {
  const { proposition: of } = condition
  const image = imageOf(of)
  return {
    id: condition.gammaId,
    question: questionOf(of),
    conditionId: condition.conditionId,
    slug: condition.slug,
    resolutionSource: sourceOf(of),
    endDate: isoTime(of.closeTime),
    liquidity: printScaled(restingOf(condition), 6),
    startDate: isoTime(of.listTime),
    image,
    icon: image,
    description: descriptionOf(of),
    outcomes: listText(outcomesOf(of)),
    outcomePrices: listText(pricesOf(of).map(priceText)),
  }
}

function stateFields(condition: Condition, memory: Memory): object {
  const { proposition: of } = condition
  const closed = isClosed(of.phase)
  return {
    volume: printScaled(of.volume, 6),
    active: memory.traded(of),
    closed,
    marketMakerAddress: '',
    createdAt: isoTime(of.listTime),
    updatedAt: isoTime(memory.updatedAt(of)),
    ...(closed ? { closedTime: blankTime(memory.enteredAt(of, 'closed') ?? of.closeTime) } : {}),
    new: false,
    featured: false,
    archived: false,
    restricted: true,
    ...groupFields(condition),
    questionID: condition.questionId,
    enableOrderBook: true,
    orderPriceMinTickSize: toNumber(of.tick, 4),
    orderMinSize: 5,
    ...resolution(condition, memory),
  }
}

function volumeFields(condition: Condition): object {
  const { proposition: of, tokens } = condition
  const volume = toNumber(of.volume, 6)
  const liquidity = toNumber(restingOf(condition), 6)
  return {
    volumeNum: volume,
    liquidityNum: liquidity,
    endDateIso: isoDate(of.closeTime),
    startDateIso: isoDate(of.listTime),
    hasReviewedDates: true,
    volume24hr: volume,
    volume1wk: volume,
    volume1mo: volume,
    volume1yr: volume,
    clobTokenIds: listText(tokens),
    volume24hrClob: volume,
    volume1wkClob: volume,
    volume1moClob: volume,
    volume1yrClob: volume,
    volumeClob: volume,
    liquidityAmm: 0,
    liquidityClob: liquidity,
    makerBaseFee: baseFeeOf(of),
    takerBaseFee: baseFeeOf(of),
  }
}

// Where a question has several markets, each names its answer and its place among them.
function groupFields({ proposition: of }: Condition): object {
  if (of.topic === undefined || of.topic.markets.length === 1) return { groupItemThreshold: '0' }
  const place = of.topic.markets.indexOf(of)
  return { groupItemTitle: of.answer.label, groupItemThreshold: String(place) }
}

function negRiskIds({ event, questionId }: Condition): object {
  if (event.negRiskId === undefined) return {}
  return { negRiskMarketID: event.negRiskId, negRiskRequestID: questionId }
}

const STATUS: Readonly<Partial<Record<Phase, string>>> = {
  determined: 'proposed',
  disputed: 'disputed',
  resolved: 'resolved',
}

const STATUSES: Readonly<Partial<Record<Phase, readonly string[]>>> = {
  determined: ['proposed'],
  disputed: ['proposed', 'disputed'],
}

function resolution({ proposition: of }: Condition, memory: Memory): object {
  const status = STATUS[of.phase]
  if (status === undefined) return {}
  if (of.phase !== 'resolved') return { umaResolutionStatus: status }
  const ended = memory.enteredAt(of, 'resolved') ?? of.closeTime
  const umaEndDate = isoTime(seconds(ended))
  return { umaEndDate, umaResolutionStatus: status, automaticallyResolved: true }
}

// Without a bid the key is missing; without an ask it is 1 (both recorded).
function quotes({ proposition: { book, lastTrade } }: Condition): object {
  const bid = book.bids[0]?.price
  const ask = book.asks[0]?.price ?? 10_000
  return {
    spread: toNumber(ask - (bid ?? 0), 4),
    lastTradePrice: toNumber(lastTrade ?? 0, 4),
    ...(bid === undefined ? {} : { bestBid: toNumber(bid, 4) }),
    bestAsk: toNumber(ask, 4),
  }
}

// Gamma sends lists as JSON text with a space after each comma, which JSON.stringify omits.
function listText(items: readonly string[]): string {
  return `[${items.map((item) => JSON.stringify(item)).join(', ')}]`
}

function seconds(ms: number): number {
  return ms - (ms % 1000)
}
