import {
  floorOf,
  PriorbookError,
  type MarketRecord,
  type MarketRevision,
  type Micros,
} from '@priorbook/sdk/domain'
import type { Arrival, CaptureRequest, Normalized } from '../capture/contract.ts'
import { readObject } from '../capture/fields.ts'
import type { RestCall } from '../capture/rest.ts'
import { normalizeTopic, normalizeTopics, type CatalogAnswer } from './catalog.ts'
import type { NamedRound } from './family-walk.ts'
import { optionalVenueId } from './fields.ts'
import { pageQuery } from './pages.ts'

/**
 * The calls of a backfill and how their answers are normalized. They have request kinds of their own,
 * because an answer about an ended round is read differently: its chance and price are not samples (they
 * are observed now, long after the end), and rounds of other coins or outside the range are left out.
 */

/** The coins of venue A's up/down rounds. */
export const VENUEA_COINS = ['BTC', 'ETH', 'BNB'] as const

/** Since when catalogue, resolution, volume and liquidity of a coin are kept; undefined for other coins. */
export function catalogueFloor(asset: string): Micros | undefined {
  return floorOf('venuea', 'catalogue', { asset })
}

/** The rounds of a backfill: of one coin, and in [start, end] as a whole, in microseconds. */
export type PastScope = { readonly asset: string; readonly start: number; readonly end: number }

/** One page of the list, which may show past rounds. */
export function pastListCall(scope: PastScope, offset: number): RestCall {
  const request = { kind: 'past_topics', ...scope, offset }
  return { request, path: '/market/list', query: pageQuery(offset) }
}

/** The details of one round by its topic. */
export function pastDetailCall(scope: PastScope, topicId: string): RestCall {
  const request = { kind: 'past_topic', ...scope, topic_id: topicId }
  return { request, path: '/market/detail', query: { marketTopicId: topicId } }
}

/**
 * Converts a page of the list. The revisions have an empty `native`: the list has fewer fields than the
 * details and would replace them, so that every backfill would revise markets that have not changed.
 */
export function normalizePastTopics(
  request: CaptureRequest,
  answer: unknown,
  at: Arrival,
): Normalized {
  return pastOf(request, normalizeTopics(answer, at), (record) => ({ ...record, native: {} }))
}

/**
 * Converts the details of a round. `timeline` is left out of `native`: it lists other rounds and grows
 * with them, so that it would revise a market that has not changed. The journal has it.
 */
export function normalizePastTopic(
  request: CaptureRequest,
  answer: unknown,
  at: Arrival,
): Normalized {
  return pastOf(request, normalizeTopic(answer, at), (record) => {
    const { timeline: _, ...topic } = record.native['topic'] as { readonly [key: string]: never }
    return { ...record, native: { ...record.native, topic } }
  })
}

/** Returns true for a round whose result and reference prices are known: nothing is left to request. */
export function isComplete({ status, resolution, native }: MarketRecord): boolean {
  if (status === 'voided') return true
  if (status !== 'resolved' || resolution?.state !== 'final') return false
  // The list has no reference prices; details without them will not get any later.
  const { topic } = native as { readonly topic?: { readonly variantData?: object | null } }
  return resolution.reference?.endPrice !== undefined || Boolean(topic?.variantData)
}

/**
 * Reads the rounds that the details of a round name in `timeline`. Rounds of another length belong to
 * another family; malformed ones are skipped, because only the round itself matters.
 */
export function readNeighbours(value: unknown): NamedRound[] {
  const { timeline, startDate, endDate } = readObject(value, 'the topic')
  const ownMs = Number(endDate) - Number(startDate)
  if (!Array.isArray(timeline) || !(ownMs > 0)) return []
  return timeline.flatMap((item: unknown): NamedRound[] => {
    try {
      const round = readObject(item, 'a round')
      const topicId = optionalVenueId(round['marketTopicId'], 'marketTopicId')
      const endMs = Number(round['endDate'])
      const startMs = Number(round['startDate'] ?? endMs - ownMs)
      const isSame = Math.abs(endMs - startMs - ownMs) < ownMs * LENGTH_SHARE
      return topicId !== undefined && isSame ? [{ topicId, startMs, endMs }] : []
    } catch (error) {
      if (error instanceof PriorbookError) return []
      throw error
    }
  })
}

// Lengths within one family differ by rounding at most, those of two families by a factor of three.
const LENGTH_SHARE = 0.1

function pastOf(
  { asset, start, end }: CaptureRequest,
  { events, problems }: CatalogAnswer,
  shorten: (record: MarketRecord) => MarketRecord,
): Normalized {
  const isWanted = ({ asset: coin, openTime, closeTime }: MarketRecord): boolean =>
    coin === asset &&
    openTime !== undefined &&
    closeTime !== undefined &&
    openTime >= Number(start) &&
    closeTime <= Number(end)
  const revisions = events.flatMap((event): MarketRevision[] =>
    event.kind === 'market' && isWanted(event.record)
      ? [{ ...event, record: shorten(event.record) }]
      : [],
  )
  return { events: revisions, problems }
}
