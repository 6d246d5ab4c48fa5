import { PriorbookError, toMicros, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { isObject } from '../capture/fields.ts'
import type { HeldAnswer, HeldAnswers } from '../capture/held-answers.ts'
import { historyBegin, SETTLE_MICROS, type TradesStep } from '../capture/history.ts'
import type { PatientRest } from '../capture/patient-rest.ts'

/** What requesting past trades needs. */
export type PastTradesOptions = {
  /** A client whose answers are held. */
  readonly rest: PatientRest
  readonly held: HeldAnswers
  readonly now: () => Micros
  /** Max calls for the trades of a market; 200 by default, about 100,000 trades, whose pages are kept meanwhile. */
  readonly maxCalls?: number
}

const SECOND = 1_000_000
/** Rows per page, which the venue may cap lower. */
const PAGE = 500
/** Rows that are requested again, because some before them may have gone. */
const OVERLAP = 5
/** Max steps back in a list from which rows disappear. */
const MAX_STEPS = 100
const MAX_CALLS = 200
/** Max times that a page of one second is requested again. */
const MAX_RETRIES = 3

/**
 * Requests the trades of a market of venue C, which lists them newest first by offset, in whole seconds and
 * those of one second in any order. New trades shift all others while pages are read. So the trades of a second
 * are taken from one page alone, which shows a newer trade before them and an older one after them, or the end
 * of the list: what such pages show together has no hole.
 */
export class PastTrades {
  readonly #options: PastTradesOptions
  /** The most rows that a page has had: a shorter one is the last. */
  #longest = 0
  /** Calls for the present market. */
  #calls = 0

  constructor(options: PastTradesOptions) {
    this.#options = options
  }

  async *walk(
    record: MarketRecord,
    since: Micros,
    signal: AbortSignal,
  ): AsyncGenerator<TradesStep, void, void> {
    const { held, now } = this.#options
    const { marketId } = record
    const until = Math.floor((now() - SETTLE_MICROS) / SECOND)
    const from = Math.floor(since / SECOND)
    if (from >= until) return
    const list = new ListWalk(from, until)
    await this.#readList(marketId, list, signal)
    for (const { since: first, until: end, answer } of list.parts.toReversed()) {
      const span = { since: first * SECOND, until: end * SECOND }
      held.release({ kind: 'history_trades', condition_id: marketId, ...span }, answer)
    }
    const reached = toMicros(until * SECOND)
    const start = Math.max(since, historyBegin(record) ?? 0)
    for (const { from: first, to, why } of list.missing) {
      const bounds = {
        start: toMicros(Math.max(start, first * SECOND)),
        end: toMicros(to * SECOND),
      }
      if (bounds.start < bounds.end) yield { missing: { ...bounds, why } }
    }
    yield { reached }
  }

  async #readList(condition: string, list: ListWalk, signal: AbortSignal): Promise<void> {
    const { maxCalls = MAX_CALLS } = this.#options
    this.#calls = 0
    for (let offset = 0; ;) {
      if (this.#calls >= maxCalls) {
        list.stop(`a backfill makes at most ${maxCalls} calls for the trades of a market`)
        return
      }
      const page = await this.#readPage(condition, offset, signal)
      if ('refused' in page) {
        list.stop(`the venue lists no more trades: ${page.refused}`)
        return
      }
      const isLast = await this.#isLast(condition, offset, page.seconds.length, signal)
      const next = list.read({ ...page, offset, isLast })
      if (next === undefined) return
      offset = next
    }
  }

  async #readPage(
    condition: string,
    offset: number,
    signal: AbortSignal,
  ): Promise<
    | { readonly seconds: readonly number[]; readonly answer: HeldAnswer }
    | { readonly refused: string }
  > {
    const { rest, held } = this.#options
    this.#calls++
    const request = { kind: 'history_trades', condition_id: condition }
    const query = {
      market: condition,
      limit: String(PAGE),
      offset: String(offset),
      takerOnly: 'true',
    }
    const reply = await rest.send({ request, path: '/trades', query }, signal)
    const answer = held.take()
    if (!reply.ok) return { refused: reply.why }
    if (answer === undefined || !Array.isArray(reply.value)) {
      throw new PriorbookError('upstream_failed', `venue C gave no list of trades of ${condition}`)
    }
    const seconds = secondsOf(reply.value)
    if (seconds.some((second, at) => second > seconds[at - 1]!)) {
      throw new PriorbookError('upstream_failed', 'venue C gave trades in another order')
    }
    return { seconds, answer }
  }

  // The venue may have a lower cap than was requested: only a page that was longer, or an empty one behind it,
  // proves that a short page is the last.
  async #isLast(
    condition: string,
    offset: number,
    rows: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (rows < this.#longest || rows === 0) return true
    this.#longest = rows
    if (rows === PAGE) return false
    const page = await this.#readPage(condition, offset + rows, signal)
    return 'seconds' in page && page.seconds.length === 0
  }
}

