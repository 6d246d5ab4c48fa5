import { PriorbookError, toMicros, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { isNoTime, isObject, readTime } from '../capture/fields.ts'
import type { HeldAnswer, HeldAnswers } from '../capture/held-answers.ts'
import { SETTLE_MICROS, type TradesStep } from '../capture/history.ts'
import type { PatientRest } from '../capture/patient-rest.ts'

/** What requesting past trades needs. */
export type PastTradesOptions = {
  /** A client whose answers are held. */
  readonly rest: PatientRest
  readonly held: HeldAnswers
  readonly now: () => Micros
  /** When the oldest trades of the list happened, as it was known at most this long ago; older ones are archived. */
  readonly cutoff: (maxAgeMs: number, signal: AbortSignal) => Promise<Micros>
}

const SECOND = 1_000_000
/** Max trades per answer. */
const PAGE = 1000
/** Max pages of one second. */
const MAX_PAGES = 1000
/** A span is chosen to fill this share of an answer, because trades do not come evenly. */
const FILL = 0.7
/** The cutoff may move while trades younger than this are read. */
const MOVES = 86_400 * SECOND
const CUTOFF_AGE_MS = 600_000
/** How long before its open time a market may have traded. */
const BEFORE_OPEN = 3_600 * SECOND

/**
 * Requests the trades of a market of venue B by spans of time, each small enough for one answer. Such an answer
 * is complete or not used at all, so that nothing depends on how the venue continues a list while trades
 * arrive, or on the order of those that happened at the same time.
 */
export class PastTrades {
  readonly #options: PastTradesOptions

  constructor(options: PastTradesOptions) {
    this.#options = options
  }

  async *walk(
    record: MarketRecord,
    since: Micros,
    signal: AbortSignal,
  ): AsyncGenerator<TradesStep, void, void> {
    const end = wholeSecond(this.#options.now() - SETTLE_MICROS)
    // No trade is older than its market, so the first span begins before it.
    const first = wholeSecond(record.openTime ?? record.createdTime ?? since)
    let length = Infinity
    for (let from = since; from < end;) {
      const start = Math.max(from, first)
      const cutoff = wholeSecond(await this.#options.cutoff(CUTOFF_AGE_MS, signal))
      const oldest = Math.max(from, first - BEFORE_OPEN)
      const isPast = oldest < cutoff
      const last = isPast ? Math.min(end, cutoff) : end
      const to = toMicros(Math.min(last, start + length))
      const span = { ticker: record.marketId, from, to, oldest, isPast }
      const read = await this.#readSpan(span, signal)
      if (read === 'moved') continue
      if (typeof read !== 'number' && 'oldest' in read && to - start > SECOND) {
        length = shorter(to - start, to - read.oldest)
        continue
      }
      if (typeof read !== 'number') yield await this.#readHard(span, read, toMicros(start), signal)
      else yield { reached: to }
      from = to
      // A quiet span may be followed by another one.
      if (typeof read === 'number' && read < PAGE / 4) length *= 2
    }
  }

  /** Reads a span: how many trades it has, the oldest of an answer that did not hold all, or why none. */
  async #readSpan(span: Span, signal: AbortSignal): Promise<number | Unread | 'moved'> {
    const page = await this.#readPage(span, undefined, signal)
    if ('refused' in page) return page
    if (page.cursor !== undefined) return { oldest: oldestOf(page.trades) ?? span.from }
    if (await this.#hasMoved(span, signal)) return 'moved'
    this.#release(span, page.answer)
    return page.trades.length
  }

  // A span that the venue refuses is missing. A second with more trades than an answer holds is read page by
  // page, and journaled oldest first.
  async #readHard(
    span: Span,
    unread: Unread,
    start: Micros,
    signal: AbortSignal,
  ): Promise<TradesStep> {
    const { to: reached } = span
    const refused = (why: string): TradesStep =>
      start < reached ? { reached, missing: { start, end: reached, why } } : { reached }
    if ('refused' in unread) return refused(unread.refused)
    const pages: HeldAnswer[] = []
    let cursor: string | undefined
    let why: string | undefined
    do {
      const page = await this.#readPage(span, cursor, signal)
      if ('refused' in page) {
        why = page.refused
        break
      }
      pages.push(page.answer)
      cursor = page.cursor
      if (pages.length === MAX_PAGES) why = 'the venue lists this second without an end'
    } while (cursor !== undefined && why === undefined)
    for (const page of pages.toReversed()) this.#release(span, page)
    return why === undefined ? { reached } : refused(why)
  }

  async #readPage(
    { ticker, from, to, isPast }: Span,
    cursor: string | undefined,
    signal: AbortSignal,
  ): Promise<TradesPage | { readonly refused: string }> {
    const { rest, held } = this.#options
    // The venue does not say whether its bounds are part of the span: a second more on both sides.
    const query = {
      ticker,
      limit: String(PAGE),
      min_ts: String(Math.max(0, from / SECOND - 1)),
      max_ts: String(to / SECOND + 1),
      ...(cursor === undefined ? {} : { cursor }),
    }
    const path = isPast ? '/historical/trades' : '/markets/trades'
    const answer = await rest.send(
      { request: { kind: 'history_trades', ticker }, path, query },
      signal,
    )
    const kept = held.take()
    const trades = answer.ok && isObject(answer.value) ? answer.value['trades'] : undefined
    if (!answer.ok) return { refused: `the venue refused its trades: ${answer.why}` }
    if (kept === undefined || !Array.isArray(trades)) {
      throw new PriorbookError('upstream_failed', `venue B gave no list of trades of ${ticker}`)
    }
    const { cursor: next } = answer.value as { readonly cursor?: unknown }
    const more = typeof next === 'string' && next !== '' && trades.length > 0 ? next : undefined
    return { trades, cursor: more, answer: kept }
  }

  // Trades that went to the archive between two calls would be missing from an answer about the list.
  async #hasMoved({ oldest, isPast }: Span, signal: AbortSignal): Promise<boolean> {
    if (isPast) return false
    const { cutoff } = this.#options
    if ((await cutoff(CUTOFF_AGE_MS, signal)) + MOVES < oldest) return false
    return wholeSecond(await cutoff(0, signal)) > oldest
  }

  #release({ ticker, from, to }: Span, answer: HeldAnswer): void {
    const request = { kind: 'history_trades', ticker, since: from, until: to }
    this.#options.held.release(request, answer)
  }
}

