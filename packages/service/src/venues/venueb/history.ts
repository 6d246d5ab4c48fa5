import {
  PriorbookError,
  toMicros,
  type Json,
  type MarketRecord,
  type Micros,
} from '@priorbook/sdk/domain'
import type { CaptureRequest } from '../capture/contract.ts'
import { isNoTime, isObject, readTime } from '../capture/fields.ts'
import type {
  CatalogueStep,
  History,
  HistoryContext,
  HistoryScope,
  TradesStep,
} from '../capture/history.ts'
import { HeldAnswers } from '../capture/held-answers.ts'
import { createPace, PatientRest } from '../capture/patient-rest.ts'
import { walkPrices, type PriceSpan } from '../capture/price-walk.ts'
import type { QuotaOptions } from '../capture/quota.ts'
import type { Rest, RestCall } from '../capture/rest.ts'
import { readSeries, toRequestSeries, type OneSeries } from './catalog.ts'
import { readCursorPages } from './pages.ts'
import { PastTrades } from './past-trades.ts'

/** Where the history of venue B comes from. */
export type VenueBHistoryOptions = { readonly restBase: string; readonly quota: QuotaOptions }

/** Markets are listed by the time of their close, in spans of this length. */
const SPAN = 7 * 86_400_000_000
/** Max pages of a span or of the archive, with 1,000 markets each. */
const MAX_PAGES = 10_000
const CUTOFF_AGE_MS = 600_000
/** Candlesticks per request, below what the venue gives. */
const MAX_CANDLES = 4000
/** Max tickers per request. */
const BATCH = 50

/** Requests the history of venue B: series and events from its lists, and what is older from its archive. */
export class VenueBHistory implements History {
  readonly #rest: PatientRest
  readonly #context: HistoryContext
  readonly #series = new Map<string, OneSeries>()
  readonly #tradesRest: PatientRest
  readonly #trades: PastTrades
  #cutoffs: Cutoffs | undefined

