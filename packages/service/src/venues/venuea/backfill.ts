import { PriorbookError, toMicros, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { SYSTEM_CLOCK, type Clock } from '../../lib/clock.ts'
import type { CaptureLog } from '../capture/contract.ts'
import { readObject, wrong } from '../capture/fields.ts'
import { recordsOf } from '../capture/followed-markets.ts'
import type {
  BackfillEnd,
  BackfillOptions,
  BackfillProgress,
  RoundCounts,
} from '../capture/definition.ts'
import { createPace } from '../capture/patient-rest.ts'
import type { Quota } from '../capture/quota.ts'
import type { RestAnswer, RestCall } from '../capture/rest.ts'
import { judgeByStatus, withRetries, type Patience, type Verdict } from '../capture/retries.ts'
import { normalizeTopic, normalizeTopics } from './catalog.ts'
import {
  FamilyWalk,
  isComplete,
  pastDetailCall,
  pastListCall,
  readNeighbours,
  type FamilyStep,
  type NamedRound,
  type PastScope,
  type RoundAnswer,
} from './past.ts'
import { optionalVenueId } from './native.ts'
import {
  createPageWalk,
  findOffset,
  isCredentialRefusal,
  readPage,
  toQuota,
  VenueARest,
  type Page,
} from './rest.ts'

/** The windows whose rounds are backfilled. */
export const BACKFILL_WINDOWS = ['5m', '15m'] as const

/**
 * Walks the rounds of a coin backwards, all windows side by side, and puts every answer through the sink.
 * Each round's details name its neighbours; the list, which may not show ended rounds, is read only where
 * no known round names the next one. A complete round is not requested again, so a backfill continues
 * where an earlier one stopped. Throws `upstream_failed` when the venue refuses the credentials or does not
 * answer for long; returns early when the signal aborts.
 */
export async function* backfillVenueA(
  options: BackfillOptions,
  signal: AbortSignal,
): AsyncGenerator<BackfillProgress, BackfillEnd, void> {
  const run = new Backfill(options, signal)
  try {
    for (;;) {
      const progress = await run.advance()
      if (progress === undefined) return run.end()
      if (progress !== 'listed') yield progress
    }
  } catch (error) {
    if (signal.aborted) return run.end()
    throw error
  }
}

class Backfill {
  readonly #options: BackfillOptions
  readonly #signal: AbortSignal
  readonly #scope: PastScope
  readonly #requests: BackfillRequests
  readonly #walks: readonly FamilyWalk[]
  #steps: ReadonlyMap<FamilyWalk, FamilyStep>
  #firstPage: Page | undefined

  constructor(options: BackfillOptions, signal: AbortSignal) {
    const { asset, start, end, known, quota, clock } = options
    this.#options = options
    this.#signal = signal
    this.#scope = { asset, start, end }
    this.#requests = new BackfillRequests({ ...options, quota: toQuota(quota, 1, clock) })
    const range = { startMs: start / 1000, endMs: end / 1000 }
    this.#walks = BACKFILL_WINDOWS.map((window) => new FamilyWalk(window, range))
    for (const round of known) {
      const named = toNamed(round.topicId, round.open, round.close)
      this.#walkOf(round.window)?.learn([named], round.isComplete)
    }
    this.#steps = this.#nextSteps()
  }

  /** Makes the next step: a requested round gives progress, a read list `listed`; undefined at the end. */
  async advance(): Promise<BackfillProgress | 'listed' | undefined> {
    // The family that is furthest behind goes on, so that all of them reach back equally far.
    const open = this.#walks.filter((walk) => this.#steps.get(walk)!.kind !== 'over')
    const walk = open.toSorted((a, b) => b.cursorMs - a.cursorMs)[0]
    if (walk === undefined) return undefined
    const step = this.#steps.get(walk)!
    if (step.kind === 'list') {
      await this.#searchList(walk, step.beforeMs)
      walk.listed(step.beforeMs)
    } else if (step.kind === 'request') await this.#requestRound(walk, step.topicId)
    this.#steps = this.#nextSteps()
    return step.kind === 'request' ? this.#progressOf(walk) : 'listed'
  }

  end(): BackfillEnd {
    const counts = { expected: 0, complete: 0, unresolved: 0, missing: 0 }
    for (const walk of this.#walks) {
      for (const name of Object.keys(counts) as (keyof RoundCounts)[]) {
        counts[name] += walk.counts[name]
      }
    }
    return { counts, calls: this.#requests.calls }
  }

  #nextSteps(): ReadonlyMap<FamilyWalk, FamilyStep> {
    return new Map(this.#walks.map((walk) => [walk, walk.next()]))
  }

  #walkOf(window: string | undefined): FamilyWalk | undefined {
    return this.#walks.find((walk) => walk.window === window)
  }

  #progressOf(walk: FamilyWalk): BackfillProgress {
    const step = this.#steps.get(walk)!
    return {
      window: walk.window,
      reached: toMicros(Math.round(walk.cursorMs * 1000)),
      ...(step.kind === 'request' && step.isNext ? { next: step.topicId } : {}),
      ...this.end(),
    }
  }

  /** Reads the list where it shows rounds that end at a time, if it goes back that far. */
  async #searchList({ lengthMs }: FamilyWalk, beforeMs: number): Promise<void> {
    const first = (await findOffset(beforeMs + 1, (offset) => this.#readList(offset))) ?? 0
    const pages = createPageWalk(beforeMs - lengthMs, first)
    for (;;) {
      const page = await this.#readList(pages.offset)
      const isBelow = page.endsMs.some((endMs) => endMs <= beforeMs - lengthMs)
      if (pages.add(page) || isBelow) return
    }
  }

  async #readList(offset: number): Promise<Page> {
    // Every search begins with the first page, which is requested only once.
    if (offset === 0 && this.#firstPage !== undefined) return this.#firstPage
    const page = await this.#requests.send(
      pastListCall(this.#scope, offset),
      (value) => {
        for (const record of recordsOf(normalizeTopics(value, NOWHERE))) this.#learn(record)
        return readPage(value)
      },
      this.#signal,
    )
    if (page === undefined) {
      const why = `venue A gives no list of markets: ${this.#requests.why}`
      throw new PriorbookError('upstream_failed', why)
    }
    if (offset === 0) this.#firstPage = page
    return page
  }

  #learn(record: MarketRecord): void {
    const { topicId, openTime, closeTime, window, asset } = record
    if (asset !== this.#scope.asset || topicId === undefined) return
    if (openTime === undefined || closeTime === undefined) return
    this.#walkOf(window)?.learn([toNamed(topicId, openTime, closeTime)], isComplete(record))
  }

  async #requestRound(walk: FamilyWalk, topicId: string): Promise<void> {
    const answer = await this.#requests.send(
      pastDetailCall(this.#scope, topicId),
      (value): RoundAnswer => {
        const records = recordsOf(normalizeTopic(value, NOWHERE))
        const named = optionalVenueId(readObject(value, 'the topic')['marketTopicId'], 'topic')
        if (named !== topicId)
          throw wrong('marketTopicId', named, `the requested topic, ${topicId}`)
        walk.learn(readNeighbours(value))
        return records.length > 0 && records.every(isComplete) ? 'complete' : 'unresolved'
      },
      this.#signal,
    )
    if (answer === undefined) {
      const fields = { venue: 'venuea', topicId }
      this.#options.log.warn(fields, 'the details of a round are not available')
    }
    walk.answered(topicId, answer ?? 'gone')
  }
}

