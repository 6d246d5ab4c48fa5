import { PriorbookError, toMicros, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { isObject } from '../capture/fields.ts'
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
import { parseRoundSlug } from './fields.ts'
import { GAMMA_PAGE, MAX_OFFSET, OVERLAP } from './pages.ts'
import { PastTrades } from './past-trades.ts'

/** Where the history of venue C comes from. */
export type VenueCHistoryOptions = {
  readonly gammaBase: string
  readonly dataBase: string
  readonly clobBase: string
  readonly quotas: {
    readonly gamma: QuotaOptions
    readonly data: QuotaOptions
    readonly prices: QuotaOptions
  }
}

/** Markets are listed by the time of their end, in spans of at most this length. */
const SPAN = 86_400_000_000
/** Values of the price history per request. */
const MAX_POINTS = 4000
/** Rounds are listed this long before they end. */
const AHEAD = 2 * 86_400_000_000

/** Requests the history of venue C: rounds found in its list, and events by their ids. */
export class VenueCHistory implements History {
  readonly #gamma: PatientRest
  readonly #data: PatientRest
  readonly #clob: PatientRest
  readonly #trades: PastTrades
  readonly #context: HistoryContext

  constructor(options: VenueCHistoryOptions, context: HistoryContext) {
    const { gammaBase, dataBase, clobBase, quotas } = options
    const { sink, clock } = context
    const held = new HeldAnswers(sink)
    const shared = { ...context, label: 'venue C' }
    this.#context = context
    this.#gamma = new PatientRest({
      ...shared,
      base: gammaBase,
      pace: createPace(quotas.gamma, clock),
    })
    this.#data = new PatientRest({
      ...shared,
      base: dataBase,
      pace: createPace(quotas.data, clock),
      sink: held.sink,
    })
    this.#clob = new PatientRest({
      ...shared,
      base: clobBase,
      pace: createPace(quotas.prices, clock),
    })
    this.#trades = new PastTrades({ rest: this.#data, held, now: () => sink.now() })
  }

  get calls(): number {
    return this.#gamma.calls + this.#data.calls + this.#clob.calls
  }

  trades(
    record: MarketRecord,
    since: Micros,
    signal: AbortSignal,
  ): AsyncGenerator<TradesStep, void, void> {
    return this.#trades.walk(record, since, signal)
  }

  prices(
    record: MarketRecord,
    since: Micros,
    signal: AbortSignal,
  ): AsyncGenerator<TradesStep, void, void> {
    const walk = {
      rest: this.#clob,
      now: () => this.#context.sink.now(),
      maxValues: MAX_POINTS,
      callsOf: ({ marketId, outcomes }: MarketRecord, { from, to, minutes }: PriceSpan) =>
        outcomes.flatMap(({ tokenId }) => {
          if (tokenId === undefined) return []
          const request = { kind: 'history_prices', condition_id: marketId, token_id: tokenId }
          const query = {
            market: tokenId,
            startTs: String(from),
            endTs: String(to),
            fidelity: String(minutes),
          }
          return [{ request, path: '/prices-history', query }]
        }),
    }
    return walkPrices(walk, record, since, signal)
  }

  async *catalogue(
    scope: HistoryScope,
    signal: AbortSignal,
  ): AsyncGenerator<CatalogueStep, void, void> {
    const { event, start, end, withOpen } = scope
    if (event !== undefined) {
      await this.#readEvent(event, signal)
      return
    }
    for (let from = start; from < end;) {
      const to = toMicros(Math.min(from + SPAN, end))
      // Some that ended wait for their resolution and are not closed yet. Those come first: one that closes
      // meanwhile is in the second list.
      for (const closed of [false, true]) {
        for await (const _page of this.#readSpan(scope, { from, to, closed }, signal)) {
          yield { reached: from }
        }
      }
      yield { reached: to }
      from = to
    }
    if (!withOpen) return
    const ahead = { from: end, to: toMicros(end + AHEAD), closed: false }
    for await (const _page of this.#readSpan(scope, ahead, signal)) yield { reached: end }
  }

  async refresh(records: readonly MarketRecord[], signal: AbortSignal): Promise<void> {
    const ids = records.map(({ marketId }) => marketId)
    for (let from = 0; from < ids.length; from += GAMMA_PAGE) {
      await this.#readAll(ids.slice(from, from + GAMMA_PAGE), true, signal)
    }
  }

  // Between its end and its resolution a market is still listed as open, and one that was may have closed.
  async #readAll(ids: readonly string[], closed: boolean, signal: AbortSignal): Promise<void> {
    const named = await this.#readMarkets(ids, closed, signal)
    const others = ids.filter((id) => !named.has(id))
    if (others.length > 0) await this.#readMarkets(others, !closed, signal)
  }

  // Looks through the pages of a span and requests the rounds that are meant, page by page: most markets of
  // the list are others, so it is not kept. A span with more markets than an offset can reach is halved.
  // By id, because many rounds end together and an order by that time would be another one on every page.
  async *#readSpan(
    scope: HistoryScope,
    span: Span,
    signal: AbortSignal,
  ): AsyncGenerator<number, void, void> {
    // One that closes meanwhile moves the later ones up the list of those that are not.
    const step = span.closed ? GAMMA_PAGE : GAMMA_PAGE - OVERLAP
    for (let offset = 0; offset <= MAX_OFFSET; offset += step) {
      const page = await this.#listPage(span, offset, signal)
      const ids = page.filter((market) => isMeant(market, scope, span.closed)).map(idOf)
      const missing: string[] = []
      for (const id of ids) if (!(await this.#context.areComplete([id]))) missing.push(id)
      if (missing.length > 0) await this.#readAll(missing, span.closed, signal)
      yield missing.length
      if (page.length < GAMMA_PAGE) return
    }
    const { from, to, closed } = span
    const middle = toMicros(Math.floor((from + to) / 2))
    if (middle - from < 1_000_000) {
      throw new PriorbookError('upstream_failed', 'venue C lists too many markets of one second')
    }
    yield* this.#readSpan(scope, { from, to: middle, closed }, signal)
    yield* this.#readSpan(scope, { from: middle, to, closed }, signal)
  }

  async #listPage(span: Span, offset: number, signal: AbortSignal): Promise<readonly Listed[]> {
    const { from, to, closed } = span
    const query = {
      closed: String(closed),
      order: 'id',
      ascending: 'true',
      limit: String(GAMMA_PAGE),
      offset: String(offset),
      end_date_min: printTime(from),
      end_date_max: printTime(to),
    }
    const request = { kind: 'history_gamma_markets' }
    const call = { request, path: '/markets', query, keep: false }
    const answer = await this.#gamma.send(call, signal)
    if (!answer.ok || !Array.isArray(answer.value)) {
      const why = answer.ok ? 'no list' : answer.why
      throw new PriorbookError('upstream_failed', `venue C did not list its markets: ${why}`)
    }
    return answer.value.map(toListed)
  }

  async #readMarkets(
    ids: readonly string[],
    closed: boolean,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const query = {
      condition_ids: ids,
      limit: String(GAMMA_PAGE),
      closed: String(closed),
      include_tag: 'true',
    }
    const request = { kind: 'history_gamma_markets' }
    const answer = await this.#gamma.send({ request, path: '/markets', query }, signal)
    if (!answer.ok || !Array.isArray(answer.value)) {
      const why = answer.ok ? 'no list' : answer.why
      throw new PriorbookError('upstream_failed', `venue C did not give its markets: ${why}`)
    }
    const markets: readonly unknown[] = answer.value
    return new Set(markets.map((market: unknown) => idOf(toListed(market))))
  }

  async #readEvent(id: string, signal: AbortSignal): Promise<void> {
    const request = { kind: 'history_gamma_event', id }
    const path = `/events/${encodeURIComponent(id)}`
    const answer = await this.#gamma.send({ request, path }, signal)
    if (!answer.ok) throw new PriorbookError('invalid_argument', `venue C has no event ${id}`)
  }
}

type Span = { readonly from: Micros; readonly to: Micros; readonly closed: boolean }

/** A market of a list; empty texts where it does not say. */
type Listed = { readonly id: string; readonly slug: string }

function toListed(market: unknown): Listed {
  const { conditionId: id, slug } = isObject(market) ? market : {}
  return { id: typeof id === 'string' ? id : '', slug: typeof slug === 'string' ? slug : '' }
}

function idOf({ id }: Listed): string {
  return id
}

// A round that has not begun has no history.
function isMeant(
  { id, slug }: Listed,
  { asset, window, end }: HistoryScope,
  closed: boolean,
): boolean {
  const round = id === '' ? undefined : parseRoundSlug(slug)
  if (round === undefined || round.asset !== asset) return false
  if (window !== undefined && round.window !== window) return false
  return closed || (round.startSeconds ?? 0) * 1e6 < end
}

function printTime(time: Micros): string {
  return new Date(time / 1000).toISOString()
}
