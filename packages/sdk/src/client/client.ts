import { VENUES, type VenueId } from '../domain/index.ts'
import {
  listRoute,
  ROUTES,
  SIGNUP_PATH,
  STREAM_PATH,
  MAX_LIMIT,
  type AlertCreatedJson,
  type AlertDeliveryJson,
  type AlertJson,
  type AlertRuleJson,
  type AuditJson,
  type CalendarDayJson,
  type CategoryJson,
  type ConsolidatedJson,
  type ContractBooksJson,
  type ContractJson,
  type ContractSnapshotJson,
  type ContractWithTermsJson,
  type CoverageJson,
  type DayProofJson,
  type EventJson,
  type EventWithMarketsJson,
  type GapJson,
  type LeadLagJson,
  type LimitsJson,
  type ListedMarketJson,
  type ManifestJson,
  type MarketJson,
  type PanelRowJson,
  type ParityDayJson,
  type ReferenceAtJson,
  type ReferencePriceJson,
  type ReferenceSeriesJson,
  type RootJson,
  type RouteId,
  type SignupChallengeJson,
  type SignupJson,
  type SignupRequestJson,
  type SpreadJson,
  type StatusJson,
  type UsageJson,
  type WhoamiJson,
} from '../wire/index.ts'
import {
  checkKey,
  Http,
  retryPolicy,
  type Answer,
  type Envelope,
  type RawAnswer,
  type RetryEvent,
} from './http.ts'
import type { RetryPolicy } from './backoff.ts'
import { Caller, type MarketRef } from './caller.ts'
import { openDownload, openFile, type Download, type DownloadOptions } from './download.ts'
import { PriorbookClientError } from './errors.ts'
import { followLive, type LiveMessage, type LiveOptions, type LiveSubscription } from './live.ts'
import { MarketClient } from './market.ts'
import type {
  CallOptions,
  RouteParams,
  DownloadParams,
  MarketSearchParams,
  PanelsFileParams,
  StyleParams,
  VenueMarketsParams,
} from './params.ts'
import { openSocket, type SocketOptions, type StreamSocket } from './socket.ts'
import { SocketReplay, type SocketReplayParams } from './socket-replay.ts'
import type { Walk, WalkOptions } from './walk.ts'

/** Where the service is and how requests are made. */
export type ClientOptions = StyleParams & {
  /** Such as `http://127.0.0.1:8780`; in a browser the page's own origin where absent. */
  readonly url?: string | undefined
  /** The API key, or a function that gives it before each request. */
  readonly key?: string | (() => string | Promise<string>) | undefined
  /** Reads demonstration data, which needs no key. */
  readonly demo?: boolean | undefined
  readonly fetch?: typeof globalThis.fetch
  readonly WebSocket?: typeof globalThis.WebSocket
  /** Max retries per request (5), or the whole policy. */
  readonly retries?: number | Partial<RetryPolicy>
  /** How long one attempt may take until its whole answer has arrived; 30 s, 0 for no limit. */
  readonly timeoutMs?: number
  readonly onRetry?: (event: RetryEvent) => void
}

const TIMEOUT_MS = 30_000
// A manifest renders the whole file before it answers.
const MANIFEST_TIMEOUT_MS = 15 * 60_000

/** Builds a client; no request is made until a method is called. */
export function createClient(options: ClientOptions): PriorbookClient {
  return new PriorbookClient(options)
}

/** The whole interface: REST and the stream. */
export class PriorbookClient {
  /** The base of all addresses, without a slash at the end. */
  readonly url: string
  /** True where the client reads demonstration data. */
  readonly isDemo: boolean
  private readonly caller: Caller
  private readonly key: ClientOptions['key']
  private readonly WebSocket: typeof globalThis.WebSocket | undefined
  private readonly style: StyleParams
  private readonly retry: RetryPolicy

  constructor(options: ClientOptions) {
    const { key, demo = false, fetch = globalThis.fetch, number_format, time_format } = options
    this.url = baseOf(options.url)
    this.isDemo = demo
    // The demo needs no key, so none is sent.
    this.key = demo ? undefined : typeof key === 'string' ? checkKey(key) : key
    this.WebSocket = options.WebSocket ?? globalThis.WebSocket
    this.retry = retryPolicy(options.retries)
    this.style = {
      ...(number_format === undefined ? {} : { number_format }),
      ...(time_format === undefined ? {} : { time_format }),
    }
    const http = new Http({
      base: this.url,
      key: this.key,
      fetch: (input, init) => fetch(input, init),
      retry: this.retry,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      onRetry: options.onRetry,
    })
    this.caller = new Caller(http, demo, this.style)
  }