// The walk needs all rounds of an answer; the recorder's reading leaves out those outside the range.
const NOWHERE = { received: toMicros(0), journal: 0 }

function toNamed(topicId: string, open: Micros, close: Micros): NamedRound {
  return { topicId, startMs: open / 1000, endMs: close / 1000 }
}

const MAX_ATTEMPTS = 40
/** Max attempts for calls that are refused or answered unreadably: another answer may be better. */
const MAX_REFUSALS = 3
/** The longest wait between attempts, in calls that the quota allows in this time. */
const MAX_WAITED_CALLS = 60

/**
 * Calls venue A at an even pace until there is an answer. Calls are spread over the quota's window: a
 * process that was killed and started again does not know what the one before it spent, and together they
 * must not exceed the quota.
 */
class BackfillRequests {
  readonly #rest: VenueARest
  readonly #pace: Quota
  readonly #clock: Clock
  readonly #log: CaptureLog
  readonly #patience: Patience
  #calls = 0
  #why = ''

  constructor(options: Omit<BackfillOptions, 'quota'> & { readonly quota: Quota }) {
    const { apiKey, apiSecret, quota, log, attempts = MAX_ATTEMPTS, clock = SYSTEM_CLOCK } = options
    this.#rest = new VenueARest({ ...options, credentials: { apiKey, apiSecret } })
    const paceMs = quota.windowMs / quota.limit
    this.#clock = clock
    this.#pace = createPace(quota, clock)
    this.#log = log
    this.#patience = {
      attempts,
      refusals: MAX_REFUSALS,
      firstWaitMs: paceMs,
      maxWaitMs: paceMs * MAX_WAITED_CALLS,
    }
  }

  get calls(): number {
    return this.#calls
  }

  /** Why the last failed call failed. */
  get why(): string {
    return this.#why
  }

  /**
   * Returns what `read` makes of the answer, or undefined where the venue refuses the call itself: it does
   * not have the requested data. Throws `upstream_failed` where it refuses this client or does not answer for long.
   */
  async send<T>(
    call: RestCall,
    read: (value: unknown) => T,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    let verdict: Verdict = 'failed'
    let value: T | undefined
    const judge = (answer: RestAnswer): Verdict => {
      verdict = this.#judge(answer, (said) => (value = read(said)))
      if (verdict === 'good' || verdict === 'barred') return verdict
      const fields = { venue: 'venuea', request: call.request, why: this.#why }
      this.#log.warn(fields, 'a call of the backfill failed')
      return verdict
    }
    const paced = { send: () => this.#call(call, signal) }
    const answer = await withRetries(paced, this.#patience, this.#clock, judge).send(call, signal)
    switch (verdict as Verdict) {
      case 'good':
        return value
      case 'refused':
        return undefined
      case 'barred':
        throw clientFailure(answer)
      case 'failed': {
        const why = `venue A did not answer ${call.path}: ${this.#why}`
        throw new PriorbookError('upstream_failed', why)
      }
    }
  }

  async #call(call: RestCall, signal: AbortSignal): Promise<RestAnswer> {
    const release = await this.#pace.acquire(1, false, signal)
    // Released at once, because only the starts are spread; the quota itself waits for answers.
    release()
    this.#calls++
    return this.#rest.send(call, signal)
  }

  // An answer that cannot be read counts as a refusal: another one may be better.
  #judge(answer: RestAnswer, read: (value: unknown) => void): Verdict {
    if (isCredentialRefusal(answer)) return 'barred'
    if (!answer.ok) {
      this.#why = `${answer.status ?? 'no answer'}: ${answer.why}`
      return isLateSignature(answer) ? 'failed' : judgeByStatus(answer)
    }
    try {
      read(answer.value)
      return 'good'
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      this.#why = error.message
      return 'refused'
    }
  }
}

// It passes by itself: the next call has a signature of its own.
function isLateSignature({ why }: RestAnswer & { readonly ok: false }): boolean {
  return /"code"\s*:\s*-1021\b/.test(why)
}

function clientFailure(answer: RestAnswer): PriorbookError {
  const what = `venue A refuses ${isCredentialRefusal(answer) ? 'the credentials' : 'this client'}`
  return new PriorbookError('upstream_failed', answer.ok ? what : `${what}: ${answer.why}`)
}
