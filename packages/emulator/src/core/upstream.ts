import type { VenueId } from '@priorbook/sdk/domain'
import type { FaultBox } from '../faults/fault-box.ts'

/**
 * One level of an emulated book: price in ten-thousandths (5200 = 0.52), with two decimals where the
 * grain is finer, and size in millionths of a share.
 */
export type Level = { readonly price: number; readonly size: number }

/** A book of a proposition's first outcome (Yes, Up), best first; the other outcome is its mirror. */
export type Book = { readonly bids: readonly Level[]; readonly asks: readonly Level[] }

/** The phases of an emulated market. `listed`: in the catalogue and not yet trading. */
export type Phase = 'listed' | 'open' | 'paused' | 'closed' | 'determined' | 'disputed' | 'resolved'

/** How an emulated market ended. */
export type Outcome = { readonly winner: 'first' | 'second' | 'tie'; readonly endPrice: string }

/**
 * What every emulated binary market has, in venue-neutral terms. Times are milliseconds of the wall
 * clock; at speed n a window is n times shorter than its name.
 */
type MarketState = {
  readonly venue: VenueId
  /** From 0, in order of listing, within the venue. */
  readonly index: number
  readonly listTime: number
  readonly openTime: number
  /** When trading ends; a `moved` event says that it has changed. */
  readonly closeTime: number
  /** The tick in ten-thousandths: 100 or 10. Venue C may make it finer near the ends. */
  tick: number
  /** The finest step of prices in ten-thousandths: the tick, or 0.01 for prices of six decimals. */
  grain: number
  phase: Phase
  outcome: Outcome | undefined
  book: Book
  lastTrade: number | undefined
  /** Traded so far, in millionths of a share. */
  volume: number
  participants: number
  /** Counts changes of the book: equal versions mean equal books. */
  version: number
}

/** A market of a crypto round: where a price ends, compared with its start or with a strike. */
export type RoundProposition = MarketState & {
  readonly asset: 'BTC' | 'ETH' | 'BNB'
  readonly window: '5m' | '15m' | '1h'
  /** The underlying's price at the start; empty until `openTime`, when it becomes known. */
  readonly startPrice: string
  /** The price that the end is compared with, known from listing on; absent: `startPrice`. */
  readonly strike?: string
  /** The nominal seconds whose average price counts at its start and its end; absent: the price at that time. */
  readonly averageSeconds?: number
  readonly topic?: undefined
}

/** A market of the broad world: one possible answer to the question of its topic. */
export type TopicProposition = MarketState & {
  readonly topic: Topic
  /** The answer that the market is about. */
  readonly answer: Answer
  readonly asset?: undefined
  readonly window?: undefined
  readonly startPrice?: undefined
  readonly strike?: undefined
}

/** One emulated binary market. */
export type Proposition = RoundProposition | TopicProposition

/** The kinds of topics. `combo`: several results of other markets at once. */
export type TopicKind =
  | 'election'
  | 'award'
  | 'range'
  | 'threshold'
  | 'match'
  | 'question'
  | 'combo'

/** A question with one market per possible answer; venues call it an event. */
export type Topic = {
  readonly kind: TopicKind
  /** Name and number are unique within the venue and the same after a restart, for identifiers. */
  readonly name: string
  readonly number: number
  readonly category: string
  readonly tags: readonly string[]
  readonly series: TopicSeries
  /** The part of the event's ticker after the series, such as `28NOV07`. */
  readonly code: string
  readonly title: string
  /** True where exactly one of several answers wins. */
  readonly isExclusive: boolean
  /** In the order of the answers. */
  readonly markets: readonly TopicProposition[]
}

/** Topics of the same kind that follow each other, such as the elections of one office. */
export type TopicSeries = {
  /** Letters and digits, such as `GOVTX`. */
  readonly code: string
  readonly title: string
  readonly frequency: string
}

