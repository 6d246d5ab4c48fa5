import {
  VENUES,
  type Json,
  type MarketRecord,
  type MarketStatus,
  type Micros,
  type Outcome,
  type Resolution,
} from '@priorbook/sdk/domain'
import {
  compact,
  describedFlag,
  describedText,
  isObject,
  readArray,
  readId,
  readText,
  type NativeObject,
} from '../capture/fields.ts'
import {
  optionalId,
  parseRoundSlug,
  readAmount,
  readFlag,
  readInstant,
  readList,
  roundStart,
  type Round,
} from './fields.ts'
import type { NativeAnnouncement } from './native.ts'

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
    event: eventOf(market, event),
    ...headingsOf(market, event),
    native: nativeOf(market, answered),
  })
}

function eventOf(market: NativeObject, event: GammaEvent | undefined): MarketRecord['event'] {
  const isNegRisk = describedFlag(event?.own['negRisk'])
  const shared = compact<NonNullable<MarketRecord['event']>>({
    title: describedText(event?.own['title']),
    slug: describedText(event?.own['slug']),
    outcome: describedText(market['groupItemTitle']),
    // Conversion of No into Yes of the others is offered only where at most one of them can win.
    isExclusive: isNegRisk === true ? true : undefined,
    isNegRisk,
  })
  return Object.keys(shared).length === 0 ? undefined : shared
}

