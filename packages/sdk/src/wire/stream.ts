import type { VenueId } from '../domain/index.ts'
import type { GapJson } from './gap.ts'
import type { MarketJson } from './market.ts'
import type { TimeJson, ValueStyle } from './json-values.ts'
import type { TimeFormat } from './value-text.ts'
import type { TradeJson } from './trade-sample.ts'

/** Where the socket is, and the subprotocol under which a browser may send its key. */
export const STREAM_PATH = '/v3/stream'
export const STREAM_PROTOCOL = 'priorbook.v3'
/** A second subprotocol `priorbook.key.<key>` carries the key where headers cannot be set. */
export const STREAM_KEY_PROTOCOL = 'priorbook.key.'

/** Markets of one venue: one market, a series of B, an asset of A or C, or those of one window; all without. */
export type MarketSelector = {
  readonly venue: VenueId
  readonly market_id?: string
  readonly series?: string
  readonly asset?: string
  /** The length of rounds, such as `15m`. */
  readonly window?: string
}

/** What can be subscribed to; books are observations, markets are revisions of their records. */
export const STREAM_DATASETS = ['books', 'trades', 'markets'] as const

/** The name of what can be subscribed to. */
export type StreamDataset = (typeof STREAM_DATASETS)[number]

/** How rows are written, the same for live and replay. */
export type StreamStyle = {
  /** Which rows; all of them without. Gaps always come. */
  readonly datasets?: readonly StreamDataset[]
  /** `full`: every row is the whole book (default). `changes`: rows after the first hold changed levels. */
  readonly mode?: 'full' | 'changes'
  /** Max levels per side; `full` only. */
  readonly depth?: number
  readonly number_format?: NonNullable<ValueStyle['numberFormat']>
  readonly time_format?: TimeFormat
}

/** What a client may send: one JSON object per message, at most 64 KiB. */
export type StreamRequest =
  | { readonly op: 'auth'; readonly key: string }
  | (StreamStyle &
      MarketSelector & {
        readonly op: 'subscribe'
        /** The client's own name of the subscription, unique on the socket. */
        readonly id: string
        /** Max one row per instrument in this many milliseconds; every row without. */
        readonly conflate_ms?: number
        /**
         * The last sequence that the client has, by instrument key: rows after it are sent, or a
         * resync says from where they are missing. Trades are under `key/trade`, as in their ids.
         */
        readonly resume?: Readonly<Record<string, number>>
      })
  | { readonly op: 'unsubscribe'; readonly id: string }
  | (StreamStyle & {
      readonly op: 'replay'
      readonly id: string
      readonly markets: readonly MarketSelector[]
      readonly start_time: string | number
      readonly end_time: string | number
      /** Recorded pace × N (1 without), or as fast as the client reads. */
      readonly speed?: number | 'max'
    })
  | { readonly op: 'pause'; readonly id: string }
  | { readonly op: 'resume'; readonly id: string }
  | { readonly op: 'seek'; readonly id: string; readonly time: string | number }
  | { readonly op: 'stop'; readonly id: string }
  | { readonly op: 'ping'; readonly nonce?: string }

/** The first members of book rows, whole or changed. */
export type StreamRowHead = {
  readonly id: string
  readonly venue: VenueId
  readonly market_id: string
  readonly token_id: string | null
  readonly received_time: TimeJson
  readonly source_time: TimeJson | null
  readonly sequence: number
}

/** The changed levels of a row, as the route `/changes` gives them; size 0: the level is gone. */
export type StreamChangesRow = StreamRowHead & {
  readonly changes: {
    readonly side: readonly ('bid' | 'ask')[]
    readonly price: readonly (number | string)[]
    readonly size: readonly (number | string)[]
  }
  readonly [more: string]: unknown
}

/** One ladder side on the wire. */
export type StreamLadder = {
  readonly price: readonly (number | string)[]
  readonly size: readonly (number | string)[]
}

/** A whole book, as every route gives it. */
export type StreamBookRow = StreamRowHead & {
  readonly bids: StreamLadder
  readonly asks: StreamLadder
  readonly [more: string]: unknown
}