/** Why a span was not read: its answer does not hold all trades, only those from `oldest` on, or none. */
type Unread = { readonly oldest: Micros } | { readonly refused: string }

type TradesPage = {
  readonly trades: readonly unknown[]
  /** Present where the answer does not hold all. */
  readonly cursor: string | undefined
  readonly answer: HeldAnswer
}

type Span = {
  readonly ticker: string
  readonly from: Micros
  readonly to: Micros
  /** When its first trade may have happened. */
  readonly oldest: number
  /** In the archive. */
  readonly isPast: boolean
}

// The newest trades of a span that was too long show how many come in which time.
function shorter(length: number, held: number): number {
  const filled = Math.floor((held * FILL) / SECOND) * SECOND
  return Math.max(SECOND, Math.min(Math.floor(length / 2 / SECOND) * SECOND, filled))
}

function oldestOf(trades: readonly unknown[]): Micros | undefined {
  let oldest: Micros | undefined
  for (const trade of trades) {
    const said = isObject(trade) ? trade['created_time'] : undefined
    if (isNoTime(said)) continue
    try {
      const time = readTime(said, 'created_time')
      if (oldest === undefined || time < oldest) oldest = time
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
    }
  }
  return oldest
}

function wholeSecond(time: number): Micros {
  return toMicros(Math.max(0, Math.floor(time / SECOND) * SECOND))
}
