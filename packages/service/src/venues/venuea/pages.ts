import { PriorbookError } from '@priorbook/sdk/domain'
import { readArray, readObject, type NativeObject } from '../capture/fields.ts'
import { optionalVenueId } from './fields.ts'

/** The most topics that one call of market/list gives. */
export const PAGE_LIMIT = 100

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

/** What a walk through the pages needs to know of one. */
export type Page = {
  readonly topicIds: readonly string[]
  /** Ends of the topics in milliseconds, in the order sent; a topic without one is left out. */
  readonly endsMs: readonly number[]
  /** How many topics it held, readable or not. */
  readonly count: number
  readonly hasMore: boolean
  readonly total: number | undefined
}

/** Reads a page; throws PriorbookError where it is none. What is malformed in it the normalizer reports. */
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

/** A walk through the pages of the list, which ends whatever the venue answers. */
export interface PageWalk {
  readonly offset: number
  readonly pages: number
  /** True while the ends have come latest first. */
  readonly isOrdered: boolean
  /** Takes the page at `offset`; true when the walk is over. */
  take(page: Page): boolean
}

// Three assets with 5- and 15-minute rounds listed a day ahead are 12 pages.
const MAX_PAGES = 60

/**
 * Starts a walk at an offset. It ends with the last page, with one that brings nothing new, at a
 * bound of pages, and, while the ends really come latest first, once all of a page lie before `untilMs`.
 */
export function createPageWalk(untilMs: number, offset = 0, maxPages = MAX_PAGES): PageWalk {
  const seen = new Set<string>()
  let pages = 0
  let isOrdered = true
  let lowest = Infinity
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
    take(page) {
      pages++
      offset += page.count
      const known = seen.size
      for (const topicId of page.topicIds) seen.add(topicId)
      for (const end of page.endsMs) {
        if (end > lowest) isOrdered = false
        lowest = Math.min(lowest, end)
      }
      const isPast = isOrdered && page.endsMs.length > 0 && page.endsMs[0]! < untilMs
      return !page.hasMore || seen.size === known || pages >= maxPages || isPast
    },
  }
}

/** The rounds next to a topic, which its details name in `timeline`. */
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
