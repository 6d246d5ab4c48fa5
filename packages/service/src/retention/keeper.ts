import { setTimeout as pause } from 'node:timers/promises'
import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import type { Config } from '../config/index.ts'
import {
  limitOf,
  RETENTION_TIERS,
  type RetentionLimit,
  type RetentionTier,
} from '../config/retention.ts'
import { AWAY_FILE_BYTES, removeSegments, SegmentSizes } from '../journal/index.ts'
import { Pace } from '../lib/pace.ts'
import { restBetween } from '../lib/wait.ts'
import type { EmbeddedStore, TapeTier } from '../store/embedded/open.ts'
import { restAfterSurvey, surveyTier, type TierSurvey } from './tier-survey.ts'

/** What is kept of one kind of data of one venue, and what went. */
export type TierState = {
  readonly venue: VenueId
  readonly tier: RetentionTier
  readonly limit: RetentionLimit
  /** As the last survey found it; while the first one runs, what it has counted so far. */
  readonly keptBytes: number
  /** The received time of the oldest data at the last survey, where it is known. */
  readonly oldest?: number | undefined
  /** Since the start of this process. */
  readonly removedBytes: number
  readonly removedRows: number
}

/** What a keeper works on. */
export type KeeperOptions = {
  readonly store: EmbeddedStore
  readonly journalDir: string
  readonly config: Config
  /** Counts what would go, and keeps it. */
  readonly isDryRun?: boolean
  /** How long to leave the process to others between two steps; 0 only gives way. */
  readonly restMs?: number
  /** The most of the process's time that surveys take beside a recorder; 2 % by default. */
  readonly surveyShare?: number
  /** The time in microseconds. */
  now?(): number
}

type Log = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

// In the order in which they are trimmed: records of markets go when their rows are gone.
const TAPE_TIERS = ['tape', 'quarantine', 'markets'] as const satisfies readonly TapeTier[]
const SURVEY_SHARE = 0.02
// Where more of a limit than this is used, it is soon passed.
const NEAR = 0.9

type Tally = { removedBytes: number; removedRows: number; keptBytes: number; oldest?: number }

/** Removes what is older or more than the configuration allows, in small steps. */
export class Keeper {
  readonly #options: KeeperOptions
  readonly #limits: ReadonlyMap<string, RetentionLimit>
  readonly #tallies = new Map<string, Tally>()
  readonly #segments = new SegmentSizes()
  readonly #surveys = new Map<TapeTier, TierSurvey>()
  /** Ends the wait for the next pass. */
  #wake = new AbortController()

  constructor(options: KeeperOptions) {
    this.#options = options
    this.#limits = limitsOf(options.config)
  }

  /** True where a limit is set. */
  get hasLimits(): boolean {
    return this.#limits.size > 0
  }

  /** What is kept and what went, for everything that has a limit. */
  status(): readonly TierState[] {
    return [...this.#limits].map(([name, limit]) => {
      const [venue, tier] = name.split(' ') as [VenueId, RetentionTier]
      return { venue, tier, limit, ...this.#tallyOf(venue, tier) }
    })
  }