type Page = {
  readonly offset: number
  /** The times of the rows as they came. */
  readonly seconds: readonly number[]
  readonly isLast: boolean
  readonly answer: HeldAnswer
}

/** Which seconds of a list its pages show completely, from the newest to the oldest. */
export class ListWalk {
  /** The parts, newest first: all trades of [since, until) in seconds are in the answer. */
  readonly parts: {
    readonly since: number
    readonly until: number
    readonly answer: HeldAnswer
  }[] = []
  readonly missing: { readonly from: number; readonly to: number; readonly why: string }[] = []
  readonly #from: number
  /** All trades from here on are in the parts, or missing. */
  #until: number
  #step = OVERLAP
  #steps = 0
  #retries = 0

  constructor(from: number, until: number) {
    this.#from = from
    this.#until = until
  }

  /** Takes a page; returns the offset of the next one, undefined where no more is needed. */
  read({ offset, seconds, isLast, answer }: Page): number | undefined {
    const [first, last] = [seconds[0], seconds.at(-1)]
    // Without a trade that is not older than what is there, some may lie between: back to where they are.
    const isJoined = offset === 0 || (first !== undefined && first >= this.#until)
    if (!isJoined) {
      if (++this.#steps > MAX_STEPS) {
        throw new PriorbookError('upstream_failed', 'trades disappear from the list of venue C')
      }
      this.#step *= 2
      return Math.max(0, offset - this.#step)
    }
    this.#step = OVERLAP
    const lowest = isLast || last === undefined ? this.#from : Math.max(this.#from, last + 1)
    if (lowest < this.#until) {
      this.parts.push({ since: lowest, until: this.#until, answer })
      this.#until = lowest
    }
    if (isLast || last === undefined || this.#until <= this.#from) return undefined
    const begins = seconds.indexOf(last)
    if (begins > 1) return offset + Math.max(1, begins - OVERLAP)
    // A short list of one second, to which trades were added meanwhile.
    if (seconds.length < PAGE && this.#retries++ < MAX_RETRIES) return offset
    // The whole page is of one second, of which a page cannot show all.
    if (last < this.#until) {
      const why = 'one second has more trades than a page of the venue'
      this.missing.push({ from: last, to: this.#until, why })
      this.#until = last
    }
    return offset + seconds.length - 1
  }

  /** The venue does not go on: what is older is missing. */
  stop(why: string): void {
    this.missing.push({ from: this.#from, to: this.#until, why })
  }
}

// A row without a time, which goes to the quarantine, counts as one of the row before it.
function secondsOf(rows: readonly unknown[]): number[] {
  const said = rows.map((row) => (isObject(row) ? row['timestamp'] : undefined))
  const isTime = (time: unknown): time is number => Number.isSafeInteger(time) && Number(time) > 0
  let second = said.find(isTime) ?? 0
  return said.map((time) => (second = isTime(time) ? time : second))
}
