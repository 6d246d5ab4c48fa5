import { restingMoney } from '../../core/books.ts'
import { printScaled } from '@priorbook/sdk/domain'
import type { Phase } from '../../core/upstream.ts'
import { titleOf } from '../../world/round-texts.ts'
import type { Condition } from './conditions.ts'
import { pricesOf, toNumber, type Memory } from './memory.ts'
import { priceText } from './token-book.ts'
import { blankTime, descriptionOf, imageOf, isoDate, isoTime, OUTCOMES, sourceOf } from './texts.ts'

/** True from the close on; Gamma hides such markets by default. */
export function isClosed(phase: Phase): boolean {
  return CLOSED.has(phase)
}

/** A market as Gamma shows it: lists are JSON text, amounts come as text and as number. */
export function toGammaMarket(condition: Condition, memory: Memory): object {
  return {
    ...descriptionFields(condition),
    ...stateFields(condition, memory),
    ...volumeFields(condition),
    ...tradingFields(condition, memory),
  }
}

function descriptionFields(condition: Condition): object {
  const { proposition: of } = condition
  const image = imageOf(of.asset)
  return {
    id: condition.gammaId,
    question: titleOf(of),
    conditionId: condition.conditionId,
    slug: condition.slug,
    resolutionSource: sourceOf(of.asset),
    endDate: isoTime(of.closeTime),
    liquidity: printScaled(restingOf(condition), 6),
    startDate: isoTime(of.listTime),
    image,
    icon: image,
    description: descriptionOf(of),
    outcomes: listText(OUTCOMES),
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
    groupItemThreshold: '0',
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
    makerBaseFee: 1000,
    takerBaseFee: 1000,
  }
}

function tradingFields(condition: Condition, memory: Memory): object {
  const { proposition: of } = condition
  const { phase } = of
  const closed = isClosed(phase)
  const opened = memory.enteredAt(of, 'open') ?? (phase === 'listed' ? undefined : of.openTime)
  return {
    acceptingOrders: phase === 'open',
    negRisk: false,
    events: [toGammaEvent(condition, memory, closed)],
    ready: false,
    funded: false,
    ...(opened === undefined ? {} : { acceptingOrdersTimestamp: isoTime(seconds(opened)) }),
    cyom: false,
    competitive: competitiveOf(condition, closed),
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
    eventStartTime: isoTime(of.openTime),
    holdingRewardsEnabled: false,
    feesEnabled: true,
    requiresTranslation: false,
    makerRebatesFeeShareBps: 10_000,
    feeType: 'crypto_fees_v2',
    feeSchedule: { rate: 0.07, exponent: 1, takerOnly: true, rebateRate: 0.2 },
  }
}

function restingOf({ proposition }: Condition): number {
  return isClosed(proposition.phase) ? 0 : restingMoney(proposition.book)
}

const CLOSED: ReadonlySet<Phase> = new Set(['closed', 'determined', 'disputed', 'resolved'])

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

/** The event around a market, as Gamma nests it; every round is an event with one market. */
export function toGammaEvent(condition: Condition, memory: Memory, closed: boolean): object {
  const { proposition: of, slug, eventId } = condition
  const volume = toNumber(of.volume, 6)
  const liquidity = closed ? 0 : toNumber(restingMoney(of.book), 6)
  const series = seriesOf(condition)
  return {
    id: eventId,
    ticker: slug,
    slug,
    title: titleOf(of),
    description: descriptionOf(of),
    resolutionSource: sourceOf(of.asset),
    startDate: isoTime(of.listTime),
    creationDate: isoTime(of.listTime),
    endDate: isoTime(of.closeTime),
    image: imageOf(of.asset),
    icon: imageOf(of.asset),
    active: true,
    closed,
    archived: false,
    new: false,
    featured: false,
    restricted: true,
    liquidity,
    volume,
    openInterest: 0,
    createdAt: isoTime(of.listTime),
    updatedAt: isoTime(memory.updatedAt(of)),
    competitive: competitiveOf(condition, closed),
    volume24hr: volume,
    volume1wk: volume,
    volume1mo: volume,
    volume1yr: volume,
    enableOrderBook: true,
    liquidityClob: liquidity,
    negRisk: false,
    commentCount: 0,
    series: [series],
    cyom: false,
    showAllOutcomes: true,
    showMarketImages: true,
    enableNegRisk: false,
    automaticallyActive: true,
    startTime: isoTime(of.openTime),
    seriesSlug: series.slug,
    negRiskAugmented: false,
    pendingDeployment: false,
    deploying: false,
    requiresTranslation: false,
  }
}

/** How open the question is: 1 at even odds, as the venue works it out; 0 when it is over. */
function competitiveOf({ proposition }: Condition, closed: boolean): number {
  const distance = pricesOf(proposition)[0] / 10_000 - 0.5
  return closed ? 0 : 1 / (1 + distance * distance)
}

const SERIES_IDS = { '5m': 10_684, '15m': 10_192, '1h': 10_114 } as const
const ASSET_STEP = { BTC: 0, ETH: 1, BNB: 2 } as const
const SERIES_SINCE = Date.UTC(2025, 10, 21)

function seriesOf({ proposition: { asset, window, listTime, volume } }: Condition) {
  const slug = `${asset.toLowerCase()}-up-or-down-${window}`
  return {
    id: String(SERIES_IDS[window] + ASSET_STEP[asset]),
    ticker: slug,
    slug,
    title: `${asset} Up or Down ${window}`,
    seriesType: 'single',
    recurrence: window,
    image: '',
    icon: '',
    active: true,
    closed: false,
    archived: false,
    featured: false,
    restricted: true,
    createdAt: isoTime(SERIES_SINCE),
    updatedAt: isoTime(listTime),
    volume24hr: toNumber(volume, 6),
    volume: toNumber(volume, 6),
    liquidity: 0,
    commentCount: 0,
    requiresTranslation: false,
  }
}