  /** Markets across venues, with quote and coverage. */
  markets(params: MarketSearchParams = {}, options: WalkOptions = {}): Walk<ListedMarketJson> {
    return this.walk('markets', params, options)
  }

  /** Markets of one venue; of one asset or of all, those without an asset included. */
  venueMarkets<Venue extends VenueId>(
    venue: Venue,
    params?: VenueMarketsParams<Venue>,
    options: WalkOptions = {},
  ): Walk<MarketJson<Venue>> {
    const { asset = '', ...query }: { readonly asset?: string } = params ?? {}
    const { hasAsset, plain } = VENUES[venue].paths
    const route = listRoute(venue, asset === '' && plain !== undefined)
    const { address } = route
    if (!hasAsset || asset === '') {
      return this.caller.walk(route, async () => address, params ?? {}, options)
    }
    const path = address.replace('{asset}', encodeURIComponent(asset.toLowerCase()))
    return this.caller.walk(route, async () => path, query, options)
  }

  /** The routes of one market, which any market record names. */
  market(ref: MarketRef): MarketClient {
    return new MarketClient(this.caller, ref)
  }

  /** Events across venues, with the number of their markets. */
  events(params: RouteParams<'events'> = {}, options: WalkOptions = {}): Walk<EventJson> {
    return this.walk('events', params, options)
  }

  /**
   * One event with its markets, all of them where they are not more than a page has; `nextCursor` goes into
   * `cursor` for the rest. The data are null where it ended before the history of the plan.
   */
  event(
    eventId: string,
    params: RouteParams<'event'> = {},
    options: CallOptions = {},
  ): Promise<Envelope<EventWithMarketsJson | null>> {
    const { event: route } = ROUTES
    const path = route.address.replace('{event_id}', encodeURIComponent(eventId))
    return this.caller.page(route, path, { limit: MAX_LIMIT, ...params }, options)
  }

  /** The headings that venues give their markets. */
  categories(
    params: RouteParams<'categories'> = {},
    options: CallOptions = {},
  ): Promise<Answer<readonly CategoryJson[]>> {
    return this.one('categories', params, options)
  }

  /** What was not observed. */
  gaps(params: RouteParams<'gaps'> = {}, options: WalkOptions = {}): Walk<GapJson> {
    return this.walk('gaps', params, options)
  }

  /** What was captured, and since when; with `market` day by day. */
  coverage(
    params: RouteParams<'coverage'> = {},
    options: CallOptions = {},
  ): Promise<Answer<readonly CoverageJson[]>> {
    return this.one('coverage', params, options)
  }

  /** What was observed of a venue, day by day. */
  coverageDays(
    params: RouteParams<'coverage_days'>,
    options: CallOptions = {},
  ): Promise<Answer<readonly CalendarDayJson[]>> {
    return this.one('coverage_days', params, options)
  }

  /** What a download would hold: bytes, hashes, gaps and receipt. */
  manifest(
    params: RouteParams<'bulkManifest'>,
    options: CallOptions = {},
  ): Promise<Answer<ManifestJson>> {
    const { bulkManifest: route } = ROUTES
    const limits = { ...options, timeoutMs: MANIFEST_TIMEOUT_MS }
    return this.caller.one(route, route.address, params, limits)
  }

  /** Gets an address of this service as it is, in any format, such as a page as CSV; failures are retried. */
  async fetchRaw(url: string, options: CallOptions = {}): Promise<RawAnswer> {
    // The key is for this service alone.
    if (url.startsWith(`${this.url}/`)) {
      return this.caller.http.getRaw(url.slice(this.url.length), options)
    }
    throw new PriorbookClientError('invalid_option', `url does not begin with ${this.url}/`)
  }

  /** The address of a download, for another program; it needs the key as a header. */
  downloadUrl(params: DownloadParams): string {
    const { bulk: route } = ROUTES
    return this.caller.http.addressOf(this.caller.place(route, route.address), params)
  }

