import { PriorbookError } from '@priorbook/sdk/domain'
import type { CaptureLog, CaptureSink } from '../capture/contract.ts'
import { createQuota, type Quota, type QuotaOptions } from '../capture/quota.ts'
import { createRest, type Rest, type RestAnswer, type RestCall } from '../capture/rest.ts'
import { SYSTEM_CLOCK, type Clock } from '../../lib/clock.ts'
import { signCall, type VenueACredentials } from './signing.ts'
import { readArray, readObject, type NativeObject } from '../capture/fields.ts'
import { optionalVenueId } from './native.ts'
import { ROUNDS, type TopicFilter } from './topic-filter.ts'

/** One page of a list of topics. */
export function listCall(
  offset: number,
  query: TopicFilter['query'] = ROUNDS.query,
  category?: string,
): RestCall {
  const request = { kind: 'topics', offset, ...(category === undefined ? {} : { category }) }
  return { request, path: '/market/list', query: pageQuery(offset, query) }
}

/** The categories that topics are listed under. */
export function categoriesCall(): RestCall {
  return { request: { kind: 'categories' }, path: '/category/list' }
}

/** The details of one topic: reference prices, neighbours, winner. */
export function detailCall(topicId: string, category?: string): RestCall {
  const named = category === undefined ? {} : { category }
  const request = { kind: 'topic', topic_id: topicId, ...named }
  return { request, path: '/market/detail', query: { marketTopicId: topicId } }
}

/** The book of outcome 0. */
export function bookCall(
  market: { readonly marketId: string; readonly vendor: string },
  tokenId: string,
  urgent: boolean,
): RestCall {
  const { marketId, vendor } = market
  return {
    request: { kind: 'book', market_id: marketId, token_id: tokenId, outcome_index: 0 },
    path: '/order-book',
    query: { vendor, marketId, tokenId },
    urgent,
  }
}

/** The price of the newest trade of outcome 0. */
export function lastTradeCall(marketId: string, tokenId: string): RestCall {
  return {
    request: { kind: 'last_trade', market_id: marketId, token_id: tokenId },
    path: '/order-book/last-trade-price',
    query: { marketId },
  }
}

/**
 * Converts a quota for n times the speed of life, which allows n times the calls, to the venue's own limit
 * in windows that are n times shorter, so that neither bursts nor pauses grow with the speed.
 */
export function toVenueWindow(quota: QuotaOptions, speed: number): QuotaOptions {
  const limit = Math.floor(quota.limit / speed)
  if (speed === 1 || limit < MIN_LIMIT) return quota
  return { ...quota, limit, windowMs: quota.windowMs / speed }
}

/** With fewer calls per window the kinds of calls could not share a quota. */
const MIN_LIMIT = 10

/** Returns a quota that the caller shares with others, or creates one from its limits. */
export function toQuota(
  quota: Quota | QuotaOptions,
  speed: number,
  clock: Clock = SYSTEM_CLOCK,
): Quota {
  return 'acquire' in quota ? quota : createQuota(toVenueWindow(quota, speed), clock)
}

/** What the REST client of venue A needs. */
export type VenueARestOptions = {
  readonly restBase: string
  readonly credentials: VenueACredentials
  readonly quota: Quota
  readonly sink: CaptureSink
  readonly log: CaptureLog
}

// The Date header is exact to half a second, so a smaller difference is not corrected. The venue refuses
// a time that is 1 s ahead of its own.
const TRUSTED_US = 1_500_000
const BEHIND_US = 500_000

/** The venue's REST interface. Signatures follow the venue's clock where ours is wrong by over a second. */
export class VenueARest implements Rest {
  readonly #rest: Rest
  readonly #quota: Quota
  readonly #sink: CaptureSink
  #offsetUs = 0

  constructor({ restBase, credentials, quota, sink, log }: VenueARestOptions) {
    this.#quota = quota
    this.#sink = sink
    this.#rest = createRest({
      base: restBase,
      quota,
      log,
      sign: (call) => signCall(call, credentials, this.nowMs()),
      sink: {
        now: () => sink.now(),
        steadyNow: () => sink.steadyNow(),
        position: () => sink.position(),
        answer: (...answer) => sink.answer(...answer),
        isFull: () => sink.isFull?.() === true,
        note: (note) => {
          sink.note(note)
          if (note.note !== 'clock') return
          const offset = note.offset_us + sink.now() - sink.steadyNow()
          this.#offsetUs = Math.abs(offset) > TRUSTED_US ? offset - BEHIND_US : 0
        },
      },
    })
  }

  /** Now by the venue's clock, for signatures. */
  nowMs(): number {
    return (this.#sink.steadyNow() + this.#offsetUs) / 1000
  }

  async send(call: RestCall, signal: AbortSignal): Promise<RestAnswer> {
    const answer = await this.#rest.send(call, signal)
    // The venue bans an address for a while (418) when it goes on after refusals.
    if (!answer.ok && answer.status === 418) this.#quota.refused()
    return answer
  }
}

// -2014 and -2008: no or unknown key; -2015: the key has no permission; -1022: the secret is wrong.
const CREDENTIAL_CODES: ReadonlySet<number> = new Set([-2014, -2008, -2015, -1022])

/** Returns true where the venue refused the key or the signature: an early retry makes no sense. */
export function isCredentialRefusal(answer: RestAnswer): boolean {
  if (!answer.ok && answer.status === 401) return true
  const code = answer.ok ? codeIn(answer.value) : codeInText(answer.why)
  return code !== undefined && CREDENTIAL_CODES.has(code)
}

