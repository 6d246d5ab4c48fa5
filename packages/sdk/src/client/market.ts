import {
  MARKET_ROUTES,
  type AuditJson,
  type BookRowJson,
  type ChangesRowJson,
  type ExecutionJson,
  type FullBookRowJson,
  type MarketJson,
  type MarketRouteName,
  type PriceHistoryJson,
  type RevisionJson,
  type SampleJson,
  type TradeJson,
} from '../wire/index.ts'
import type { Answer } from './http.ts'
import type { Caller, MarketRef } from './caller.ts'
import type { CallOptions, MarketRouteParams } from './params.ts'
import type { Walk, WalkOptions } from './walk.ts'

/** The routes of one market. */
export class MarketClient {
  readonly ref: MarketRef
  private readonly caller: Caller

  constructor(caller: Caller, ref: MarketRef) {
    this.caller = caller
    this.ref = ref
  }

  /** The record as known last, or at `known_at`. */
  record(
    params: MarketRouteParams<'market'> = {},
    options: CallOptions = {},
  ): Promise<Answer<MarketJson | null>> {
    return this.one('market', params, options)
  }

  /** Every version of the record. */
  revisions(
    params: MarketRouteParams<'revisions'> = {},
    options: WalkOptions = {},
  ): Walk<RevisionJson> {
    return this.walk('revisions', params, options)
  }

  /** The newest recorded book, or one per token; an empty list where there is none, and a notice says why. */
  latest(
    params: MarketRouteParams<'orderbook_latest'> = {},
    options: CallOptions = {},
  ): Promise<Answer<readonly FullBookRowJson[]>> {
    return this.books('orderbook_latest', params, options)
  }

  /** The book at an instant; an empty list inside a gap, and a notice says why. */
  asOf(
    params: MarketRouteParams<'orderbook'>,
    options: CallOptions = {},
  ): Promise<Answer<readonly FullBookRowJson[]>> {
    return this.books('orderbook', params, options)
  }

  /** Recorded books, or the last one of every interval. */
  snapshots(
    params: MarketRouteParams<'snapshots'> = {},
    options: WalkOptions = {},
  ): Walk<BookRowJson> {
    return this.walk('snapshots', params, options)
  }

  /** The levels that changed, observation by observation. */
  changes(
    params: MarketRouteParams<'changes'> = {},
    options: WalkOptions = {},
  ): Walk<ChangesRowJson> {
    return this.walk('changes', params, options)
  }

  /** Execution prints. */
  trades(params: MarketRouteParams<'trades'> = {}, options: WalkOptions = {}): Walk<TradeJson> {
    return this.walk('trades', params, options)
  }

  /** Samples of one metric. */
  timeseries(params: MarketRouteParams<'timeseries'>, options: WalkOptions = {}): Walk<SampleJson> {
    return this.walk('timeseries', params, options)
  }

  /** Values of one metric of the price history that the venue keeps itself. */
  history(params: MarketRouteParams<'history'>, options: WalkOptions = {}): Walk<PriceHistoryJson> {
    return this.walk('history', params, options)
  }

  /** What an order would have met, with the rows that prove it. */
  execution(
    params: MarketRouteParams<'execution'>,
    options: CallOptions = {},
  ): Promise<Answer<ExecutionJson | null>> {
    return this.one('execution', params, options)
  }

  /** One row beside its raw message (plan `quant` or higher). */
  audit(
    params: MarketRouteParams<'audit'>,
    options: CallOptions = {},
  ): Promise<Answer<AuditJson | null>> {
    return this.one('audit', params, options)
  }

  private async one<Data>(
    name: MarketRouteName,
    params: object,
    options: CallOptions,
  ): Promise<Answer<Data>> {
    return this.caller.one(MARKET_ROUTES[name], await this.path(name), params, options)
  }

  private walk<Row>(name: MarketRouteName, params: object, options: WalkOptions): Walk<Row> {
    return this.caller.walk(MARKET_ROUTES[name], () => this.path(name), params, options)
  }

  private async path(name: MarketRouteName): Promise<string> {
    return `${await this.caller.marketPath(this.ref)}${MARKET_ROUTES[name].address}`
  }

  // The server answers with a book, a list of books or null: callers always get a list.
  private async books(
    name: MarketRouteName,
    params: object,
    options: CallOptions,
  ): Promise<Answer<readonly FullBookRowJson[]>> {
    type Data = FullBookRowJson | readonly FullBookRowJson[] | null
    const answer = await this.one<Data>(name, params, options)
    const { data } = answer
    const list = data === null ? [] : Array.isArray(data) ? data : [data as FullBookRowJson]
    return { ...answer, data: list as readonly FullBookRowJson[] }
  }
}
