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
import { optionalVenueId } from './native.ts'
import { pageQuery } from './rest.ts'
import type { RoundCounts } from '../capture/definition.ts'

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

/** A round of one family (a coin and a window), named by a timeline, the list or the store. */
export type NamedRound = {
  readonly topicId: string
  readonly startMs: number
  readonly endMs: number
}

/** The next step to walk a family further back. */
export type FamilyStep =
  /** Request the details of this round; `isNext` where it is the one that ends at the cursor. */
  | { readonly kind: 'request'; readonly topicId: string; readonly isNext: boolean }
  /** No known round ends here: the list may show one. */
  | { readonly kind: 'list'; readonly beforeMs: number }
  | { readonly kind: 'over' }

/** The result of requesting a round; `gone` means that the venue does not have it. */
export type RoundAnswer = 'complete' | 'unresolved' | 'gone'

type Round = NamedRound & { answer: RoundAnswer | undefined; isRequested: boolean }

/**
 * Walks one family from the end of a range back to its start and requests each round at most once. Only
 * rounds that lie in the range as a whole count.
 */
export class FamilyWalk {
  readonly window: string
  readonly #startMs: number
  readonly #endMs: number
  readonly #byTopic = new Map<string, Round>()
  readonly #byEnd = new Map<number, Round[]>()
  readonly #listed = new Set<number>()
  #cursorMs: number
  #lengthMs: number
  /** An end of a round. Rounds follow each other without a pause, so all ends lie on this grid. */
  #gridMs = 0
  #unnamed = 0

  constructor(window: string, range: { readonly startMs: number; readonly endMs: number }) {
    this.window = window
    this.#startMs = range.startMs
    this.#endMs = range.endMs
    this.#cursorMs = range.endMs
    this.#lengthMs = nominalMs(window)
  }

  /** Everything from here to the end of the range is done. */
  get cursorMs(): number {
    return this.#cursorMs
  }

  /** How long its rounds are. */
  get lengthMs(): number {
    return this.#lengthMs
  }

  get counts(): RoundCounts {
    const counts = { complete: 0, unresolved: 0, gone: 0 }
    for (const { answer, startMs, endMs } of this.#byTopic.values()) {
      if (answer !== undefined && startMs >= this.#startMs && endMs <= this.#endMs) counts[answer]++
    }
    return {
      expected: this.#roundsIn(this.#startMs, this.#endMs),
      complete: counts.complete,
      unresolved: counts.unresolved,
      missing: this.#unnamed + counts.gone,
    }
  }

  /** Adds named rounds; of those that are complete, nothing is left to request. */
  learn(rounds: readonly NamedRound[], isComplete = false): void {
    for (const { topicId, startMs, endMs } of rounds) {
      const known = this.#byTopic.get(topicId)
      if (isComplete && known !== undefined) known.answer = 'complete'
      if (known !== undefined || !(endMs > startMs)) continue
      const answer = isComplete ? 'complete' : undefined
      const round: Round = { topicId, startMs, endMs, answer, isRequested: false }
      this.#byTopic.set(topicId, round)
      this.#byEnd.set(endMs, [...(this.#byEnd.get(endMs) ?? []), round])
      // At a higher speed of the emulator, rounds are shorter than their names.
      this.#lengthMs = endMs - startMs
      this.#gridMs = endMs
    }
  }

  answered(topicId: string, answer: RoundAnswer): void {
    const round = this.#byTopic.get(topicId)
    if (round === undefined) return
    round.isRequested = true
    // A complete round stays complete, also after the venue has deleted it.
    if (round.answer !== 'complete') round.answer = answer
  }

  /** The list was read for rounds that end at this cursor. */
  listed(beforeMs: number): void {
    this.#listed.add(beforeMs)
  }

  next(): FamilyStep {
    for (;;) {
      const cursorMs = this.#cursorMs
      const isListed = this.#listed.has(cursorMs)
      // The first round shows how long rounds really are.
      if (this.#byTopic.size === 0 && !isListed) return { kind: 'list', beforeMs: cursorMs }
      if (cursorMs - this.#startMs < this.#lengthMs) return { kind: 'over' }
      const below = this.#nearest('below')
      const holeMs = cursorMs - (below?.endMs ?? this.#startMs)
      if (below !== undefined && holeMs < this.#lengthMs) {
        if (below.startMs < this.#startMs) return { kind: 'over' }
        if (isUnanswered(below)) return requestOf(below, true)
        this.#cursorMs = below.startMs
        continue
      }
      // A hole: the rounds on either side of it may name the rounds in it, and so may the list.
      const above = this.#nearest('above')
      if (above !== undefined && !above.isRequested) return requestOf(above, false)
      if (!isListed) return { kind: 'list', beforeMs: cursorMs }
      if (below !== undefined && !below.isRequested) return requestOf(below, false)
      const bottomMs = Math.max(this.#startMs, below?.endMs ?? this.#startMs)
      this.#unnamed += this.#roundsIn(bottomMs, cursorMs)
      this.#cursorMs = bottomMs
    }
  }

  #roundsIn(fromMs: number, toMs: number): number {
    const first = Math.ceil((fromMs - this.#gridMs) / this.#lengthMs)
    return Math.max(0, Math.floor((toMs - this.#gridMs) / this.#lengthMs) - first)
  }

  /** The known round with the latest end up to the cursor, or the one with the earliest end after it. */
  #nearest(side: 'below' | 'above'): Round | undefined {
    const exact = side === 'below' ? this.#byEnd.get(this.#cursorMs) : undefined
    if (exact !== undefined) return exact.find(isUnanswered) ?? exact[0]
    let found: Round | undefined
    for (const round of this.#byTopic.values()) {
      if (round.endMs > this.#cursorMs !== (side === 'above')) continue
      const isNearer =
        found === undefined ||
        (side === 'above' ? round.endMs < found.endMs : round.endMs > found.endMs)
      if (isNearer || (found?.endMs === round.endMs && isUnanswered(round))) found = round
    }
    return found
  }
}

function requestOf({ topicId }: Round, isNext: boolean): FamilyStep {
  return { kind: 'request', topicId, isNext }
}

function isUnanswered({ answer, isRequested }: Round): boolean {
  return answer !== 'complete' && !isRequested
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The length that the name of a window says: `15m` is 900,000. */
export function nominalMs(window: string): number {
  return Number(window.slice(0, -1)) * (UNITS_MS[window.slice(-1)] ?? NaN)
}