function codeIn(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { code } = value as { readonly code?: unknown }
  return typeof code === 'number' ? code : undefined
}

function codeInText(text: string): number | undefined {
  const match = /"code"\s*:\s*(-?\d{1,6})\b/.exec(text)
  return match === null ? undefined : Number(match[1])
}

/** Max topics per call of market/list. */
const PAGE_LIMIT = 100

/** The query of one page of a list, by default of the up/down markets, the latest end first. */
export function pageQuery(
  offset: number,
  filter: TopicFilter['query'] = ROUNDS.query,
): Readonly<Record<string, string>> {
  return {
    ...filter,
    sortBy: 'END_DATE',
    orderBy: 'DESC',
    offset: String(offset),
    limit: String(PAGE_LIMIT),
  }
}

/** The parts of a page that reading the list needs. */
export type Page = {
  readonly topicIds: readonly string[]
  /** Ends of the topics in milliseconds, in the order sent; a topic without one is left out. */
  readonly endsMs: readonly number[]
  /** How many topics it holds, readable or not. */
  readonly count: number
  readonly hasMore: boolean
  readonly total: number | undefined
}

/** Reads a page; throws PriorbookError for anything else. The normalizer reports malformed topics. */
export function readPage(value: unknown): Page {
  const object = readObject(value, 'the list of topics')
  const topics = readArray(object['marketTopics'], 'marketTopics')
  const { hasMore, total } = object
  const endsMs = topics.flatMap((topic) => {
    const end = fieldOf(topic, 'endDate')
    return typeof end === 'number' && Number.isFinite(end) ? [end] : []
  })
  return {
    topicIds: topics.flatMap((topic) => idOf(fieldOf(topic, 'marketTopicId'))),
    endsMs,
    count: topics.length,
    hasMore: hasMore === true,
    total: typeof total === 'number' && Number.isSafeInteger(total) ? total : undefined,
  }
}

/** Reads the pages of the list one after another; it ends whatever the venue answers. */
export interface PageWalk {
  readonly offset: number
  readonly pages: number
  /** True while the ends have come latest first. */
  readonly isOrdered: boolean
  /** Adds the page at `offset`; returns true when the walk is over. */
  add(page: Page): boolean
}

/** Max pages per walk: three assets with 5- and 15-minute rounds listed a day ahead are 12 pages. */
const MAX_PAGES = 60

/**
 * Starts a walk at an offset. It ends with the last page, with a page that brings nothing new, after
 * `maxPages`, and, while the ends really come latest first, once all of a page lie before `untilMs`.
 */
export function createPageWalk(untilMs: number, offset = 0, maxPages = MAX_PAGES): PageWalk {
  const seen = new Set<string>()
  let pages = 0
  let isOrdered = true
  let lowestMs = Infinity
  return {
    get offset() {
      return offset
    },
    get pages() {
      return pages
    },
    get isOrdered() {
      return isOrdered
    },
    add(page) {
      pages++
      offset += page.count
      const known = seen.size
      for (const topicId of page.topicIds) seen.add(topicId)
      for (const endMs of page.endsMs) {
        if (endMs > lowestMs) isOrdered = false
        lowestMs = Math.min(lowestMs, endMs)
      }
      const isPast = isOrdered && page.endsMs.length > 0 && page.endsMs[0]! < untilMs
      return !page.hasMore || seen.size === known || pages >= maxPages || isPast
    },
  }
}

/** Reads the neighbouring rounds that the details of a topic name in `timeline`. */
export function readTimeline(
  value: unknown,
): readonly { readonly topicId: string; readonly endMs: number }[] {
  const timeline = fieldOf(value, 'timeline')
  if (!Array.isArray(timeline)) return []
  return timeline.flatMap((round: unknown) => {
    const endMs = fieldOf(round, 'endDate')
    if (typeof endMs !== 'number') return []
    return idOf(fieldOf(round, 'marketTopicId')).map((topicId) => ({ topicId, endMs }))
  })
}

/**
 * Finds by bisection where in the list, which is sorted by end from latest to earliest, the topics that
 * end before `beforeMs` begin: some twenty calls instead of two thousand pages. Returns 0, so that the
 * whole list is read, where the venue does not keep to its order; undefined where a page is not available.
 */
export async function findOffset(
  beforeMs: number,
  readAt: (offset: number) => Promise<Page | undefined>,
): Promise<number | undefined> {
  const first = await readAt(0)
  if (first === undefined) return undefined
  const total = first.total ?? 0
  if (first.count === 0 || !first.hasMore || (first.endsMs.at(-1) ?? 0) < beforeMs) return 0
  // Everything before `low` ends at `beforeMs` or later; the topic at `high`, if any, does not.
  let low = first.count
  let high = Math.max(low, total)
  let latest = first.endsMs.at(-1) ?? Infinity
  let earliest = -Infinity
  while (high - low > first.count) {
    const middle = Math.floor((low + high) / 2)
    const page = await readAt(middle)
    if (page === undefined) return undefined
    const end = page.endsMs[0]
    if (end === undefined) {
      high = middle
      continue
    }
    if (end > latest || end < earliest) return 0
    if (end >= beforeMs) {
      low = middle
      latest = end
    } else {
      high = middle
      earliest = end
    }
  }
  // One page back, because topics that are listed or delisted meanwhile shift all others.
  return Math.max(0, low - first.count)
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as NativeObject)[name] : undefined
}

function idOf(value: unknown): string[] {
  try {
    const topicId = optionalVenueId(value, 'marketTopicId')
    return topicId === undefined ? [] : [topicId]
  } catch (error) {
    if (error instanceof PriorbookError) return []
    throw error
  }
}
