import type { Auditor, Micros, VenueId } from '@priorbook/sdk/domain'
import type { JsonSchema, PageBuffer } from '@priorbook/sdk/wire'
import type { Store } from '../../store/store.ts'
import type { AccountDesk } from '../account/desk.ts'
import type { CursorCodec } from './cursor.ts'
import type { Param, ParamValues } from './param.ts'

/** Parameters by name. */
export type ParamTable = Readonly<Record<string, Param<unknown>>>

/** What a key allows; the demo and keyless routes have a grant of their own. */
export interface Grant {
  /** A name for logs and usage, never the key. */
  readonly keyId: string
  readonly plan: string
  /** Throws `plan_required` when the plan does not include the venue, or the asset of venue C. */
  requireVenue(venue: VenueId): void
  requireAsset(venue: VenueId, asset: string | undefined): void
  /** Throws `plan_required` naming the plan when a feature (`audit`, `bulk_beyond_31_days`) is missing. */
  requireFeature(feature: 'audit' | 'bulk_beyond_31_days'): void
  /** True when the venue and asset may be seen; for lists across venues. */
  allows(venue: VenueId, asset: string | undefined): boolean
  /** The earliest received time that may be read; 0 for all of history. */
  windowStart(now: Micros): Micros
}

/** What a handler gets beside its parameters. */
export type ApiContext = {
  readonly store: Store
  /** Absent where the journal is not on this machine: audit then says so. */
  readonly journalDir?: string
  /** Reads the journal and derives a row again; absent where the journal is not on this machine. */
  readonly auditor?: Auditor
  readonly cursors: CursorCodec
  /** What account routes ask of the server; absent where a handler runs without one. */
  readonly desk?: AccountDesk
  readonly now: () => Micros
  /** A sentence for `meta.notice` on every answer, such as that the data are emulated. */
  readonly notice?: Notice
}

/** A request whose parameters were read and whose key was checked. */
export type RouteRequest<Path extends ParamTable, Query extends ParamTable> = {
  readonly path: ParamValues<Path>
  readonly query: ParamValues<Query>
  /** The id of the route, the same for all its addresses: cursors are bound to it. */
  readonly route: string
  readonly grant: Grant
  /** What `Accept` or `format` asked for. */
  readonly format: 'json' | 'ndjson' | 'csv' | 'arrow' | 'parquet' | 'tape'
  readonly signal: AbortSignal
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

/** What a handler answers; the server writes the envelope around `data`. */
export type Answer =
  | {
      readonly kind: 'data'
      readonly data?: unknown
      /**
       * Instead of `data`: a page with JSON rows joined by commas from `ROWS_AT` on, so that the envelope
       * is written around them in place. It is given back once it is sent.
       */
      readonly rows?: PageBuffer
      /**
       * What the rows are made of and whose they are, where hashes prove it: in the entity tag it stands
       * for their text.
       */
      readonly madeOf?: string | undefined
      /** True when `rows` is one JSON object and `data` is it, not a list of it. */
      readonly isOne?: boolean
      readonly count: number
      readonly meta: Meta
      readonly nextCursor?: string | undefined
      /** True when nothing of the answer can change any more: it may be cached for ever. */
      readonly isFinal?: boolean
    }
  | {
      readonly kind: 'text'
      readonly contentType: string
      /** A page is given back once it is sent. */
      readonly body: Uint8Array | string | PageBuffer
      readonly nextCursor?: string | undefined
      readonly isFinal?: boolean
    }
  | {
      readonly kind: 'stream'
      readonly contentType: string
      readonly headers?: Readonly<Record<string, string>>
      /** Pulled as fast as the client reads. */
      readonly body: AsyncIterable<Uint8Array>
    }

/** One route as a value: validation, OpenAPI, docs and the client read it. */
export type Route<Path extends ParamTable = ParamTable, Query extends ParamTable = ParamTable> = {
  /** Names the route in OpenAPI (`operationId`) and in cursors. */
  readonly id: string
  /** Such as `/v3/venueb/{market_ticker}/snapshots`. */
  readonly address: string
  /** Other addresses of the same route. */
  readonly aliases?: readonly string[]
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly isKeyless?: boolean
  readonly path: Path
  readonly query: Query
  /** Formats beside JSON. */
  readonly formats?: readonly ('ndjson' | 'csv' | 'arrow' | 'parquet' | 'tape')[]
  /** The schema of `data`; absent where the answer has no envelope. */
  readonly data?: JsonSchema
  handle(request: RouteRequest<Path, Query>, context: ApiContext): Promise<Answer>
}

/** Declares a route. */
export function defineRoute<const Path extends ParamTable, const Query extends ParamTable>(
  route: Route<Path, Query>,
): Route {
  // The server hands every handler the parameters that its own tables read.
  return route
}
