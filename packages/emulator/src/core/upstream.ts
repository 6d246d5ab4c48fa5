import type { VenueId } from '@priorbook/sdk/domain'

/** One level of an emulated book: price in ten-thousandths (5200 = 0.52), size in millionths of a share. */
export type Level = { readonly price: number; readonly size: number }

/** A book of a proposition's first outcome (Yes, Up), best first; the other outcome is its mirror. */
export type Book = { readonly bids: readonly Level[]; readonly asks: readonly Level[] }

/** The life of an emulated market. `listed` is in the catalogue and not yet trading. */
export type Phase = 'listed' | 'open' | 'paused' | 'closed' | 'determined' | 'disputed' | 'resolved'

/** How an emulated market ended. */
export type Outcome = { readonly winner: 'first' | 'second' | 'tie'; readonly endPrice: string }

/**
 * One emulated binary market, in words of no venue. Times are milliseconds of the wall clock; at
 * speed n a window is n times shorter than its name.
 */
export type Proposition = {
  readonly venue: VenueId
  /** From 0, in order of listing, within the venue. */
  readonly index: number
  readonly asset: 'BTC' | 'ETH' | 'BNB'
  readonly window: '5m' | '15m' | '1h'
  readonly listTime: number
  readonly openTime: number
  readonly closeTime: number
  /** The underlying's price at the start; empty until `openTime`, when it becomes known. */
  readonly startPrice: string
  /** The price that the end is compared with, known from listing on; absent: `startPrice`. */
  readonly strike?: string
  /** The tick in ten-thousandths: 100 or 10. Venue C may make it finer near the ends. */
  tick: number
  phase: Phase
  outcome: Outcome | undefined
  book: Book
  lastTrade: number | undefined
  /** Traded so far, in millionths of a share. */
  volume: number
  participants: number
  /** Counts changes of the book; the same number means the same book. */
  version: number
}

/** One trade: price and size as in `Level`, what the taker did with the first outcome. */
export type Fill = { readonly price: number; readonly size: number; readonly taker: 'buy' | 'sell' }

/**
 * Something that happened in the emulated world; the proposition already shows it. A book is exactly
 * the fold of its `book` events from an empty one: opening brings one event with the whole ladder,
 * a pause that ends and a close bring one that removes every level (before the `phase` event, with
 * `phase` already `closed` in the case of a close).
 */
export type WorldEvent =
  | { readonly kind: 'listed' | 'phase'; readonly at: number; readonly proposition: Proposition }
  /** `levels` are the changed levels with their new sizes (0: gone) and how much each changed. */
  | {
      readonly kind: 'book'
      readonly at: number
      readonly proposition: Proposition
      readonly levels: readonly (Level & { readonly side: 'bid' | 'ask'; readonly delta: number })[]
      /** The trade that caused it, if one did. */
      readonly fill: Fill | undefined
    }
  | {
      readonly kind: 'tick'
      readonly at: number
      readonly proposition: Proposition
      readonly before: number
    }

/** The emulated markets. `at` and `now` are the venue's clock, which a fault can set wrong. */
export interface World {
  now(venue: VenueId): number
  /** In order of listing; resolved ones stay. */
  propositions(venue: VenueId): readonly Proposition[]
  /** A random source of the seed, for identifiers: the same name always gives the same text of hex digits. */
  hex(name: string, digits: number): string
}

/** A request as an upstream sees it; the path is without its query. */
export type UpstreamRequest = {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

/** An answer; `payloads` says what it shows of books, for the log of the truth. */
export type UpstreamAnswer = {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** What it costs of the quota named `bucket`; absent: 1 of the bucket `default`. */
  readonly cost?: number
  readonly bucket?: string
  readonly payloads?: readonly Payload[]
}

/** What a frame or an answer says, as the comparison with a tape needs it. */
export type Payload =
  /** `book` is the whole book of the instrument after the frame, in its own terms (a C token's own book). */
  | {
      readonly kind: 'full' | 'change'
      readonly key: string
      readonly book: Book
      readonly seq?: number
      /** The venue's time that it names, in milliseconds, where nothing else tells the order. */
      readonly time?: number
      /** What a change names where it names new sizes: the levels in the terms of `book`. */
      readonly levels?: readonly (Level & { readonly side: 'bid' | 'ask' })[]
    }
  | { readonly kind: 'trade'; readonly key: string; readonly id: string; readonly fill: Fill }
  | {
      readonly kind: 'sample'
      readonly key: string
      readonly metric: string
      readonly value: string
    }
  | {
      readonly kind: 'market'
      readonly key: string
      readonly phase: Phase
      readonly winner?: string
    }

/** Writes to one client. Faults (drop, duplicate, stall …) and the log of the truth happen behind it. */
export interface Wire {
  /** A frame; one without payloads is no data and no fault touches it unless told so. */
  send(text: string, payloads?: readonly Payload[]): void
  ping(body: string): void
  close(code: number, reason: string): void
  /** Bytes that the client has not taken yet; whoever sends faster than the world asks. */
  pending?(): number
}

/** One connected client. */
export interface Session {
  onText(text: string): void
  onClose(): void
}

/** One venue's side of the wire: pure of sockets, faults and quotas. */
export interface Upstream {
  readonly venue: VenueId
  /** Quotas by bucket: so much cost per second (or per `windowMs`), at speed 1. */
  readonly quotas: Readonly<Record<string, { readonly limit: number; readonly windowMs: number }>>
  answer(request: UpstreamRequest): UpstreamAnswer
  /** Admits a socket or refuses it with an HTTP answer. */
  accept(request: UpstreamRequest, wire: Wire): Session | UpstreamAnswer
  /** Told of everything that happens to the venue's markets; pushes to its sessions. */
  onEvent(event: WorldEvent): void
  /** Where clients connect, by name, given `http://127.0.0.1:PORT`; absent: `rest` and `ws` at the root. */
  addresses?(origin: string): Readonly<Record<string, string>>
  /** The instrument keys of a market, for the log of the truth and for faults of one market. */
  keys?(proposition: Proposition): readonly string[]
  /** What the venue says when it refuses; absent: a plain answer in the manner of the venue. */
  refusal?(why: Refusal): UpstreamAnswer
}

/** Why an emulated venue answers with an error of its own: quota spent, outage, credentials refused. */
export type Refusal = 'quota' | 'outage' | 'signature'

/** What a client needs to know to connect to an emulated venue. */
export type UpstreamCredentials = Readonly<Record<string, string>>

/** How the upstream of one venue is made. */
export type CreateUpstream = (
  world: World,
  options: { readonly speed: number; readonly credentials: UpstreamCredentials },
) => Upstream
