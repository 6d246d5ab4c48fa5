import type { AlertRule } from '@priorbook/sdk/alerts'
import type { Auditor, Micros, VenueId } from '@priorbook/sdk/domain'
import type {
  DownloadFormat,
  PageBuffer,
  ParamTable,
  ParamValues,
  RouteContract,
  WriteMethod,
} from '@priorbook/sdk/wire'
import type { RecorderPulse, StreamPulse } from '../lib/pulse.ts'
import type { ProofReader } from '../proofs/proof-reader.ts'
import type { StoreReader } from '../store/store.ts'

// Every other file of the API may import this one, so this one imports none of them.

/** What a key allows; the demo and keyless routes have a grant of their own. */
export interface Grant {
  /** A name for logs and usage, never the key. */
  readonly keyId: string
  readonly plan: string
  /** Throws `plan_required` when the plan does not include the venue. */
  requireVenue(venue: VenueId): void
  /** Throws `plan_required` when the plan does not include the asset at the venue. */
  requireAsset(venue: VenueId, asset: string | undefined): void
  /** Throws `plan_required` naming a plan that includes the feature. */
  requireFeature(feature: 'audit' | 'bulk_beyond_31_days'): void
  /** True when the plan includes the asset at the venue; for lists across venues. */
  allows(venue: VenueId, asset: string | undefined): boolean
  /** The earliest received time that may be read; 0 for all of history. */
  windowStart(now: Micros): Micros
}

/**
 * Signs and reads cursors. A cursor holds the position of a walk and is bound to the request: route,
 * market, range, filters and order. It is not bound to a key and never expires: old secrets still verify.
 */
export interface CursorCodec {
  /** `scope` is everything that must be the same on the next page; `state` is the position. */
  sign(scope: CursorScope, state: CursorState): string
  /** Gives the position; throws `invalid_cursor` when anything differs. */
  read(scope: CursorScope, cursor: string): CursorState
}

/** What a cursor is bound to, written in one order by each route; absent values are left out. */
export type CursorScope = Readonly<Record<string, string | number | boolean | undefined>>

/** The position of a walk, such as the last sequence and the pinned end of the range. */
export type CursorState = Readonly<Record<string, string | number>>

/** One rate limit of a key, for headers and `/v3/limits`. */
export type LimitState = {
  readonly name: 'second' | 'minute'
  readonly quota: number
  readonly seconds: number
  /** How many more requests fit right now. */
  readonly remaining: number
  /** When the oldest request leaves the window, in milliseconds since 1970; now when there is none. */
  readonly resetMs: number
  /** When one more request fits; now when it fits already. */
  readonly nextMs: number
}

/** The use of a key on one UTC day by one route. */
export type UsageRow = {
  /** The start of the day, in microseconds. */
  readonly day: number
  readonly route: string
  readonly requests: number
  /** Requests answered with 4xx or 5xx. */
  readonly refused: number
  /** Those of them that were over the rate limit. */
  readonly limited: number
  readonly rows: number
  /** Bytes sent, after compression. */
  readonly bytes: number
}

/** The documents that a server makes from its routes. */
export type DocumentName = 'openapi' | 'asyncapi' | 'llms' | 'docs' | 'errors' | 'home'

/** What routes about the account and the service read from the server that runs them. */
export interface ServerInfo {
  limits(grant: Grant): readonly LimitState[]
  usage(keyId: string, firstDay: number): readonly UsageRow[]
  /** Undefined where this installation records nothing. */
  recorder(): RecorderPulse | undefined
  /** The connections of the process that answers. */
  stream(): StreamPulse
  document(name: DocumentName): string
}

/** A market that an operator names as a member of a contract, and its outcome that is Yes of it. */
export type NamedMember = {
  readonly venue: VenueId
  readonly marketId: string
  readonly yes: string
}

/** A contract that an operator names, or members that are added to a derived one. */
export type NamedContract = {
  readonly title?: string
  readonly members: readonly NamedMember[]
}

/** Markets of a venue that an operator leaves out of derived contracts; absent values mean all. */
export type Refusal = {
  readonly venue: VenueId
  readonly marketId?: string
  /** In capitals. */
  readonly asset?: string
  readonly window?: string
  readonly why: string
}

/** What an operator says about contracts. */
export type OperatorContracts = {
  /** By the id of the contract. */
  readonly named: ReadonlyMap<string, NamedContract>
  readonly refusals: readonly Refusal[]
}

