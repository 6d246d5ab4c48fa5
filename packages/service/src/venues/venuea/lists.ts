import { readArray, readObject } from '../capture/fields.ts'
import { attempt } from './attempt.ts'
import { createPageWalk, type Page, type PageWalk } from './rest.ts'
import type { Periods } from './periods.ts'
import { ROUNDS, type TopicFilter } from './topic-filter.ts'

/** A list that is read page by page, again and again. */
export class TopicList {
  readonly filter: TopicFilter
  /** The category of its topics, as far as known. */
  category: string | undefined
  dueMs = 0
  /** How many times all of it has been read. */
  sweeps = 0
  readonly #periods: Periods
  #walk: PageWalk | undefined

  constructor(filter: TopicFilter, periods: Periods) {
    this.filter = filter
    this.category = filter.category
    this.#periods = periods
  }

  get offset(): number {
    return this.#walk?.offset ?? 0
  }

  /** Adds the next page; topics that ended before `untilMs` are not read any more. */
  add(page: Page, untilMs: number, nowMs: number): void {
    const { sweepMs, pageMs, categoryMs } = this.#periods
    this.#walk ??= createPageWalk(untilMs)
    this.dueMs = nowMs
    if (!this.#walk.add(page)) return
    // A long list is read less often, so that it leaves the quota to the rest.
    const leastMs = this.filter === ROUNDS ? sweepMs : categoryMs
    this.dueMs = nowMs + Math.max(leastMs, this.#walk.pages * pageMs)
    this.#walk = undefined
    this.sweeps++
  }
}

/** The filters of all categories that an answer names; undefined where it cannot be read. */
export function readCategories(value: unknown): readonly TopicFilter[] | undefined {
  return attempt(() =>
    readArray(readObject(value, 'the answer')['categories'], 'categories').flatMap(
      (category): readonly TopicFilter[] => {
        const { id, name } = readObject(category, 'a category')
        const hasId = typeof id === 'string' || typeof id === 'number'
        if (!hasId || String(id) === '') return []
        return [
          {
            query: { l1Category: String(id) },
            category: typeof name === 'string' && name !== '' ? name : String(id),
          },
        ]
      },
    ),
  )
}