  constructor({ restBase: base, quota }: VenueBHistoryOptions, context: HistoryContext) {
    const { sink, clock } = context
    const pace = createPace(quota, clock)
    const held = new HeldAnswers(sink)
    this.#context = context
    this.#rest = new PatientRest({ ...context, label: 'venue B', base, pace })
    this.#tradesRest = new PatientRest({
      ...context,
      label: 'venue B',
      base,
      pace,
      sink: held.sink,
    })
    this.#trades = new PastTrades({
      rest: this.#tradesRest,
      held,
      now: () => sink.now(),
      cutoff: async (maxAgeMs, signal) => (await this.#cutoff(maxAgeMs, signal)).trades,
    })
  }

  get calls(): number {
    return this.#rest.calls + this.#tradesRest.calls
  }

  trades(
    record: MarketRecord,
    since: Micros,
    signal: AbortSignal,
  ): AsyncGenerator<TradesStep, void, void> {
    return this.#trades.walk(record, since, signal)
  }

  async *prices(
    record: MarketRecord,
    since: Micros,
    signal: AbortSignal,
  ): AsyncGenerator<TradesStep, void, void> {
    const { marketId: ticker, seriesTicker: series, resolvedTime } = record
    const isArchived = async (maxAgeMs: number): Promise<boolean> =>
      resolvedTime !== undefined && resolvedTime < (await this.#cutoff(maxAgeMs, signal)).markets
    const pathIn = (markets: string): string =>
      `${markets}/${encodeURIComponent(ticker)}/candlesticks`
    const archive = pathIn('/historical/markets')
    const live = pathIn(`/series/${encodeURIComponent(series ?? '')}/markets`)
    const path = (await isArchived(CUTOFF_AGE_MS)) ? archive : live
    // The market may go to the archive meanwhile.
    const send: Rest['send'] = async (call, own) => {
      const answer = await this.#rest.send(call, own)
      if (answer.ok || call.path === archive || !(await isArchived(0))) return answer
      return this.#rest.send({ ...call, path: archive }, own)
    }
    const walk = {
      rest: { send },
      now: () => this.#context.sink.now(),
      maxValues: MAX_CANDLES,
      callsOf: (_record: MarketRecord, { from, to, minutes }: PriceSpan) => [
        {
          request: { kind: 'history_candles', ticker, minutes },
          path,
          query: {
            start_ts: String(from),
            end_ts: String(to),
            period_interval: String(minutes),
          },
        },
      ],
    }
    yield* walkPrices(walk, record, since, signal)
  }

  async *catalogue(
    scope: HistoryScope,
    signal: AbortSignal,
  ): AsyncGenerator<CatalogueStep, void, void> {
    const { series, event, start, end, withOpen } = scope
    if (event !== undefined) {
      const { why, series: own } = await this.#readEvent(event, signal)
      if (why !== undefined) {
        throw new PriorbookError('invalid_argument', `venue B gives no event ${event}: ${why}`)
      }
      // The event stays where it is when its markets go to the archive.
      const archived = this.#listArchive({ event_ticker: event }, own, () => true, signal)
      for await (const _page of archived) yield { reached: start }
      return
    }
    if (series === undefined) return
    await this.#readSeries(series, signal)
    const isMeant = ({ close = start }: Listed): boolean => close >= start && close < end
    let { markets: cutoff } = await this.#cutoff(CUTOFF_AGE_MS, signal)
    const listArchive = (): AsyncGenerator<number, void, void> =>
      this.#listArchive({ series_ticker: series }, series, isMeant, signal)
    if (start < cutoff) for await (const _page of listArchive()) yield { reached: start }
    for (let from = start; from < end;) {
      const to = toMicros(Math.min(from + SPAN, end))
      const ended = {
        min_close_ts: String(Math.floor(from / 1e6)),
        max_close_ts: String(Math.ceil(to / 1e6)),
      }
      for await (const _event of this.#readListed(series, ended, { from, to }, signal)) {
        yield { reached: from }
      }
      // Those that went to the archive after it was listed may have gone from the list before it was read.
      const { markets: moved } = await this.#cutoff(0, signal)
      if (moved > cutoff && from < moved) {
        for await (const _page of listArchive()) yield { reached: from }
        cutoff = moved
      }
      yield { reached: to }
      from = to
    }
    if (!withOpen) return
    const ahead = { from: start, to: toMicros(Number.MAX_SAFE_INTEGER) }
    for await (const _event of this.#readListed(series, { status: 'open' }, ahead, signal)) {
      yield { reached: end }
    }
  }

  async refresh(records: readonly MarketRecord[], signal: AbortSignal): Promise<void> {
    const named = records.map(({ marketId, seriesTicker }) => [marketId, seriesTicker] as const)
    await this.#readMarkets(new Map(named), signal)
  }

  // Requests markets by their tickers, with the series that each is of.
  async #readMarkets(
    markets: ReadonlyMap<string, string | undefined>,
    signal: AbortSignal,
  ): Promise<void> {
    const entries = [...markets]
    for (let from = 0; from < entries.length; from += BATCH) {
      const batch = entries.slice(from, from + BATCH)
      const known = batch.filter(([, series]) => series !== undefined)
      const request = { kind: 'history_markets', series_of: Object.fromEntries(known) as Json }
      const namedIn = (tickers: readonly string[]): Record<string, string> => ({
        tickers: tickers.join(','),
        limit: String(BATCH),
      })
      const all = batch.map(([ticker]) => ticker)
      const answer = await this.#rest.send(
        { request, path: '/markets', query: namedIn(all) },
        signal,
      )
      const found = new Set(answer.ok ? listedIn(answer.value).map(({ ticker }) => ticker) : [])
      const others = all.filter((ticker) => !found.has(ticker))
      if (others.length === 0) continue
      const query = namedIn(others)
      await this.#rest.send({ request, path: '/historical/markets', query }, signal)
    }
  }

  // Lists markets and requests the events of those that close in a span, each with all of its markets: the
  // list of markets does not say what their events do, so it is not kept.
  async *#readListed(
    series: string,
    filter: Readonly<Record<string, string>>,
    { from, to }: { readonly from: Micros; readonly to: Micros },
    signal: AbortSignal,
  ): AsyncGenerator<string, void, void> {
    const events = new Map<string, string[]>()
    const query = { series_ticker: series, limit: '1000', mve_filter: 'exclude', ...filter }
    await this.#readPages(
      { request: { kind: 'history_markets' }, path: '/markets', query },
      signal,
      (listed) => {
        for (const { ticker, event, close = from } of listed) {
          if (close < from || close >= to) continue
          const tickers = events.get(event)
          if (tickers === undefined) events.set(event, [ticker])
          else tickers.push(ticker)
        }
      },
    )
    for (const [event, tickers] of events) {
      if (await this.#context.areComplete(tickers)) continue
      const { why } = await this.#readEvent(event, signal)
      if (why !== undefined) {
        this.#context.log.warn({ event, why }, 'venue B lists an event that it does not give')
        await this.#readMarkets(new Map(tickers.map((ticker) => [ticker, series])), signal)
      }
      yield event
    }
  }

  // Markets that settled before the cutoff are in the archive alone, which has no filter by time.
  // A step after each page: what it brought is stored before the next one.
  async *#listArchive(
    filter: Readonly<Record<string, string>>,
    series: string | undefined,
    isMeant: (listed: Listed) => boolean,
    signal: AbortSignal,
  ): AsyncGenerator<number, void, void> {
    const kind = 'history_markets'
    const request = series === undefined ? { kind } : this.#requestOf({ kind, series })
    // The venue refuses a second filter beside this one.
    const shared = { ...filter, limit: '1000' }
    const path = '/historical/markets'
    const seen = new Set<string>()
    for (let cursor: string | undefined; ;) {
      const query = cursor === undefined ? shared : { ...shared, cursor }
      const describe = (value: unknown): CaptureRequest | undefined =>
        listedIn(value).some(isMeant) ? request : undefined
      const answer = await this.#rest.send({ request, path, query, describe }, signal)
      const next = answer.ok && isObject(answer.value) ? answer.value['cursor'] : undefined
      const hasMore = typeof next === 'string' && next !== ''
      if (!answer.ok || (hasMore && (seen.has(next) || seen.size >= MAX_PAGES))) {
        throw new PriorbookError('upstream_failed', `venue B did not list ${path} to its end`)
      }
      yield listedIn(answer.value).length
      if (!hasMore) return
      seen.add(next)
      cursor = next
    }
  }

  async #readPages(
    list: Pick<RestCall, 'request' | 'path'> & { query: Readonly<Record<string, string>> },
    signal: AbortSignal,
    onListed: (listed: readonly Listed[]) => void,
  ): Promise<void> {
    const { log } = this.#context
    const end = await readCursorPages(
      { rest: this.#rest, log },
      { ...list, keep: false, maxPages: MAX_PAGES },
      ({ value }) => {
        const listed = listedIn(value)
        onListed(listed)
        return listed.length
      },
      signal,
    )
    if (end === 'complete') return
    throw new PriorbookError('upstream_failed', `venue B did not list ${list.path} to its end`)
  }

  /** Requests an event with its markets; returns its series, or why the venue did not give it. */
  async #readEvent(
    event: string,
    signal: AbortSignal,
  ): Promise<{ readonly why?: string; readonly series?: string | undefined }> {
    const request = { kind: 'history_event', ticker: event }
    const path = `/events/${encodeURIComponent(event)}`
    const query = { with_nested_markets: 'true' }
    const seriesIn = (value: unknown): string | undefined => {
      const said = isObject(value) && isObject(value['event']) ? value['event'] : {}
      const { series_ticker: series } = said
      return typeof series === 'string' ? series : undefined
    }
    const describe = (value: unknown): CaptureRequest => {
      const series = seriesIn(value)
      return series === undefined ? request : this.#requestOf({ ...request, series })
    }
    const answer = await this.#rest.send({ request, path, query, describe }, signal)
    return answer.ok ? { series: seriesIn(answer.value) } : { why: answer.why }
  }

  async #readSeries(series: string, signal: AbortSignal): Promise<void> {
    const path = `/series/${encodeURIComponent(series)}`
    const request = { kind: 'series', series }
    const answer = await this.#rest.send({ request, path }, signal)
    if (!answer.ok) {
      throw new PriorbookError('invalid_argument', `venue B has no series ${series}`)
    }
    if (isObject(answer.value)) this.#series.set(series, readSeries(answer.value['series']))
  }

  // Answers about markets do not contain what their series says, so the journaled request does.
  #requestOf(request: CaptureRequest & { readonly series: string }): CaptureRequest {
    const facts = this.#series.get(request.series)
    if (facts === undefined) return request
    return { ...request, facts: { [request.series]: toRequestSeries(facts) } }
  }

  // What is older is in the archive alone.
  async #cutoff(maxAgeMs: number, signal: AbortSignal): Promise<Cutoffs> {
    const now = this.#context.sink.now()
    const known = this.#cutoffs
    if (known !== undefined && now - known.asked <= maxAgeMs * 1000) return known
    const call = { request: { kind: 'cutoff' }, path: '/historical/cutoff', keep: false }
    const answer = await this.#rest.send(call, signal)
    const said = answer.ok && isObject(answer.value) ? answer.value : {}
    // Without it nothing says where older markets and trades are.
    const read = (name: string): Micros => {
      if (!isNoTime(said[name])) return readTime(said[name], name)
      const why = answer.ok ? `no ${name}` : answer.why
      throw new PriorbookError('upstream_failed', `venue B did not name its cutoff: ${why}`)
    }
    const [markets, trades] = [read('market_settled_ts'), read('trades_created_ts')]
    this.#cutoffs = { asked: now, markets, trades }
    return this.#cutoffs
  }
}

/** Before which times markets settled and trades happened that are in the archive. */
type Cutoffs = { readonly asked: Micros; readonly markets: Micros; readonly trades: Micros }

/** A market of a list, as far as is needed to know whether it is meant; `close` is absent if unreadable. */
type Listed = { readonly ticker: string; readonly event: string; readonly close?: Micros }

function listedIn(value: unknown): readonly Listed[] {
  const markets = isObject(value) ? value['markets'] : undefined
  return (Array.isArray(markets) ? markets : []).flatMap((market: unknown) => {
    if (!isObject(market)) return []
    const { ticker, event_ticker: event = ticker, close_time: said } = market
    if (typeof ticker !== 'string' || typeof event !== 'string') return []
    const close = closeOf(said)
    return [close === undefined ? { ticker, event } : { ticker, event, close }]
  })
}

function closeOf(said: unknown): Micros | undefined {
  try {
    return isNoTime(said) ? undefined : readTime(said, 'close_time')
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    return undefined
  }
}