/** An event of a rule and how its delivery stands; times are microseconds. */
export type AlertDelivery = {
  readonly id: string
  readonly number: number
  readonly state: 'pending' | 'delivered' | 'dropped'
  readonly attempts: number
  readonly next: number | undefined
  readonly ended: number | undefined
  readonly status: number | undefined
  readonly error: string | undefined
  /** The event as JSON text. */
  readonly event: string
}

/** A stored rule and what became of its events. */
export type StoredAlert = {
  readonly id: string
  readonly keyId: string
  readonly created: Micros
  readonly rule: AlertRule
  readonly fired: number
  readonly pending: number
  readonly delivered: number
  readonly dropped: number
  readonly error: string | undefined
}

/** The rules of all keys, as routes read and change them. */
export interface AlertRules {
  /** The rules of a key, oldest first, and those of keys that it replaced. */
  list(keyId: string, after: string | undefined, limit: number): readonly StoredAlert[]
  find(keyId: string, id: string): StoredAlert | undefined
  /** Creates a rule unless the key has `most` of them; gives its secret too. */
  create(
    keyId: string,
    rule: AlertRule,
    most: number,
  ): { readonly alert: StoredAlert; readonly secret: string } | undefined
  remove(id: string): void
  /** Adds an event that nothing caused. */
  test(id: string): AlertDelivery
  /** The events of a rule, newest first, before a number. */
  deliveries(id: string, before: number | undefined, limit: number): readonly AlertDelivery[]
  /** Throws `invalid_parameter` for an address to which nothing may be sent. */
  checkWebhook(address: string): void
}

/** What a handler gets beside its parameters. */
export type ApiContext = {
  readonly store: StoreReader
  /** Reads the journal and derives a row again; absent where the journal is not on this machine. */
  readonly auditor?: Auditor
  /** Signed roots; absent where none are kept, such as over downloaded files. */
  readonly proofs?: ProofReader
  readonly cursors: CursorCodec
  /** The operator's file of contracts as it was last read; absent where there is none. */
  readonly contracts?: (() => OperatorContracts) | undefined
  /** Absent where a handler runs without a server. */
  readonly server?: ServerInfo
  readonly now: () => Micros
  /** Where files are made before they are sent; shared by all requests of the process. */
  readonly temp?: TempSpace
  /** Rules of alerts; absent where none are kept, such as over a tape that several machines share. */
  readonly alerts?: AlertRules
  /** A notice for every answer, such as that the data are emulated. */
  readonly notice?: Notice
}

/** The server that runs a route. */
export function requireServer({ server }: ApiContext): ServerInfo {
  if (server === undefined) throw new Error('this route needs a server')
  return server
}

/** The name of a format of answers. */
export type Format = 'json' | DownloadFormat

/** A request whose parameters were parsed and whose key was checked. */
export type RouteRequest<Path extends ParamTable, Query extends ParamTable> = {
  readonly path: ParamValues<Path>
  readonly query: ParamValues<Query>
  /** The id of the route, the same for all its addresses: cursors are bound to it. */
  readonly route: string
  readonly grant: Grant
  /** The format chosen by `Accept` or `format`. */
  readonly format: Format
  /** Aborts when the client closes the connection before the response is sent. */
  readonly signal: AbortSignal
  /**
   * Leases a page to render the answer into, with `before` bytes of room at its start. The server takes it
   * back when the response is sent or the handler has failed; handlers never give it back.
   */
  leasePage(before?: number): PageBuffer
}

/** One thing a reader should know about an answer. */
export type Notice = {
  readonly code: string
  readonly message: string
  readonly [more: string]: unknown
}

/** The `meta` of an envelope; names are those of the wire. */
export type Meta = {
  readonly range?: {
    readonly start_time: string | number | null
    readonly end_time: string | number | null
  }
  readonly gaps?: readonly unknown[]
  readonly market?: unknown
  readonly notice?: Notice | readonly Notice[]
  readonly receipt?: unknown
  readonly [more: string]: unknown
}

/** What an envelope says beside rows, for formats without one: the server writes it into headers. */
export type Beside = {
  readonly notices: readonly Notice[]
  readonly receipt?: unknown
  /** How many gaps the page has, and the queries of the lists that name them all. */
  readonly gaps?: { readonly count: number; readonly queries: readonly string[] }
}

/** Where rows begin in a page that gets an envelope: after `{"data":[`. */
export const ROWS_AT = 9

