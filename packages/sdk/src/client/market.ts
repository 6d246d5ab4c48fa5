import type { VenueId } from '../domain/index.ts'
import type { MarketJson, SampleJson, TradeJson } from '../wire/index.ts'
import type { Answer } from './answer.ts'
import type { Caller } from './caller.ts'
import type {
  AsOfParams,
  AuditParams,
  CallOptions,
  ChangesParams,
  ExecutionParams,
  LatestParams,
  MarketParams,
  RevisionsParams,
  SnapshotsParams,
  TimeseriesParams,
  TradesParams,
} from './params.ts'
import { MARKET_ROUTES, type ClientRoute } from './routes.ts'
import type {
  AuditJson,
  BookRowJson,
  ChangesRowJson,
  ExecutionJson,
  FullBookRowJson,
  RevisionJson,
} from './rows.ts'
import type { Walk, WalkOptions } from './walk.ts'

/** Names a market; any market record will do. Without `asset` one of venue C is looked up first. */
export type MarketRef = {
  readonly venue: VenueId
  readonly market_id: string
  readonly asset?: string | null
}

/** The routes of one market. */
export class MarketClient {
  readonly ref: MarketRef
  private readonly caller: Caller
  private readonly path: () => Promise<string>

  constructor(caller: Caller, ref: MarketRef) {
    this.caller = caller
    this.ref = ref
    this.path = () => caller.marketPath(ref)
  }

  /** The record as known last, or at `known_at`. */
  record(params: MarketParams = {}, options: CallOptions = {}): Promise<Answer<MarketJson | null>> {
    return this.one(MARKET_ROUTES.record, params, options)
  }

  /** Every version of the record. */
  revisions(params: RevisionsParams = {}, options: WalkOptions = {}): Walk<RevisionJson> {
    return this.walk(MARKET_ROUTES.revisions, params, options)
  }

  /** The newest recorded book: of venue C one a token; none where there is none, and a notice says why. */
  latest(
    params: LatestParams = {},
    options: CallOptions = {},
  ): Promise<Answer<readonly FullBookRowJson[]>> {
    return this.books(MARKET_ROUTES.latest, params, options)
  }

  /** The book at an instant; none inside a gap, and a notice says why. */
  asOf(params: AsOfParams, options: CallOptions = {}): Promise<Answer<readonly FullBookRowJson[]>> {
    return this.books(MARKET_ROUTES.asOf, params, options)
  }

  /** Recorded books, or the last one of every interval. */
  snapshots(params: SnapshotsParams = {}, options: WalkOptions = {}): Walk<BookRowJson> {
    return this.walk(MARKET_ROUTES.snapshots, params, options)
  }

  /** The levels that changed, observation by observation. */
  changes(params: ChangesParams = {}, options: WalkOptions = {}): Walk<ChangesRowJson> {
    return this.walk(MARKET_ROUTES.changes, params, options)
  }

  /** Executions of venues B and C. */
  trades(params: TradesParams = {}, options: WalkOptions = {}): Walk<TradeJson> {
    return this.walk(MARKET_ROUTES.trades, params, options)
  }

  /** Samples of one metric of venue A. */
  timeseries(params: TimeseriesParams, options: WalkOptions = {}): Walk<SampleJson> {
    return this.walk(MARKET_ROUTES.timeseries, params, options)
  }

  /** What an order would have met, with the rows that prove it. */
  execution(
    params: ExecutionParams,
    options: CallOptions = {},
  ): Promise<Answer<ExecutionJson | null>> {
    return this.one(MARKET_ROUTES.execution, params, options)
  }

  /** One row beside its raw message (plan `desk`). */
  audit(params: AuditParams, options: CallOptions = {}): Promise<Answer<AuditJson | null>> {
    return this.one(MARKET_ROUTES.audit, params, options)
  }

  private async one<Data>(
    route: ClientRoute,
    params: object,
    options: CallOptions,
  ): Promise<Answer<Data>> {
    return this.caller.one(route, await this.path(), params, options)
  }

  private walk<Row>(route: ClientRoute, params: object, options: WalkOptions): Walk<Row> {
    return this.caller.walk(route, this.path, params, options)
  }

  // Of A and B a book or null, of C a list or null: a list in every case is one case less.
  private async books(
    route: ClientRoute,
    params: object,
    options: CallOptions,
  ): Promise<Answer<readonly FullBookRowJson[]>> {
    type Data = FullBookRowJson | readonly FullBookRowJson[] | null
    const answer = await this.one<Data>(route, params, options)
    const { data } = answer
    const list = data === null ? [] : Array.isArray(data) ? data : [data as FullBookRowJson]
    return { ...answer, data: list as readonly FullBookRowJson[] }
  }
}
