import { toMicros, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { backfilledSpan, pricesFamily, tradesFamily, type MarketQuery } from '../store/store.ts'
import type { CaptureLog } from '../venues/capture/contract.ts'
import {
  historyBegin,
  type History,
  type HistoryContext,
  type HistoryScope,
} from '../venues/capture/history.ts'
import { withIntake, type BackfillIntake, type IntakeOptions } from './backfill-intake.ts'

/** What fetching the history of some markets needs. */
export type HistoryOptions = IntakeOptions & {
  readonly log: CaptureLog
  readonly scope: HistoryScope
  open(context: HistoryContext): History
  readonly onProgress?: (progress: HistoryProgress) => void
}

/** What is being requested, and how much of it is done. */
export type HistoryProgress = {
  readonly part: 'catalogue' | 'trades and prices'
  readonly done: number
  readonly total: number
  readonly calls: number
}

/** What was fetched. */
export type HistoryReport = {
  readonly markets: number
  /** With their final result. */
  readonly complete: number
  /** Without a result so far: the next run requests them again. */
  readonly unresolved: number
  /** Fetched in this run, and spans that the venue did not give. */
  readonly trades: number
  readonly values: number
  readonly gaps: number
  readonly calls: number
  readonly quarantined: number
  /** The signal aborted it before the end; another run continues from there. */
  readonly isStopped: boolean
}

/**
 * Fetches the history of some markets from before capture: answers go to the journal first, then rows and the
 * position to the store. What is complete in the store is not requested again, so the next run continues one
 * that was killed.
 */
export async function backfillHistory(
  options: HistoryOptions,
  signal: AbortSignal,
): Promise<HistoryReport> {
  return withIntake(options, async (intake) => {
    const run = new HistoryRun(options, intake, signal)
    try {
      await run.fetch()
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      await intake.flush()
    }
    return run.report()
  })
}

const PAGE = 1000
/** Markets without a result that are requested together. */
const LATE_AT_ONCE = 500
/** The catalogue is not taken for complete up to its last minutes: the venue may list late. */
const LIST_LAG = 600_000_000

/** What is fetched of a market beside its record. */
const PARTS = ['trades', 'prices'] as const

type Part = (typeof PARTS)[number]

type Span = { readonly from: Micros; readonly to: Micros }

class HistoryRun {
  private readonly options: HistoryOptions
  private readonly intake: BackfillIntake
  private readonly signal: AbortSignal
  private readonly history: History
  /** What was listed of the family, in this run or before. */
  private covered: Span | undefined
  private gaps = 0

  constructor(options: HistoryOptions, intake: BackfillIntake, signal: AbortSignal) {
    this.options = options
    this.intake = intake
    this.signal = signal
    const { sink } = intake
    const { log } = options
    this.history = options.open({ sink, log, areComplete: (ids) => this.areComplete(ids) })
  }

  async fetch(): Promise<void> {
    await this.fetchCatalogue()
    await this.fetchRows()
  }

  private async fetchCatalogue(): Promise<void> {
    const { scope } = this.options
    // One call; the store may know some of its markets only.
    if (scope.event !== undefined) {
      await this.request(scope)
      return
    }
    const before = await backfilledSpan(this.options.store, this.options.venue, toFamily(scope))
    const isApart = before === undefined || before.to <= scope.start || before.from >= scope.end
    this.covered = isApart ? undefined : before
    for (const { from, to } of missingIn(scope, this.covered)) {
      await this.request({
        ...scope,
        start: from,
        end: to,
        withOpen: scope.withOpen && to === scope.end,
      })
    }
    if (!isApart) await this.refresh(before)
  }

  async report(): Promise<HistoryReport> {
    let markets = 0
    let complete = 0
    for await (const record of this.markets()) {
      markets++
      if (isComplete(record)) complete++
    }
    const { gaps } = this
    const { quarantined, trades, values } = this.intake
    return {
      markets,
      complete,
      unresolved: markets - complete,
      trades,
      values,
      gaps,
      calls: this.history.calls,
      quarantined,
      isStopped: this.signal.aborted,
    }
  }

  // Requests the catalogue of a span; the span that was listed grows by it.
  private async request(scope: HistoryScope): Promise<void> {
    const { start, end } = scope
    const { onProgress } = this.options
    for await (const { reached } of this.history.catalogue(scope, this.signal)) {
      this.noteListed({ from: start, to: reached })
      await this.intake.flush()
      const [done, total] = [reached - start, end - start]
      onProgress?.({ part: 'catalogue', done, total, calls: this.history.calls })
    }
    await this.intake.flush()
  }

  // Requests markets of a span that was listed before and that had no result then.
  private async refresh({ from, to }: Span): Promise<void> {
    let late: MarketRecord[] = []
    const request = async (): Promise<void> => {
      await this.history.refresh(late, this.signal)
      await this.intake.flush()
      late = []
    }
    for await (const record of this.markets()) {
      const { closeTime = 0 } = record
      if (isComplete(record) || closeTime < from || closeTime >= to) continue
      late.push(record)
      if (late.length >= LATE_AT_ONCE) await request()
    }
    if (late.length > 0) await request()
  }

  // Market by market, each from where the run before stopped.
  private async fetchRows(): Promise<void> {
    const { onProgress } = this.options
    let total = 0
    for await (const _record of this.markets()) total++
    let done = 0
    for await (const record of this.markets()) {
      for (const part of PARTS) await this.fetchPart(part, record)
      onProgress?.({ part: 'trades and prices', done: ++done, total, calls: this.history.calls })
    }
  }

  private async fetchPart(part: Part, record: MarketRecord): Promise<void> {
    const { marketId } = record
    const family = part === 'trades' ? tradesFamily(marketId) : pricesFamily(marketId)
    const known = await backfilledSpan(this.options.store, this.options.venue, family)
    if (isFetched(record, known)) return
    const since = known?.to ?? toMicros(0)
    for await (const { reached, missing } of this.history[part](record, since, this.signal)) {
      if (missing !== undefined) {
        this.gaps++
        const of = part === 'trades' ? {} : { of: part }
        this.intake.note({ note: 'history_gap', market: marketId, ...of, ...missing })
      }
      // What is missing is noted with the position behind it, or not at all.
      if (reached === undefined) continue
      const from = known?.from ?? Math.min(reached, historyBegin(record) ?? reached)
      this.intake.note({ note: 'backfill', family, from, reached })
      await this.intake.flush()
    }
  }

  private noteListed(listed: Span): void {
    const span = joined(this.covered, listed)
    if (span === undefined) return
    const { from } = span
    const reached = Math.min(span.to, this.intake.sink.now() - LIST_LAG)
    if (reached <= from || (this.covered?.from === from && this.covered.to >= reached)) return
    this.covered = { from, to: toMicros(reached) }
    this.intake.note({ note: 'backfill', family: toFamily(this.options.scope), from, reached })
  }

  // The markets of the scope that the store has.
  private async *markets(): AsyncGenerator<MarketRecord, void, void> {
    const { store, venue, scope } = this.options
    const { series, event, asset, window, start, end, withOpen } = scope
    const query = { venue, series, event, asset, window, limit: PAGE }
    const range = event === undefined ? { start, end } : {}
    for (let after: MarketQuery['after']; ;) {
      const page = await store.markets({ ...query, ...range, after })
      for (const { record } of page.markets) {
        const { closeTime = Infinity } = record
        const isIn = closeTime >= start && (withOpen || closeTime < end)
        if (event !== undefined || isIn) yield record
      }
      const last = page.markets.at(-1)
      if (!page.hasMore || last === undefined) return
      after = { openTime: last.sortTime, venue, marketId: last.record.marketId }
    }
  }

  private async areComplete(marketIds: readonly string[]): Promise<boolean> {
    const { store, venue } = this.options
    for (const id of marketIds) {
      const state = await store.market(venue, id)
      if (state === undefined || !isComplete(state.record)) return false
    }
    return true
  }
}

function isComplete({ resolution }: MarketRecord): boolean {
  return resolution?.state === 'final'
}

// The rows of a market are complete once it has its result and all of the time before that was requested.
function isFetched(record: MarketRecord, known: Span | undefined): boolean {
  const { closeTime = Infinity, resolvedTime = closeTime } = record
  return known !== undefined && isComplete(record) && known.to >= Math.max(closeTime, resolvedTime)
}

/** The family of a scope: what was listed of it is remembered under this name. */
function toFamily({ series, asset, window }: HistoryScope): string {
  return series === undefined ? `rounds:${asset ?? ''}:${window ?? ''}` : `series:${series}`
}

/** The parts of a range that were not listed before. */
function missingIn({ start, end }: HistoryScope, covered: Span | undefined): readonly Span[] {
  if (covered === undefined) return [{ from: start, to: end }]
  const before = { from: start, to: covered.from }
  const after = { from: covered.to, to: end }
  return [before, after].filter(({ from, to }) => from < to)
}

/** Two spans as one; undefined where the new one does not reach the other yet. */
function joined(covered: Span | undefined, { from, to }: Span): Span | undefined {
  if (covered === undefined) return { from, to }
  if (to < covered.from) return undefined
  return {
    from: toMicros(Math.min(from, covered.from)),
    to: toMicros(Math.max(to, covered.to)),
  }
}
