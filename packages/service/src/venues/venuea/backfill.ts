import { PriorbookError, toMicros, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { readObject, wrong } from '../capture/fields.ts'
import type {
  BackfillEnd,
  BackfillOptions,
  BackfillProgress,
  RoundCounts,
} from '../capture/past-rounds.ts'
import { toQuota } from './api.ts'
import { createAsker } from './backfill-asker.ts'
import {
  createFamilyWalk,
  type FamilyStep,
  type FamilyWalk,
  type NamedRound,
  type RoundAnswer,
} from './backfill-family.ts'
import { normalizeTopic, normalizeTopics } from './catalog.ts'
import { recordsOf } from './discovery.ts'
import { optionalVenueId } from './fields.ts'
import { createPageWalk, readPage, type Page } from './pages.ts'
import { isComplete, pastDetailCall, pastListCall, readNeighbours } from './past.ts'
import { findOffset } from './seek.ts'

/** The windows whose rounds are filled in. */
export const BACKFILL_WINDOWS = ['5m', '15m'] as const

/**
 * Walks the rounds of a coin backwards, all windows side by side, and puts every answer through the
 * sink. Each round's details name its neighbours; the list, which may not show what has ended, is
 * looked at only where no known round names the next. A round that is complete is not asked for, so
 * that a walk goes on where another stopped. Throws `upstream_failed` where the venue refuses the
 * credentials or is away for long; returns early when the signal aborts.
 */
export async function* backfillVenueA(
  options: BackfillOptions,
  signal: AbortSignal,
): AsyncGenerator<BackfillProgress, BackfillEnd, void> {
  const { asset, start, end } = options
  const scope = { asset, start, end }
  const asker = createAsker({ ...options, quota: toQuota(options.quota, 1) })
  const range = { startMs: start / 1000, endMs: end / 1000 }
  const walks = BACKFILL_WINDOWS.map((window) => createFamilyWalk(window, range))
  let firstPage: Page | undefined
  for (const round of options.known) {
    const walk = walks.find(({ window }) => window === round.window)
    walk?.learn([toNamed(round.topicId, round.open, round.close)], round.isComplete)
  }

  function learnRecord(record: MarketRecord): void {
    const { topicId, openTime, closeTime, window } = record
    if (record.asset !== scope.asset || topicId === undefined) return
    if (openTime === undefined || closeTime === undefined) return
    const walk = walks.find((one) => one.window === window)
    walk?.learn([toNamed(topicId, openTime, closeTime)], isComplete(record))
  }

  async function readList(offset: number): Promise<Page> {
    // Every search in the list begins with its first page; it is asked for once.
    if (offset === 0 && firstPage !== undefined) return firstPage
    const page = await asker.ask(
      pastListCall(scope, offset),
      (value) => {
        recordsOf(normalizeTopics(value, NOWHERE)).forEach(learnRecord)
        return readPage(value)
      },
      signal,
    )
    if (page === undefined) {
      throw new PriorbookError('upstream_failed', `venue A gives no list of markets: ${asker.why}`)
    }
    if (offset === 0) firstPage = page
    return page
  }

  /** Reads the list where it shows what ends at a time, if it goes back that far. */
  async function lookUp({ lengthMs }: FamilyWalk, beforeMs: number): Promise<void> {
    const first = (await findOffset(beforeMs + 1, readList)) ?? 0
    const pageWalk = createPageWalk(beforeMs - lengthMs, first)
    for (;;) {
      const page = await readList(pageWalk.offset)
      const isBelow = page.endsMs.some((endMs) => endMs <= beforeMs - lengthMs)
      if (pageWalk.take(page) || isBelow) return
    }
  }

  async function askRound(walk: FamilyWalk, topicId: string): Promise<void> {
    const answer = await asker.ask(
      pastDetailCall(scope, topicId),
      (value): RoundAnswer => {
        const records = recordsOf(normalizeTopic(value, NOWHERE))
        const said = optionalVenueId(readObject(value, 'the topic')['marketTopicId'], 'topic')
        if (said !== topicId) throw wrong('marketTopicId', said, `the topic asked for, ${topicId}`)
        walk.learn(readNeighbours(value))
        return records.length > 0 && records.every(isComplete) ? 'complete' : 'unresolved'
      },
      signal,
    )
    if (answer === undefined) {
      options.log.warn({ venue: 'venuea', topicId }, 'the details of a round could not be had')
    }
    walk.answered(topicId, answer ?? 'gone')
  }

  function progressOf(walk: FamilyWalk, step: FamilyStep): BackfillProgress {
    const isNamed = step.kind === 'ask' && step.isNext
    return {
      window: walk.window,
      reached: toMicros(Math.round(walk.cursorMs * 1000)),
      ...(isNamed ? { next: step.topicId } : {}),
      ...found(),
    }
  }

  function found(): BackfillEnd {
    return { counts: sumOf(walks), calls: asker.calls }
  }

  const steps = new Map(walks.map((walk) => [walk, walk.next()]))
  try {
    for (;;) {
      // Whichever family is behind goes on, so that all of them reach back equally far.
      const open = walks.filter((walk) => steps.get(walk)!.kind !== 'over')
      const walk = open.toSorted((a, b) => b.cursorMs - a.cursorMs)[0]
      if (walk === undefined) return found()
      const step = steps.get(walk)!
      if (step.kind === 'list') {
        await lookUp(walk, step.beforeMs)
        walk.listed(step.beforeMs)
      } else if (step.kind === 'ask') await askRound(walk, step.topicId)
      for (const one of walks) steps.set(one, one.next())
      if (step.kind === 'ask') yield progressOf(walk, steps.get(walk)!)
    }
  } catch (error) {
    if (signal.aborted) return found()
    throw error
  }
}

/** The walk only looks at what an answer says; the recorder reads the same answer from the journal. */
const NOWHERE = { received: toMicros(0), journal: 0 }

function toNamed(topicId: string, open: Micros, close: Micros): NamedRound {
  return { topicId, startMs: open / 1000, endMs: close / 1000 }
}

function sumOf(walks: readonly FamilyWalk[]): RoundCounts {
  const sum = { expected: 0, complete: 0, unresolved: 0, missing: 0 }
  for (const { counts } of walks) {
    for (const name of Object.keys(sum) as (keyof RoundCounts)[]) sum[name] += counts[name]
  }
  return sum
}
