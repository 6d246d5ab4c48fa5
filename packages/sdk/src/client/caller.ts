import { isVenueId, marketAddress, VENUE_IDS, VENUES, type VenueId } from '../domain/index.ts'
import { demoAddress, MAX_LIMIT, ROUTES, type RouteShape, type WriteMethod } from '../wire/index.ts'
import {
  parseEnvelope,
  type Answer,
  type Http,
  type Envelope,
  type Query,
  type RequestOptions,
} from './http.ts'
import { PriorbookClientError } from './errors.ts'
import type { StyleParams } from './params.ts'
import { Walk, type WalkOptions } from './walk.ts'

/** Names a market; any market record will do. An `asset` that the address needs is looked up. */
export type MarketRef = {
  readonly venue: VenueId
  readonly market_id: string
  readonly asset?: string | null
}

/** Calls routes of the contract: adds demo mode, the style of values and the addresses of markets. */
export class Caller {
  readonly http: Http
  readonly isDemo: boolean
  private readonly style: StyleParams
  private readonly assets = new Map<string, Promise<string | null>>()

  constructor(http: Http, isDemo: boolean, style: StyleParams) {
    this.http = http
    this.isDemo = isDemo
    this.style = style
  }

  /** Calls a route once; `path` is its address with all of its parameters filled in. */
  async one<Data>(
    route: RouteShape,
    path: string,
    params: object,
    options: RequestOptions,
  ): Promise<Answer<Data>> {
    const { nextCursor: _, ...rest } = await this.page<Data>(route, path, params, options)
    return rest
  }

  /** Changes something by a route; `path` is its address with all of its parameters filled in. */
  async write<Data>(
    method: WriteMethod,
    path: string,
    body: unknown,
    options: RequestOptions,
  ): Promise<Answer<Data>> {
    const answer = await this.http.writeJson(method, path, body, options)
    const { nextCursor: _, ...rest } = parseEnvelope<Data>(answer)
    return rest
  }

  /** Calls a route for one page of its answer. */
  async page<Data>(
    route: RouteShape,
    path: string,
    params: object,
    options: RequestOptions,
  ): Promise<Envelope<Data>> {
    const address = this.place(route, path)
    const answer = await this.http.getJson(address, this.withStyle(route, params), options)
    return parseEnvelope<Data>(answer)
  }

  /** Calls a route page by page, with the largest pages where the caller does not say. */
  walk<Row>(
    route: RouteShape,
    path: () => Promise<string>,
    params: object,
    options: WalkOptions,
  ): Walk<Row> {
    const query = { limit: MAX_LIMIT, ...this.withStyle(route, params) }
    return new Walk(this.http, async () => this.place(route, await path()), query, options)
  }

  /** The parameters of a route with the client's style where the route knows it. */
  withStyle(route: RouteShape, params: object): Query {
    const own = Object.entries(this.style).filter(
      ([name, value]) => value !== undefined && Object.hasOwn(route.query, name),
    )
    return { ...(Object.fromEntries(own) as Query), ...(params as Query) }
  }

  /** The path up to one market, without demo mode. */
  async marketPath(ref: MarketRef): Promise<string> {
    const { venue, market_id: id } = ref
    if (!isVenueId(venue) || typeof id !== 'string' || id === '') {
      throw new PriorbookClientError(
        'invalid_option',
        `a market is named by venue (${VENUE_IDS.join(', ')}) and market_id`,
      )
    }
    const { hasAsset } = VENUES[venue].paths
    return marketAddress(venue, id, hasAsset ? await this.assetOf(ref) : null)
  }

  /** An address as this client calls it: the demo has routes of its own. */
  place({ hasNoDemo = false }: Partial<RouteShape>, path: string): string {
    return this.isDemo && !hasNoDemo ? demoAddress(path) : path
  }

  // An address that holds the asset needs it: coverage finds the market by its id alone. A record that says
  // null is one of a market without an asset.
  private assetOf({ venue, market_id: id, asset }: MarketRef): Promise<string | null> {
    if (asset !== undefined && asset !== '') return Promise.resolve(asset)
    const key = `${venue}:${id}`
    let found = this.assets.get(key)
    if (found === undefined) {
      found = this.findAsset(venue, id)
      this.assets.set(key, found)
      found.catch(() => this.assets.delete(key))
    }
    return found
  }

  private async findAsset(venue: VenueId, id: string): Promise<string | null> {
    const { coverage } = ROUTES
    const params = { venue, market: id }
    const { meta } = await this.one<unknown>(coverage, coverage.address, params, {})
    const { market } = meta
    return market !== null && 'asset' in market ? market.asset : null
  }
}
