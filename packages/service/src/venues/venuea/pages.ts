import { PriorbookError } from '@priorbook/sdk/domain'
import { readArray, readObject, type NativeObject } from '../capture/fields.ts'
import { optionalVenueId } from './fields.ts'

/** Max topics per call of market/list. */
const PAGE_LIMIT = 100

/** The query of one page of the up/down markets, the latest end first. */
export function pageQuery(offset: number): Readonly<Record<string, string>> {
  return {
    l1Category: 'crypto',
    l2Category: 'up-down',
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
