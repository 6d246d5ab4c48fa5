import { PriorbookError, toMicros, type Json, type MarketRecord } from '@priorbook/sdk/domain'
import type { Arrival } from '../capture/contract.ts'
import { readObject } from '../capture/fields.ts'
import type { Job } from './budget.ts'
import { normalizeTopic, normalizeTopics, type CatalogAnswer } from './catalog.ts'
import type { Call } from './jobs.ts'
import { createPageWalk, readPage, readTimeline, type PageWalk } from './pages.ts'
import { createPeriods } from './periods.ts'
import type { Rounds } from './rounds.ts'

/** Finds markets: by walks through the list, and by the neighbours that a topic's details name. */
export interface Discovery {
  /** The next page as a call, absent while one is asked for. */
  job(): Job<Call> | undefined
  /** Where the next page starts; from here on it counts as asked for. */
  startPage(): number
  /** The page was answered (undefined: it was not); true where it could be read. */
  takePage(value: unknown, nowMs: number): boolean
  /** The details of a topic were answered; true where they could be read. */
  takeTopic(topicId: string, value: unknown, nowMs: number): boolean
  /** Follows a market that an earlier run recorded, by what its record holds under `native`. */
  resume(native: Json, nowMs: number): void
  /** Walks through the whole list so far. */
  readonly sweeps: number
}

// Rounds that ended before this are not looked for: a backfill does that.
const PAST_MS = 900_000

/** Creates it; what it finds goes to `rounds`. */
export function createDiscovery(rounds: Rounds, speed: number): Discovery {
  const periods = createPeriods(speed)
  let walk: PageWalk | undefined
  let dueMs = 0
  let isAsking = false
  let sweeps = 0

  function see(answer: CatalogAnswer, nowMs: number): void {
    for (const record of recordsOf(answer)) rounds.see(record, nowMs)
  }

  function fail(nowMs: number): false {
    dueMs = nowMs + periods.retryMs
    return false
  }

  return {
    get sweeps() {
      return sweeps
    },
    job() {
      if (isAsking) return undefined
      const call = { kind: 'page' } as const
      const everyMs = periods.sweepMs
      return { class: 'catalogue', dueMs, everyMs, weight: 1, urgent: false, call }
    },
    startPage() {
      isAsking = true
      return walk?.offset ?? 0
    },
    takePage(value, nowMs) {
      isAsking = false
      if (value === undefined) return fail(nowMs)
      walk ??= createPageWalk(nowMs - PAST_MS / speed)
      const page = attempt(() => readPage(value))
      if (page === undefined) return fail(nowMs)
      see(normalizeTopics(value, NOWHERE), nowMs)
      dueMs = nowMs
      if (walk.take(page)) {
        // A long list is walked less often, so that it leaves the quota to the rest.
        dueMs = nowMs + Math.max(periods.sweepMs, walk.pages * periods.pageMs)
        walk = undefined
        sweeps++
      }
      return true
    },
    takeTopic(topicId, value, nowMs) {
      const answer = attempt(() => normalizeTopic(value, NOWHERE))
      if (answer !== undefined) {
        see(answer, nowMs)
        for (const round of readTimeline(value)) {
          rounds.seeNeighbour(round.topicId, round.endMs, nowMs)
        }
      }
      rounds.answered(topicId, answer !== undefined, nowMs)
      return answer !== undefined
    },
    resume(native, nowMs) {
      const answer = attempt(() => {
        const { topic, market } = readObject(native, 'native')
        return normalizeTopic({ ...readObject(topic, 'topic'), markets: [market] }, NOWHERE)
      })
      if (answer !== undefined) see(answer, nowMs)
    },
  }
}

/** The connector only looks at the records; the recorder reads the same answer from the journal. */
const NOWHERE: Arrival = { received: toMicros(0), journal: 0 }

/** The market records of a catalogue answer. */
export function recordsOf({ events }: CatalogAnswer): MarketRecord[] {
  return events.flatMap((event) => (event.kind === 'market' ? [event.record] : []))
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof PriorbookError) return undefined
    throw error
  }
}