/** What a handler answers; the server writes the envelope around `data`. */
export type Answer =
  | {
      readonly kind: 'data'
      readonly data?: unknown
      /**
       * Instead of `data`: a page with JSON rows joined by commas from `ROWS_AT` on, so that the envelope
       * is written around them in place.
       */
      readonly rows?: PageBuffer
      /**
       * Hashes that identify the content of `rows`. The entity tag is then made of them instead of the
       * text of the rows.
       */
      readonly madeOf?: string | undefined
      /** True when `rows` is one JSON object and `data` is that object, not a list. */
      readonly isOne?: boolean
      readonly count: number
      readonly meta: Meta
      readonly nextCursor?: string | undefined
      /** True when nothing in the answer can change any more: clients may cache it for ever. */
      readonly isFinal?: boolean
    }
  | {
      readonly kind: 'text'
      readonly contentType: string
      readonly body: Uint8Array | string | PageBuffer
      readonly beside?: Beside
      readonly nextCursor?: string | undefined
      readonly isFinal?: boolean
    }
  | {
      readonly kind: 'stream'
      readonly contentType: string
      readonly headers?: Readonly<Record<string, string>>
      /** Pulled as fast as the client reads. */
      readonly body: AsyncIterable<Uint8Array>
      /** Present for a file that can no longer change: parts of it can be asked for. */
      readonly finished?: FinishedFile | undefined
    }

/** The length of a file and the SHA-256 of its bytes. */
export type FileFacts = { readonly bytes: number; readonly sha256: string }

/** A file that can no longer change, as its range is concerned; its bytes may still differ when it is made again. */
export type FinishedFile = {
  /** Its facts, where it was measured before. */
  known(): FileFacts | undefined
  /** Its bytes, where they are kept. */
  kept(): KeptFile | undefined
  /** Makes the file, unless it is kept; undefined where it is too large to be kept. */
  keep(): Promise<KeptFile | undefined>
}

/** Bytes on disk, all of one making. */
export type KeptFile = {
  readonly facts: FileFacts
  /** The bytes [from, to): to be read to the end, or returned. */
  part(from: number, to: number): AsyncIterable<Uint8Array>
}

/** The space on disk that files of one process may use before they are sent. */
export interface TempSpace {
  /** Begins to count the bytes of a request. */
  reserve(): TempReservation
  /** Names how space is freed that is held for later requests; the function returns false where none is left. */
  onFull(evict: () => boolean): void
}

/** The bytes of one request on disk. */
export interface TempReservation {
  /** Counts bytes before they are written; throws a `Problem` where there is no space for them. */
  add(bytes: number): void
  /** Gives the space back. */
  release(): void
}

/** JSON text that is ready: envelopes insert it unchanged, which saves hot routes its rendering. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Lets `JSON.stringify` write it where it is nested in other values. */
  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** Handles another method than GET, with the JSON of its body; undefined where its contract has none. */
type WriteHandler<Path extends ParamTable> = (
  request: RouteRequest<Path, {}> & { readonly body: unknown },
  context: ApiContext,
) => Promise<Answer>

/** The handlers of the methods beside GET. */
export type WriteHandlers<Path extends ParamTable = ParamTable> = Readonly<
  Partial<Record<WriteMethod, WriteHandler<Path>>>
>

/** One route as a value: its contract, which the SDK defines, and its handler. */
export type Route<
  Path extends ParamTable = ParamTable,
  Query extends ParamTable = ParamTable,
> = RouteContract<Path, Query> & {
  handle(request: RouteRequest<Path, Query>, context: ApiContext): Promise<Answer>
  readonly handleWrites?: WriteHandlers
  /** True for requests whose answers may take minutes; a client gets few of them at once. */
  isLong?(request: RouteRequest<Path, Query>): boolean
}

/** Says which answers of a route may take minutes; all by default. */
export function takesLong(route: Route, isLong: Route['isLong'] = () => true): Route {
  return { ...route, isLong }
}

/** Implements a contract. */
export function defineRoute<Path extends ParamTable, Query extends ParamTable>(
  contract: RouteContract<Path, Query>,
  handle: (request: RouteRequest<Path, Query>, context: ApiContext) => Promise<Answer>,
  handleWrites?: WriteHandlers<Path>,
): Route {
  // The dispatcher gives every handler exactly the parameters that its contract parsed.
  const route: Route<Path, Query> = {
    ...contract,
    handle,
    ...(handleWrites && { handleWrites: handleWrites as WriteHandlers }),
  }
  return route
}