/** One possible answer to the question of a topic. */
export type Answer = {
  /** The last part of the market's ticker, such as `SMITH`. */
  readonly code: string
  /** The answer in words, such as `John Smith`. */
  readonly label: string
  /** The market's own question. */
  readonly question: string
  /** The names of its two outcomes. */
  readonly outcomes: readonly [string, string]
  /** Bounds of a range; one alone stands for everything above or below it. */
  readonly floor?: number
  readonly cap?: number
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
  /** The time of the close has changed from `before`. */
  | {
      readonly kind: 'moved'
      readonly at: number
      readonly proposition: Proposition
      readonly before: number
    }

/** The emulated markets. `at` and `now` are the venue's clock, which a fault can skew. */
export interface World {
  now(venue: VenueId): number
  /** In order of listing; resolved ones stay. */
  propositions(venue: VenueId): readonly Proposition[]
  /** The price of an asset now, in dollars. */
  price(asset: RoundProposition['asset']): number
  /** Its time-weighted average over the last nominal seconds. */
  average(asset: RoundProposition['asset'], seconds: number): number
  /** Hex digits for identifiers, a function of the seed and the name. */
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

/** An answer; `payloads` lists its contents for the truth log. */
export type UpstreamAnswer = {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** Its cost in the quota `bucket`; by default 1 in the bucket `default`. */
  readonly cost?: number
  readonly bucket?: string
  readonly payloads?: readonly Payload[]
}

/** One fact that a frame or an answer states, for comparison with a tape. */
export type Payload =
  /** `book` is the whole book of the instrument after the frame, in its own terms (a C token's own book). */
  | {
      readonly kind: 'full' | 'change'
      readonly key: string
      readonly book: Book
      readonly seq?: number
      /** The venue's time in the message, in milliseconds, where it determines the order. */
      readonly time?: number
      /** The changed levels with their new sizes, in the terms of `book`. */
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

/** Writes to one client. Faults (drop, duplicate, stall …) and the truth log are applied behind it. */
export interface Wire {
  /** Sends a frame; without payloads it is a control frame, which most faults do not affect. */
  send(text: string, payloads?: readonly Payload[]): void
  ping(body: string): void
  close(code: number, reason: string): void
  /** Bytes that the client has not read yet; for senders faster than the world. */
  pending?(): number
}

/** One connected client. */
export interface Session {
  onText(text: string): void
  onClose(): void
}

/** One venue's protocol, independent of sockets, faults and quotas. */
export interface Upstream {
  readonly venue: VenueId
  /** Quotas by bucket: max cost per `windowMs`, at speed 1. */
  readonly quotas: Readonly<Record<string, { readonly limit: number; readonly windowMs: number }>>
  answer(request: UpstreamRequest): UpstreamAnswer
  /** Admits a socket or refuses it with an HTTP answer. */
  accept(request: UpstreamRequest, wire: Wire): Session | UpstreamAnswer
  /** Called for every event of the venue's markets; pushes to its sessions. */
  onEvent(event: WorldEvent): void
  /** Called after every step of the world with the venue's clock. */
  onStep?(at: number): void
  /** The instrument keys of a market, for the truth log and for faults of one market. */
  keys(proposition: Proposition): readonly string[]
}

/** Why an emulated venue refuses a request: quota spent, outage, credentials rejected. */
export type Refusal = 'quota' | 'outage' | 'signature'

/** What a client needs to know to connect to an emulated venue. */
export type UpstreamCredentials = Readonly<Record<string, string>>

/** Finds the faults that an upstream applies itself. */
export type UpstreamFaults = Pick<FaultBox, 'strike'>

/** Limits that a venue does not publish; a venue uses those that it has. */
export type UpstreamLimits = {
  /** Max markets per subscription of venue B; 2,000 by default. */
  readonly subscriptionMarkets?: number
  /** The age at which settled markets and trades of venue B go to its archive; 90 days by default. */
  readonly archiveMs?: number
}

/** Creates the upstream of one venue. */
export type CreateUpstream = (
  world: World,
  options: {
    readonly speed: number
    readonly credentials: UpstreamCredentials
    /** Absent: nothing goes wrong inside the upstream. */
    readonly faults?: UpstreamFaults
    readonly limits?: UpstreamLimits
  },
) => Upstream