  /** Opens a download; read its bytes from `body`. */
  download(params: DownloadParams, options: DownloadOptions = {}): Promise<Download> {
    return openDownload(this.caller, params, options)
  }

  /** Prices that contradict each other, by market and day. */
  parity(params: RouteParams<'parity'> = {}, options: WalkOptions = {}): Walk<ParityDayJson> {
    return this.walk('parity', params, options)
  }

  /** Past rounds aligned by seconds to their close, with best prices, reference price and winner. */
  panels(params: RouteParams<'panels'>, options: WalkOptions = {}): Walk<PanelRowJson> {
    return this.walk('panels', params, options)
  }

  /** All rows of the range as one file. */
  panelsFile(params: PanelsFileParams, options: DownloadOptions = {}): Promise<Download> {
    return openFile(this.caller, ROUTES.panels, params, options)
  }

  /** Which reference prices are recorded. */
  reference(
    params: RouteParams<'reference'> = {},
    options: CallOptions = {},
  ): Promise<Answer<readonly ReferenceSeriesJson[]>> {
    return this.one('reference', params, options)
  }

  /** Reference prices of an asset, of one feed or of all, or the last one of every interval. */
  referencePrices(
    asset: string,
    params: RouteParams<'reference_prices'> = {},
    options: WalkOptions = {},
  ): Walk<ReferencePriceJson> {
    const { reference_prices: route } = ROUTES
    return this.caller.walk(route, async () => assetPath(route, asset), params, options)
  }

  /** What every feed said of an asset at an instant, with the age of each price. */
  referenceAsOf(
    asset: string,
    params: RouteParams<'reference_asof'>,
    options: CallOptions = {},
  ): Promise<Answer<readonly ReferenceAtJson[]>> {
    const { reference_asof: route } = ROUTES
    return this.caller.one(route, assetPath(route, asset), params, options)
  }

  /** A reference price beside its raw message (plan `quant` or higher). */
  referenceAudit(
    asset: string,
    params: RouteParams<'reference_audit'>,
    options: CallOptions = {},
  ): Promise<Answer<AuditJson | null>> {
    const { reference_audit: route } = ROUTES
    return this.caller.one(route, assetPath(route, asset), params, options)
  }

  /** What is being bet on over all venues. */
  contracts(params: RouteParams<'contracts'> = {}, options: WalkOptions = {}): Walk<ContractJson> {
    return this.walk('contracts', params, options)
  }

  /** One contract with its members, terms and differences. */
  contract(
    contractId: string,
    params: RouteParams<'contract'> = {},
    options: CallOptions = {},
  ): Promise<Answer<ContractWithTermsJson>> {
    const { contract: route } = ROUTES
    return this.caller.one(route, contractPath(route, contractId), params, options)
  }

  /** The books of all members of a contract at one instant. */
  contractBooks(
    contractId: string,
    params: RouteParams<'contract_books'>,
    options: CallOptions = {},
  ): Promise<Answer<ContractBooksJson>> {
    const { contract_books: route } = ROUTES
    return this.caller.one(route, contractPath(route, contractId), params, options)
  }

  /** The best prices of all members of a contract, aligned in time. */
  contractSnapshots(
    contractId: string,
    params: RouteParams<'contract_snapshots'> = {},
    options: WalkOptions = {},
  ): Walk<ContractSnapshotJson> {
    const { contract_snapshots: route } = ROUTES
    return this.caller.walk(route, async () => contractPath(route, contractId), params, options)
  }

  /** One book over all venues in net prices; with `side` and `size` the best way to trade it. */
  contractConsolidated(
    contractId: string,
    params: RouteParams<'contract_consolidated'>,
    options: CallOptions = {},
  ): Promise<Answer<ConsolidatedJson>> {
    const { contract_consolidated: route } = ROUTES
    return this.caller.one(route, contractPath(route, contractId), params, options)
  }

  /** Where the venues of a contract disagreed by more than the fees. */
  contractSpreads(
    contractId: string,
    params: RouteParams<'contract_spreads'> = {},
    options: WalkOptions = {},
  ): Walk<SpreadJson> {
    const { contract_spreads: route } = ROUTES
    return this.caller.walk(route, async () => contractPath(route, contractId), params, options)
  }

