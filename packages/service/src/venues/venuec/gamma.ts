import {
  VENUES,
  type Json,
  type MarketRecord,
  type Micros,
  type Outcome,
  type Resolution,
} from '@priorbook/sdk/domain'
import { compact, readArray, readId, readText, type NativeObject } from '../capture/fields.ts'
import { optionalId, readAmount, readFlag, readInstant, readList } from './fields.ts'
import { readStatus } from './status.ts'
import { parseRoundSlug, roundStart, type Round } from './rounds.ts'

/** The event that a market belongs to. */
export type GammaEvent = { readonly id: string | undefined; readonly own: NativeObject }

/**
 * Parses a market of Gamma. Its lists are JSON inside strings. `outcomePrices` are payouts once the
 * market is closed and resolved, and prices before that.
 */
export function parseGammaMarket(
  market: NativeObject,
  received: Micros,
  answered?: GammaEvent,
): MarketRecord {
  const marketId = readId(market['conditionId'], 'conditionId')
  const slug = readText(market['slug'], 'slug')
  const round = slug === undefined ? undefined : parseRoundSlug(slug)
  const closeTime = readInstant(market['endDate'], 'endDate')
  const closed = readFlag(market['closed'], 'closed')
  const flagged = readStatus(
    {
      active: readFlag(market['active'], 'active'),
      closed,
      archived: readFlag(market['archived'], 'archived'),
      acceptingOrders: readFlag(market['acceptingOrders'], 'acceptingOrders'),
      acceptingSince: readInstant(market['acceptingOrdersTimestamp'], 'acceptingOrdersTimestamp'),
      closeTime,
      resolution: readText(market['umaResolutionStatus'], 'umaResolutionStatus'),
    },
    received,
  )
  const outcomes = outcomesOf(market)
  const isFinal = closed === true && flagged.state === 'final'
  const payouts = isFinal ? payoutsOf(market, outcomes.length) : undefined
  const settled = isFinal ? readInstant(market['closedTime'], 'closedTime') : undefined
  const question = readText(market['question'], 'question')
  const event = answered ?? eventIn(market)
  return compact<MarketRecord>({
    venue: 'venuec',
    marketId,
    title: question,
    status: flagged.status,
    statusNative: flagged.statusNative,
    openTime: openTimeOf(market, event, round),
    closeTime,
    resolvedTime: settled,
    createdTime: readInstant(market['createdAt'], 'createdAt'),
    // Without `closed` the resolution is not known either.
    resolution:
      closed === undefined
        ? undefined
        : compact<Resolution>({
            state: flagged.state,
            source: readText(market['resolutionSource'], 'resolutionSource'),
            payouts,
            times: settled === undefined ? undefined : { settled },
          }),
    winningOutcome: winnerOf(outcomes, payouts),
    volume: readAmount(market['volume'] ?? market['volumeNum'], 'volume'),
    liquidity: readAmount(market['liquidity'] ?? market['liquidityNum'], 'liquidity'),
    outcomes,
    units: VENUES.venuec.units,
    eventId: event?.id,
    conditionId: marketId,
    questionId: optionalId(market['questionID'] ?? market['questionId'], 'questionID'),
    question,
    gammaMarketId: optionalId(market['id'], 'id'),
    slug,
    asset: round?.asset,
    window: round?.window,
    native: nativeOf(market, answered),
  })
}

/** Parses an event without its markets. */
export function parseGammaEvent(event: NativeObject): GammaEvent {
  const { markets: _markets, ...own } = event
  return { id: optionalId(event['id'], 'id'), own }
}

/** The outcomes of a market; empty while the venue has not labelled them. */
export function toOutcomes(
  labels: readonly unknown[],
  tokens: readonly unknown[],
): readonly Outcome[] {
  return labels.flatMap((value, index) => {
    const label = readText(value, 'an outcome')
    if (label === undefined) return []
    const tokenId = optionalId(tokens[index], 'a token id')
    return tokenId === undefined ? [{ label, index }] : [{ label, index, tokenId }]
  })
}

/** The label of the outcome that pays 1. */
export function winnerOf(
  outcomes: readonly Outcome[],
  payouts: readonly string[] | undefined,
): string | undefined {
  const index = payouts?.indexOf('1') ?? -1
  return index < 0 ? undefined : outcomes.find((outcome) => outcome.index === index)?.label
}

function outcomesOf(market: NativeObject): readonly Outcome[] {
  const labels = readList(market['outcomes'], 'outcomes') ?? []
  return toOutcomes(labels, readList(market['clobTokenIds'], 'clobTokenIds') ?? [])
}

// One outcome pays 1 and the others 0, or both pay one half. Old markets have ["0","0"] or their last
// prices, which are not payouts.
function payoutsOf(market: NativeObject, outcomes: number): readonly string[] | undefined {
  const prices = readList(market['outcomePrices'], 'outcomePrices')?.map(
    (price) => readAmount(price, 'an outcome price') ?? '',
  )
  if (prices?.length !== outcomes) return undefined
  const ones = prices.filter((price) => price === '1').length
  const zeros = prices.filter((price) => price === '0').length
  if (ones === 1 && zeros === outcomes - 1) return prices
  return outcomes === 2 && prices.every((price) => price === '0.5') ? prices : undefined
}

// `startDate` is the time of the listing, a day before a round starts, so it is the last choice.
function openTimeOf(
  market: NativeObject,
  event: GammaEvent | undefined,
  round: Round | undefined,
): Micros | undefined {
  return (
    readInstant(market['eventStartTime'], 'eventStartTime') ??
    (round === undefined ? undefined : roundStart(round)) ??
    readInstant(event?.own['startTime'], 'startTime') ??
    readInstant(market['startDate'], 'startDate')
  )
}

// A market that was requested alone contains its event, without the event's other markets.
function eventIn(market: NativeObject): GammaEvent | undefined {
  const { events } = market
  if (events === undefined || events === null) return undefined
  const first = readArray(events, 'events')[0]
  if (typeof first !== 'object' || first === null) return undefined
  return parseGammaEvent(first as NativeObject)
}

// The venue's own object, unchanged; its values come from JSON.parse, so they are JSON.
function nativeOf(market: NativeObject, answered: GammaEvent | undefined): MarketRecord['native'] {
  return answered === undefined
    ? { gamma: market as Json }
    : { gamma: market as Json, event: answered.own as Json }
}