  /** Applies all limits once, to what is kept now. */
  async pass(signal?: AbortSignal): Promise<void> {
    // The journal first: it gives its space back to the disk at once.
    await this.#trimJournals()
    for (const tier of TAPE_TIERS) {
      if (!this.#has(tier)) continue
      await this.#survey(tier, () => this.#rest(signal))
      await this.#trimTier(tier, true, signal)
    }
  }

  /** Applies the limits again and again until it is stopped; trouble is logged and tried again. */
  async run(signal: AbortSignal, log: Log): Promise<void> {
    if (!this.hasLimits) return
    await Promise.all([this.#runPasses(signal, log), this.#runSurveys(signal, log)])
  }

  async #runPasses(signal: AbortSignal, log: Log): Promise<void> {
    while (!signal.aborted) {
      this.#wake = new AbortController()
      const before = this.#removed()
      try {
        await this.#trimJournals()
        for (const tier of TAPE_TIERS) await this.#trimTier(tier, false, signal)
        const bytes = this.#removed() - before
        if (bytes > 0) log.info({ bytes }, 'retention removed old data')
      } catch (error) {
        if (signal.aborted) return
        const detail = error instanceof Error ? error.message : String(error)
        log.warn({ error: detail }, 'retention could not remove old data: it is tried again')
      }
      await this.#pause(AbortSignal.any([signal, this.#wake.signal]))
    }
  }

  // Beside the passes: a survey reads the place of every chunk, which takes hours where there are many.
  async #runSurveys(signal: AbortSignal, log: Log): Promise<void> {
    const due = new Map<TapeTier, number>()
    while (!signal.aborted) {
      for (const tier of TAPE_TIERS) {
        if (!this.#has(tier) || performance.now() < (due.get(tier) ?? 0)) continue
        try {
          due.set(tier, await this.#surveyAtPace(tier, signal))
        } catch (error) {
          if (signal.aborted) return
          const detail = error instanceof Error ? error.message : String(error)
          log.warn({ error: detail }, 'retention could not add up what is kept: it is tried again')
        }
      }
      await this.#pause(signal)
    }
  }

  // Surveys within a share of the time; says when the next one is due.
  async #surveyAtPace(tier: TapeTier, signal: AbortSignal): Promise<number> {
    const pace = new Pace({ share: this.#options.surveyShare ?? SURVEY_SHARE, signal })
    const startedMs = performance.now()
    await this.#survey(tier, () => pace.step())
    if (this.#used(tier) > 1) this.#wake.abort()
    const tookMs = performance.now() - startedMs
    const hasByteLimit = VENUE_IDS.some((venue) => this.#limit(venue, tier)?.bytes !== undefined)
    const isNear = this.#used(tier) > NEAR
    return startedMs + tookMs + restAfterSurvey(tookMs, { hasByteLimit, isNear })
  }

  #pause(signal: AbortSignal): Promise<void> {
    const waitMs = passEveryMs([...this.#limits.values()])
    return pause(waitMs, undefined, { signal }).catch(() => undefined)
  }

  #removed(): number {
    return [...this.#tallies.values()].reduce((sum, { removedBytes }) => sum + removedBytes, 0)
  }

  #limit(venue: VenueId, tier: RetentionTier): RetentionLimit | undefined {
    return this.#limits.get(`${venue} ${tier}`)
  }

  #has(tier: RetentionTier): boolean {
    return VENUE_IDS.some((venue) => this.#limit(venue, tier) !== undefined)
  }

  #tallyOf(venue: VenueId, tier: RetentionTier): Tally {
    const name = `${venue} ${tier}`
    let tally = this.#tallies.get(name)
    if (tally === undefined) {
      this.#tallies.set(name, (tally = { removedBytes: 0, removedRows: 0, keptBytes: 0 }))
    }
    return tally
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now() * 1000
  }

  async #trimJournals(): Promise<void> {
    for (const venue of VENUE_IDS) await this.#trimJournal(venue)
  }

  async #trimJournal(venue: VenueId): Promise<void> {
    const limit = this.#limit(venue, 'journal')
    if (limit === undefined) return
    const { journalDir, store, isDryRun } = this.#options
    const segments = this.#segments.list(journalDir, venue)
    const removed = removeSegments(
      journalDir,
      venue,
      {
        before: limit.ageMicros === undefined ? undefined : this.#now() - limit.ageMicros,
        bytes: limit.bytes,
        // Rows that only the log holds are derived again from the journal if the log is damaged.
        applied: await store.packedPosition(venue),
        isDryRun,
      },
      this.#segments,
    )
    const tally = this.#tallyOf(venue, 'journal')
    const bytes = removed?.bytes ?? 0
    tally.keptBytes = segments.reduce((sum, segment) => sum + segment.bytes, 0) - bytes
    tally.removedBytes += bytes
    tally.removedRows += removed === undefined ? 0 : removed.last - removed.first + 1
    await this.#rest()
  }

  async #survey(tier: TapeTier, rest: () => Promise<void>): Promise<void> {
    const isFirst = !this.#surveys.has(tier)
    const survey = await surveyTier(this.#options.store, tier, (counted) => {
      if (isFirst) this.#tell(tier, counted)
      return rest()
    })
    this.#surveys.set(tier, survey)
    this.#tell(tier, survey)
  }

  #tell(tier: TapeTier, survey: TierSurvey): void {
    for (const venue of VENUE_IDS) {
      if (this.#limit(venue, tier) === undefined) continue
      const tally = this.#tallyOf(venue, tier)
      const kept = survey.get(venue)
      tally.keptBytes = kept?.total ?? 0
      if (kept?.oldest !== undefined) tally.oldest = kept.oldest
    }
  }

  // How much of its limit the last survey found used, of the venue nearest to one; 0 without a limit of bytes.
  #used(tier: TapeTier): number {
    const shares = VENUE_IDS.map((venue) => {
      const bytes = this.#limit(venue, tier)?.bytes
      const kept = this.#surveys.get(tier)?.get(venue)?.total ?? 0
      return bytes === undefined ? 0 : kept / Math.max(1, bytes)
    })
    return Math.max(...shares)
  }