  /** Which member of a contract moves first, with the delay and its uncertainty. */
  contractLeadLag(
    contractId: string,
    params: RouteParams<'contract_leadlag'> = {},
    options: CallOptions = {},
  ): Promise<Answer<LeadLagJson>> {
    const { contract_leadlag: route } = ROUTES
    return this.caller.one(route, contractPath(route, contractId), params, options)
  }

  /** Signed roots of days, in the order of their signing. */
  proofs(params: RouteParams<'proofs'> = {}, options: WalkOptions = {}): Walk<RootJson> {
    return this.walk('proofs', params, options)
  }

  /** The signed roots of a UTC day such as `2026-08-11`; with `market_id` the leaves of that market. */
  proof(
    day: string,
    params: RouteParams<'proof_day'> = {},
    options: CallOptions = {},
  ): Promise<Answer<DayProofJson | null>> {
    const { proof_day: route } = ROUTES
    const path = route.address.replace('{day}', encodeURIComponent(day))
    return this.caller.one(route, path, params, options)
  }

  /** The alerts of the key. */
  alerts(params: RouteParams<'alerts'> = {}, options: WalkOptions = {}): Walk<AlertJson> {
    return this.walk('alerts', params, options)
  }

  /** One alert of the key. */
  alert(id: string, options: CallOptions = {}): Promise<Answer<AlertJson>> {
    return this.caller.one(ROUTES.alert, alertPath(ROUTES.alert, id), {}, options)
  }

  /** Creates an alert; the secret that signs deliveries is in this answer alone. */
  createAlert(rule: AlertRuleJson, options: CallOptions = {}): Promise<Answer<AlertCreatedJson>> {
    return this.caller.write('POST', ROUTES.alerts.address, rule, options)
  }

  /** Ends an alert; what was not delivered is deleted with it. */
  deleteAlert(id: string, options: CallOptions = {}): Promise<Answer<AlertJson>> {
    return this.caller.write('DELETE', alertPath(ROUTES.alert, id), undefined, options)
  }

  /** The events of an alert and how their delivery stands, newest first. */
  alertDeliveries(
    id: string,
    params: RouteParams<'alert_deliveries'> = {},
    options: WalkOptions = {},
  ): Walk<AlertDeliveryJson> {
    const { alert_deliveries: route } = ROUTES
    return this.caller.walk(route, async () => alertPath(route, id), params, options)
  }

  /** Sends a test event to the webhook of an alert. */
  testAlert(id: string, options: CallOptions = {}): Promise<Answer<AlertDeliveryJson>> {
    return this.caller.write('POST', alertPath(ROUTES.alert_deliveries, id), undefined, options)
  }

  /** Which key this is and what its plan allows. */
  whoami(options: CallOptions = {}): Promise<Answer<WhoamiJson>> {
    return this.one('whoami', {}, options)
  }

  /** Every limit of the key, and what is left of it. */
  limits(options: CallOptions = {}): Promise<Answer<LimitsJson>> {
    return this.one('limits', {}, options)
  }

  /** What the key was used for. */
  usage(
    params: RouteParams<'usage'> = {},
    options: CallOptions = {},
  ): Promise<Answer<readonly UsageJson[]>> {
    return this.one('usage', params, options)
  }

  /** A puzzle to be solved for a key, where the service gives keys out. */
  signupChallenge(options: CallOptions = {}): Promise<Answer<SignupChallengeJson>> {
    return this.caller.one(
      { address: SIGNUP_PATH, query: {}, hasNoDemo: true },
      SIGNUP_PATH,
      {},
      options,
    )
  }

  /** A key of the free plan for a solved puzzle; it is in this answer alone. */
  signup(solved: SignupRequestJson, options: CallOptions = {}): Promise<Answer<SignupJson>> {
    return this.caller.write('POST', SIGNUP_PATH, solved, options)
  }

  /** How the service is doing. */
  status(options: CallOptions = {}): Promise<Answer<StatusJson>> {
    return this.one('status', {}, options)
  }

  /** Whether the service answers; needs no key. */
  async health(options: CallOptions = {}): Promise<Answer<{ readonly status: 'ok' }>> {
    return this.one('health', {}, options)
  }

