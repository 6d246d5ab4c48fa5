import { PriorbookError, type MarketRecord, type MarketRevision } from '@priorbook/sdk/domain'
import type { Arrival, CaptureRequest, Normalized } from '../capture/contract.ts'
import { readObject } from '../capture/fields.ts'
import type { RestCall } from '../capture/rest.ts'
import type { NamedRound } from './backfill-family.ts'
import { normalizeTopic, normalizeTopics, type CatalogAnswer } from './catalog.ts'
import { optionalVenueId } from './fields.ts'
import { pageQuery } from './pages.ts'

/**
 * The calls of a backfill and what their answers say. Their request kinds are their own because an
 * answer about a round that is over is read differently: its chance and price are no samples (they
 * were observed now, of a market that ended long ago), and rounds of other coins or outside the range,
 * which lead there, are none of its business.
 */

/** What a backfill asks for: rounds of one coin that lie in [start, end] as a whole, in microseconds. */
export type PastScope = { readonly asset: string; readonly start: number; readonly end: number }

/** One page of the list, which may show past rounds or not. */
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
 * Reads a page of the list. The revisions carry nothing under `native`: the list says less of a round
 * than its details, whose words it would replace, and every walk would then revise what has not changed.
 */
export function normalizePastTopics(
  request: CaptureRequest,
  answer: unknown,
  at: Arrival,
): Normalized {
  return pastOf(request, normalizeTopics(answer, at), (record) => ({ ...record, native: {} }))
}

/**
 * Reads the details of a round. `timeline` is left out of `native`: it tells of other rounds and grows
 * with them, so that it would revise a market that has not changed; the journal has it.
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

/** True for the record of a round whose end is known with its reference prices: nothing is left to ask. */
export function isComplete({ status, resolution, native }: MarketRecord): boolean {
  if (status === 'voided') return true
  if (status !== 'resolved' || resolution?.state !== 'final') return false
  // The list has no reference prices; details that have none will not get any.
  const { topic } = native as { readonly topic?: { readonly variantData?: object | null } }
  return resolution.reference?.endPrice !== undefined || Boolean(topic?.variantData)
}

/**
 * The rounds that the details of a round name in `timeline`. Those of another length are of another
 * family; what cannot be read is passed over, for the round itself is what counts.
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

// Rounds of one family differ by rounding at most, those of another by a factor of three.
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