function headingsOf(
  market: NativeObject,
  event: GammaEvent | undefined,
): Pick<MarketRecord, 'category' | 'tags'> {
  const listed = event?.own['tags'] ?? market['tags']
  const tags = (Array.isArray(listed) ? listed : []).flatMap((tag: unknown) =>
    isObject(tag) ? (describedText(tag['label']) ?? []) : (describedText(tag) ?? []),
  )
  return compact<Pick<MarketRecord, 'category' | 'tags'>>({
    category: describedText(event?.own['category']) ?? describedText(market['category']),
    tags: tags.length === 0 ? undefined : tags,
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

// A round opens when its window begins; it is listed a day before. Any other market trades from its listing on,
// weeks before the match that `eventStartTime` names.
function openTimeOf(
  market: NativeObject,
  event: GammaEvent | undefined,
  round: Round | undefined,
): Micros | undefined {
  const starts =
    readInstant(market['eventStartTime'], 'eventStartTime') ??
    (round === undefined ? undefined : roundStart(round)) ??
    readInstant(event?.own['startTime'], 'startTime')
  const listed = (): Micros | undefined => readInstant(market['startDate'], 'startDate')
  return round === undefined ? (listed() ?? starts) : (starts ?? listed())
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

/**
 * The partial market record in an announcement of the socket. Every new market of the venue is announced
 * to all clients, so everything but crypto rounds is skipped; the journal keeps it. A resolution without
 * a slug may concern any market.
 */
export function announcedMarket(message: NativeAnnouncement): MarketRecord | undefined {
  const { object } = message
  const slug = readText(object['slug'], 'slug')
  const round = slug === undefined ? undefined : parseRoundSlug(slug)
  if (round === undefined && (slug !== undefined || message.type === 'new_market')) return undefined
  const marketId = readId(object['market'] ?? object['condition_id'], 'market')
  const question = readText(object['question'], 'question')
  const shared = {
    venue: 'venuec' as const,
    marketId,
    title: question,
    openTime: round === undefined ? undefined : roundStart(round),
    outcomes: announcedOutcomes(object),
    units: VENUES.venuec.units,
    eventId: eventIdOf(object),
    conditionId: marketId,
    question,
    gammaMarketId: optionalId(object['id'], 'id'),
    slug,
    asset: round?.asset,
    window: round?.window,
  }
  return message.type === 'new_market'
    ? newMarket(object, shared)
    : resolvedMarket(object, shared, message.time)
}

type Shared = Omit<{ [Key in keyof MarketRecord]: MarketRecord[Key] | undefined }, 'native'> &
  Pick<MarketRecord, 'venue' | 'marketId' | 'outcomes' | 'units'>

// A market is announced inactive, minutes before trading; an active one may or may not accept orders yet.
function newMarket(object: NativeObject, shared: Shared): MarketRecord {
  const active = readFlag(object['active'], 'active')
  return compact<MarketRecord>({
    ...shared,
    status: active === false ? 'scheduled' : undefined,
    statusNative: active === undefined ? undefined : active ? 'active' : 'inactive',
    native: { new_market: object as Json },
  })
}

// Tokens come in the order of the outcomes, so payouts are known even without labels.
function resolvedMarket(
  object: NativeObject,
  shared: Shared,
  time: Micros | undefined,
): MarketRecord {
  const winner = readId(object['winning_asset_id'], 'winning_asset_id')
  const tokens = readList(object['assets_ids'], 'assets_ids') ?? []
  const payouts = tokens.includes(winner)
    ? tokens.map((token) => (token === winner ? '1' : '0'))
    : undefined
  return compact<MarketRecord>({
    ...shared,
    status: 'resolved',
    statusNative: 'market_resolved',
    resolvedTime: time,
    resolution: {
      state: 'final',
      ...(payouts === undefined ? {} : { payouts }),
      ...(time === undefined ? {} : { times: { settled: time } }),
    },
    winningOutcome: readText(object['winning_outcome'], 'winning_outcome'),
    native: { market_resolved: object as Json },
  })
}

function announcedOutcomes(object: NativeObject): MarketRecord['outcomes'] {
  const labels = readList(object['outcomes'], 'outcomes') ?? []
  const tokens = readList(object['clob_token_ids'] ?? object['assets_ids'], 'assets_ids') ?? []
  return toOutcomes(labels, tokens)
}

function eventIdOf(object: NativeObject): string | undefined {
  const event = object['event_message']
  if (typeof event !== 'object' || event === null) return undefined
  return optionalId((event as NativeObject)['id'], 'event_message.id')
}

/** The flags of a market, with the same names for Gamma and CLOB; undefined where absent. */
export type MarketFlags = {
  readonly active: boolean | undefined
  readonly closed: boolean | undefined
  readonly archived: boolean | undefined
  readonly acceptingOrders: boolean | undefined
  /** When orders were first accepted. */
  readonly acceptingSince: Micros | undefined
  readonly closeTime: Micros | undefined
  /** Gamma's `umaResolutionStatus`; `resolved` where CLOB names a winner. */
  readonly resolution: string | undefined
}

/** The meaning of a market's flags at the time when they were received. */
export type FlaggedStatus = {
  readonly status: MarketStatus | undefined
  readonly statusNative: string | undefined
  readonly state: Resolution['state']
}

/**
 * Maps the venue's flags to our status. `closed` takes precedence over `accepting_orders`, which stays
 * true on some closed markets; `active` stays true on all of them. A market that does not accept orders
 * is scheduled before its first order, closed after its end, and paused in between.
 */
export function readStatus(flags: MarketFlags, received: Micros): FlaggedStatus {
  const state = STATES.get(flags.resolution ?? '') ?? 'none'
  return { status: statusOf(flags, state, received), statusNative: wordsOf(flags), state }
}

const STATES: ReadonlyMap<string, Resolution['state']> = new Map([
  ['proposed', 'proposed'],
  ['disputed', 'disputed'],
  ['challenged', 'disputed'],
  ['resolved', 'final'],
])

const CLOSED: Readonly<Record<Resolution['state'], MarketStatus>> = {
  none: 'closed',
  proposed: 'determined',
  disputed: 'disputed',
  final: 'resolved',
}

function statusOf(
  flags: MarketFlags,
  state: Resolution['state'],
  received: Micros,
): MarketStatus | undefined {
  const { active, closed, archived, acceptingOrders, acceptingSince, closeTime } = flags
  if (closed === true) return CLOSED[state]
  if (closed === undefined) return undefined
  if (archived === true) return 'closed'
  if (active === true && acceptingOrders === true) return 'open'
  if (active === false) return 'scheduled'
  if (acceptingOrders !== false) return undefined
  if (closeTime !== undefined && closeTime <= received) return 'closed'
  return acceptingSince !== undefined && acceptingSince <= received ? 'paused' : 'scheduled'
}

// The names of the flags that are set: `active accepting_orders`, `active closed resolved`.
function wordsOf(flags: MarketFlags): string | undefined {
  const { active, closed, archived, acceptingOrders, resolution } = flags
  if (active === undefined && closed === undefined && acceptingOrders === undefined) {
    return resolution
  }
  const words = [
    active === true ? 'active' : 'inactive',
    ...(acceptingOrders === true ? ['accepting_orders'] : []),
    ...(closed === true ? ['closed'] : []),
    ...(archived === true ? ['archived'] : []),
    ...(resolution === undefined ? [] : [resolution]),
  ]
  return words.join(' ')
}