  /** The server's OpenAPI document; needs no key. */
  openapi(options: CallOptions = {}): Promise<Readonly<Record<string, unknown>>> {
    return this.document('openapi', options)
  }

  /** The AsyncAPI document of the stream; needs no key. */
  asyncapi(options: CallOptions = {}): Promise<Readonly<Record<string, unknown>>> {
    return this.document('asyncapi', options)
  }

  /**
   * Follows markets as they are recorded: one subscription, or several over one connection. Reconnects
   * and resumes by itself. The loop ends without an error when `signal` aborts.
   */
  live(
    subscription: LiveSubscription | readonly LiveSubscription[],
    options: LiveOptions = {},
  ): AsyncGenerator<LiveMessage, void, undefined> {
    const list = Array.isArray(subscription)
      ? (subscription as readonly LiveSubscription[])
      : [subscription as LiveSubscription]
    const connector = {
      open: (more: SocketOptions) => this.openSocket(more),
      explain: (signal: AbortSignal | undefined) => this.explain(signal),
      firstRetries: this.retry.retries,
    }
    const styled = list.map((one) => ({ ...this.style, ...one }))
    return followLive(connector, styled, options)
  }

  /** Recorded rows over the socket, merged over markets by received time, at any speed. */
  socketReplay(params: SocketReplayParams, options: SocketOptions = {}): SocketReplay {
    return new SocketReplay(() => this.openSocket(options), { ...this.style, ...params })
  }

  /** One connection to the stream, for programs that send its requests themselves. */
  async openSocket(options: SocketOptions = {}): Promise<StreamSocket> {
    const { WebSocket, key } = this
    if (WebSocket === undefined) {
      const detail = 'this runtime has no WebSocket: give one as the option WebSocket'
      throw new PriorbookClientError('invalid_option', detail)
    }
    const own = typeof key === 'function' ? checkKey(await key()) : key
    return openSocket({ url: this.streamUrl, WebSocket, key: own }, options)
  }

  /** The address of the stream. */
  get streamUrl(): string {
    return `${this.url.replace(/^http/, 'ws')}${this.caller.place({}, STREAM_PATH)}`
  }

  // A WebSocket does not say why a handshake failed; REST tells a wrong key from a dead server.
  private async explain(signal: AbortSignal | undefined): Promise<void> {
    if (this.caller.isDemo || this.key === undefined) await this.health({ signal })
    else await this.whoami({ signal })
  }

  private async document(
    id: RouteId,
    options: CallOptions,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { body } = await this.caller.http.getJson(ROUTES[id].address, {}, options)
    return body as Readonly<Record<string, unknown>>
  }

  private one<Data>(id: RouteId, params: object, options: CallOptions): Promise<Answer<Data>> {
    return this.caller.one(ROUTES[id], ROUTES[id].address, params, options)
  }

  private walk<Row>(id: RouteId, params: object, options: WalkOptions): Walk<Row> {
    return this.caller.walk(ROUTES[id], async () => ROUTES[id].address, params, options)
  }
}

function assetPath({ address }: { readonly address: string }, asset: string): string {
  return address.replace('{asset}', encodeURIComponent(asset.toLowerCase()))
}

function alertPath({ address }: { readonly address: string }, id: string): string {
  return address.replace('{alert_id}', encodeURIComponent(id))
}

function contractPath({ address }: { readonly address: string }, contractId: string): string {
  return address.replace('{contract_id}', encodeURIComponent(contractId))
}

function baseOf(url: string | undefined): string {
  const { location } = globalThis as { location?: { readonly origin: string } }
  const text = url ?? location?.origin
  if (text === undefined) {
    const detail = 'url is missing: say where the service is, such as http://127.0.0.1:8780'
    throw new PriorbookClientError('invalid_option', detail)
  }
  let parsed: URL
  try {
    parsed = new URL(text, location?.origin)
  } catch (cause) {
    throw new PriorbookClientError('invalid_option', `url is not an address: ${text}`, { cause })
  }
  if (!/^https?:$/.test(parsed.protocol)) {
    throw new PriorbookClientError('invalid_option', `url begins with http or https: ${text}`)
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new PriorbookClientError('invalid_option', 'a key goes into `key`, never into the url')
  }
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, '')}`
}