/** Why rows of an instrument were left out on this socket. */
export type ResyncReason = 'slow_reader' | 'resume_too_old' | 'restarted' | 'rebuilt'

/** What every message of a replay also says: the id of the replay. Live messages have none. */
type OfReplay = { readonly replay?: string }

/**
 * What the server sends. `key` is the instrument (the middle of a row id); `previous_sequence` is the
 * sequence of the message before it of the same instrument and kind on this socket, null for the first:
 * where it is not `sequence - 1`, rows were conflated or left out.
 */
export type StreamMessage =
  | {
      readonly type: 'welcome'
      readonly connection: string
      readonly plan: string
      readonly server_time: TimeJson
      readonly heartbeat_ms: number
      readonly limits: {
        readonly subscriptions: number
        readonly instruments: number
        readonly replays: number
      }
      readonly notice?: { readonly code: string; readonly message: string }
    }
  | {
      readonly type: 'subscribed'
      readonly id: string
      readonly venue: VenueId
      readonly markets: number
      readonly instruments: number
    }
  | { readonly type: 'unsubscribed'; readonly id: string }
  | ({
      /** The first row of an instrument, or the first after a resync. */
      readonly type: 'snapshot'
      readonly key: string
      readonly sequence: number
      readonly previous_sequence: number | null
      readonly row: StreamBookRow
    } & OfReplay)
  | ({
      readonly type: 'update'
      readonly key: string
      readonly sequence: number
      readonly previous_sequence: number
      readonly row: StreamBookRow | StreamChangesRow
    } & OfReplay)
  | ({
      readonly type: 'trade'
      readonly key: string
      readonly sequence: number
      readonly previous_sequence: number | null
      readonly row: TradeJson
    } & OfReplay)
  | ({ readonly type: 'market'; readonly row: MarketJson } & OfReplay)
  /** A gap opened, or the same gap (same key, start and reason) closed. */
  | ({ readonly type: 'gap'; readonly gap: GapJson } & OfReplay)
  | {
      /** Rows between the two sequences were not sent; a snapshot follows. They can be read by REST. */
      readonly type: 'resync'
      readonly key: string
      readonly venue: VenueId
      readonly market_id: string
      readonly after_sequence: number
      readonly reason: ResyncReason
    }
  | { readonly type: 'snapshots_done'; readonly id: string }
  | { readonly type: 'heartbeat'; readonly server_time: TimeJson; readonly sent: number }
  | { readonly type: 'pong'; readonly nonce: string | null; readonly server_time: TimeJson }
  | {
      readonly type: 'replay_state'
      readonly replay: string
      readonly state: 'started' | 'paused' | 'running' | 'sought' | 'stopped' | 'finished'
      /** The place of the replay in recorded time. */
      readonly time: TimeJson
      /** With `started`: what is replayed, and what a reader should know, such as where the plan cuts it. */
      readonly range?: { readonly start_time: TimeJson; readonly end_time: TimeJson }
      readonly markets?: number
      readonly instruments?: number
      readonly notices?: readonly {
        readonly code: string
        readonly message: string
        readonly [more: string]: unknown
      }[]
      /** With `finished`: how many rows were sent and the SHA-256 of their ids, each with a line feed. */
      readonly rows?: number
      readonly ids_sha256?: string
    }
  | {
      readonly type: 'error'
      readonly code: string
      readonly message: string
      readonly id?: string
      readonly hint?: string
      /** The member of the request that is wrong, what it may be, and the plan that would do. */
      readonly param?: string
      readonly allowed?: readonly string[]
      readonly plan?: string
    }

/** Why the server closes a socket; the reason text repeats the word. */
export const STREAM_CLOSE_CODES = {
  shutting_down: 1001,
  message_too_large: 1009,
  unauthenticated: 4401,
  plan_required: 4403,
  auth_timeout: 4408,
  revoked: 4410,
  slow_reader: 4429,
  flooding: 4430,
} as const
