import { isVenueId } from '../domain/index.ts'
import { parseEnvelope, type Answer } from './answer.ts'
import { PriorbookClientError } from './errors.ts'
import type { Http, Query, RequestOptions } from './http.ts'
import type { MarketRef } from './market.ts'
import type { StyleParams } from './params.ts'
import { demoAddress, MARKET_ADDRESSES, ROUTES, type ClientRoute } from './routes.ts'
import { Walk, type WalkOptions } from './walk.ts'

/** The rows of a page where the caller does not say: the most that the server gives. */
export const WALK_LIMIT = 1000

/** Asks routes of the table: knows demo mode, the style of values, and where a market hangs. */
export class Caller {
  readonly http: Http
  readonly isDemo: boolean
  private readonly style: StyleParams
  private readonly assets = new Map<string, Promise<string>>()

  constructor(http: Http, isDemo: boolean, style: StyleParams) {
    this.http = http
    this.isDemo = isDemo
    this.style = style
  }

  /** Asks once. */
  async one<Data>(
    route: ClientRoute,
    path: string,
    params: object,
    options: RequestOptions,
  ): Promise<Answer<Data>> {
    const answer = await this.http.getJson(
      this.place(path + below(route)),
      this.withStyle(route, params),
      options,
    )
    const { nextCursor: _, ...rest } = parseEnvelope<Data>(answer)
    return rest
  }

  /** Asks page by page. */
  walk<Row>(
    route: ClientRoute,
    path: () => Promise<string>,
    params: object,
    options: WalkOptions,
  ): Walk<Row> {
    const query = { limit: WALK_LIMIT, ...this.withStyle(route, params) }
    return new Walk(
      this.http,
      async () => this.place((await path()) + below(route)),
      query,
      options,
    )
  }

  /** The parameters of a route with the client's style where the route knows it. */
  withStyle(route: ClientRoute, params: object): Query {
    const own = Object.entries(this.style).filter(
      ([name, value]) => value !== undefined && route.query.includes(name),
    )
    return { ...(Object.fromEntries(own) as Query), ...(params as Query) }
  }

  /** The path up to one market, without demo mode. */
  async marketPath(ref: MarketRef): Promise<string> {
    const { venue, market_id: id } = ref
    if (!isVenueId(venue) || typeof id !== 'string' || id === '') {
      throw new PriorbookClientError(
        'invalid_option',
        'a market is named by venue (venuea, venueb, venuec) and market_id',
      )
    }
    const market = encodeURIComponent(id)
    const address = MARKET_ADDRESSES[venue].replace(/\{market_(id|ticker)\}/, market)
    return venue === 'venuec'
      ? address.replace('{asset}', encodeURIComponent(await this.assetOf(ref)))
      : address
  }

  /** A path as this client asks for it. */
  place(path: string): string {
    return this.isDemo ? demoAddress(path) : path
  }

  // The address of a market of C holds its asset: coverage knows the market by its id alone.
  private assetOf({ market_id: id, asset }: MarketRef): Promise<string> {
    if (asset !== undefined && asset !== null && asset !== '') {
      return Promise.resolve(asset.toLowerCase())
    }
    let found = this.assets.get(id)
    if (found === undefined) {
      found = this.findAsset(id)
      this.assets.set(id, found)
      found.catch(() => this.assets.delete(id))
    }
    return found
  }

  private async findAsset(id: string): Promise<string> {
    const { coverage } = ROUTES
    const params = { venue: 'venuec', market: id }
    const { meta } = await this.one<unknown>(ROOT, coverage.address, params, {})
    const { market } = meta
    const asset = market !== null && 'asset' in market ? market.asset : null
    // A market whose asset nobody knows answers below any.
    return asset?.toLowerCase() ?? 'btc'
  }
}

/** A route whose path is given as a whole. */
const ROOT: ClientRoute = { address: '', query: [] }

function below({ address }: ClientRoute): string {
  return address.startsWith('/v3/') ? '' : address
}