  async #trimTier(tier: TapeTier, isSurveyNew: boolean, signal?: AbortSignal): Promise<void> {
    for (const venue of VENUE_IDS) await this.#trim(tier, venue, isSurveyNew, signal)
  }

  async #trim(
    tier: TapeTier,
    venue: VenueId,
    isSurveyNew: boolean,
    signal?: AbortSignal,
  ): Promise<void> {
    const limit = this.#limit(venue, tier)
    if (limit === undefined) return
    const { store, isDryRun = false } = this.#options
    const byAge = limit.ageMicros === undefined ? 0 : this.#now() - limit.ageMicros
    // Also where the survey is older: what it counted and is gone since was the oldest, so the time stays right.
    const kept = this.#surveys.get(tier)?.get(venue)
    const byBytes = limit.bytes === undefined ? 0 : (kept?.cutFor(limit.bytes) ?? 0)
    const before = Math.max(byAge, byBytes)
    if (before === 0) return
    // By age, new rows take the place of those that go: how much is kept then, only the next survey says.
    const isCounted = isSurveyNew || byBytes > byAge
    const tally = this.#tallyOf(venue, tier)
    // Rows leave the log only when it is packed.
    if (tier === 'tape' && !isDryRun) await store.packBefore(byAge)
    for (let after: number | undefined = 0; after !== undefined;) {
      const step = await store.removeSome(tier, { venue, before, after, isDryRun })
      if (isCounted) tally.keptBytes -= step.bytes
      tally.removedBytes += step.bytes
      tally.removedRows += step.rows
      after = step.next
      await this.#rest(signal)
    }
    if (tier === 'tape') await this.#trimRevisions({ venue, before, isDryRun }, signal)
  }

  // Versions of market records go with the rows of their time.
  async #trimRevisions(
    order: { readonly venue: VenueId; readonly before: number; readonly isDryRun: boolean },
    signal?: AbortSignal,
  ): Promise<void> {
    for (let after: number | undefined = 0; after !== undefined;) {
      const { next } = await this.#options.store.removeSome('revisions', { ...order, after })
      after = next
      await this.#rest(signal)
    }
  }

  #rest(signal?: AbortSignal): Promise<void> {
    return restBetween(this.#options.restMs ?? 0, signal)
  }
}

/** The largest file of a venue's journal: an eighth of its limit, and what can be moved at once. */
export function segmentLimits(
  config: Config,
  venue: VenueId,
): { readonly segmentBytes: number; readonly segmentMicros?: number } {
  const { ageMicros, bytes } = limitOf(config.retention, config[venue].retention, 'journal')
  const most = config.cold.address === '' ? MAX_SEGMENT : AWAY_FILE_BYTES
  return {
    segmentBytes: bytes === undefined ? most : Math.min(most, Math.ceil(bytes / 8)),
    ...(ageMicros !== undefined && { segmentMicros: ageMicros / 8 }),
  }
}

const MAX_SEGMENT = 128 * 1024 * 1024

function limitsOf(config: Config): ReadonlyMap<string, RetentionLimit> {
  const limits = new Map<string, RetentionLimit>()
  for (const venue of VENUE_IDS) {
    for (const tier of Object.keys(RETENTION_TIERS) as RetentionTier[]) {
      const limit = limitOf(config.retention, config[venue].retention, tier)
      if (Object.keys(limit).length > 0) limits.set(`${venue} ${tier}`, limit)
    }
  }
  return limits
}

// A twentieth of the shortest age, so that little more than the limit is kept; at least every minute.
function passEveryMs(limits: readonly RetentionLimit[]): number {
  const shortest = Math.min(...limits.map(({ ageMicros }) => ageMicros ?? Infinity)) / 1000
  return Math.max(500, Math.min(60_000, shortest / 20))
}
