import { VENUES, type Json, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { compact, readId, readText, type NativeObject } from '../capture/fields.ts'
import { optionalId, readFlag, readList } from './fields.ts'
import { toOutcomes } from './gamma.ts'
import type { NativeAnnouncement } from './native.ts'
import { parseRoundSlug, roundStart } from './rounds.ts'

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
    outcomes: outcomesOf(object),
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

function outcomesOf(object: NativeObject): MarketRecord['outcomes'] {
  const labels = readList(object['outcomes'], 'outcomes') ?? []
  const tokens = readList(object['clob_token_ids'] ?? object['assets_ids'], 'assets_ids') ?? []
  return toOutcomes(labels, tokens)
}

function eventIdOf(object: NativeObject): string | undefined {
  const event = object['event_message']
  if (typeof event !== 'object' || event === null) return undefined
  return optionalId((event as NativeObject)['id'], 'event_message.id')
}
