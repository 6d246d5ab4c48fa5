import {
  PriorbookError,
  VENUES,
  type BookSnapshot,
  type CaptureDecision,
  type CaptureTier,
  type GapReason,
  type Instrument,
  type Json,
  type MarketRecord,
  type Micros,
  type TapeEvent,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { Clock } from '../../lib/clock.ts'
import type { Tracing } from '../../lib/tracing.ts'
import type { SelectionOptions, SurveyedMarket } from './selection/selection.ts'

/** When a message was received, and the journal record that contains it. */
export type Arrival = { readonly received: Micros; readonly journal: number }

/** One part of a message that could not be used; the other parts count. */
export type MessageProblem = {
  /** The place in the message, such as `markets[3]`, or the instrument where it was understood. */
  readonly where: string
  readonly error: PriorbookError
  /** True where it may have changed any book that the socket feeds; absent: none, or resets name them. */
  readonly concernsAllBooks?: boolean
}

/** The events in a message, and the parts of it that were malformed. */
export type Normalized = {
  readonly events: readonly TapeEvent[]
  readonly problems: readonly MessageProblem[]
  /** Present in a message that continues the venue's feed of trades. */
  readonly feed?: FeedReading
}

/**
 * How far a feed of trades apart from the books has come: to which time by the venue's clock nothing is
 * missing, and the named numbers with which reading continues after a restart.
 */
export type FeedReading = {
  readonly source: Micros
  readonly facts: Readonly<Record<string, number>>
}

/** The stateless, versioned part of a venue: turns its JSON into events. */
export interface Normalizer {
  /** Increases whenever the same bytes give other events; stored with every chunk. */
  readonly version: number
  /** Normalizes one frame of a socket; throws PriorbookError where all of it is malformed. */
  frame(value: unknown, at: Arrival): Normalized
  /** Normalizes the answer to a request that the venue's connector made. */
  answer(request: CaptureRequest, value: unknown, at: Arrival): Normalized
  /**
   * The books that an unreadable frame may have concerned: keys of instruments, or all that its socket
   * feeds, which is the default. `value` is undefined where the frame is not JSON.
   */
  suspects?(value: unknown): 'all' | 'none' | readonly string[]
}

/**
 * A request, kept in the journal in front of its answer: a kind that the venue's connector defines, and
 * the fields that its normalizer needs to read the answer. Never contains a secret.
 */
export type CaptureRequest = { readonly kind: string; readonly [field: string]: Json }

/**
 * What a connector knows beside the messages. Notes are kept in the journal among the messages, so that
 * all rows and gaps can be derived again.
 */
export type CaptureNote =
  /** A socket is open; later frames with this `slot` came over it. */
  | { readonly note: 'connected'; readonly slot: number; readonly url: string }
  /**
   * Messages were or may have been lost from here on. Closes the books of the named instruments, and of
   * all that the socket (`slot`, or only its subscription `sid`) fed, until the next full book.
   */
  | {
      readonly note: 'loss'
      readonly reason: GapReason
      readonly why: string
      readonly slot?: number
      readonly sid?: number
      readonly keys?: readonly string[]
    }
  /** The feed of trades cannot be read, from its last message on until its next one. */
  | { readonly note: 'feed_lost'; readonly reason: GapReason; readonly why: string }
  /** A request without a usable answer. */
  | {
      readonly note: 'failed'
      readonly request: CaptureRequest
      readonly status?: number
      readonly why: string
    }
  /** These markets are recorded in another tier from here on. */
  | ({ readonly note: 'tier'; readonly markets: readonly string[] } & CaptureDecision)
  /** All markets of the venue that existed at `since`, in microseconds, have been listed by these rules. */
  | { readonly note: 'walked'; readonly since: number; readonly rules: number }
  /** The venue's clock minus ours, accurate to about half the round trip plus `step_us`. */
  | {
      readonly note: 'clock'
      readonly offset_us: number
      readonly round_trip_us: number
      readonly step_us: number
    }

/** The highest number of a socket: one byte of a journal record names the socket that brought it. */
export const MAX_SLOT = 253

/** The highest socket of books of a venue with feeds of reference prices, whose sockets are those above it. */
export const MAX_BOOK_SLOT = 245

/** True for a socket that brings reference prices and nothing else. */
export function isReferenceSlot(venue: VenueId, slot: number): boolean {
  return slot > MAX_BOOK_SLOT && VENUES[venue].references.length > 0
}

/**
 * What the recorder read in a message, so that no connector normalizes it a second time. It is known
 * at once; what the message does to books may have to wait for the store.
 */
export type Reading = Normalized & {
  /** Why nothing of the message could be used; the recorder puts it into quarantine. */
  readonly error?: PriorbookError
}

/** Normalizes a message; one that is malformed as a whole gives a reading with its error. */
export function toReading(normalize: () => Normalized): Reading {
  try {
    return normalize()
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    return { events: [], problems: [], error }
  }
}

/** How a requested full book relates to the past states of the recorder's book. */
export type BookRelation =
  /** The recorder's book had no state to compare with. */
  | 'first'
  /** The book was in this state lately: nothing is missing. */
  | 'same'
  /** It is older than all states that are remembered, so it proves nothing. */
  | 'older'
  /** It is not older than the newest state: the changes that lead to it may be on their way. */
  | 'ahead'
  /** Its time lies between the remembered states, and it equals none of them. */
  | 'differs'

/** The recorder's book of an instrument, as far as a connector may look at it. */
export interface CapturedBook {
  /** True while nothing is missing. */
  readonly isOpen: boolean
  /** Counts changed levels; only the difference between two readings has a meaning. */
  readonly changedLevels: number
  /** Compares a full book with the states that messages other than itself led to. */
  relate(book: BookSnapshot): BookRelation
}

/**
 * Where a connector puts what it hears, in the order in which it happened. Every call writes to the
 * journal in the same turn, so a note of a loss stands in front of the first message after it.
 */
export interface CaptureSink {
  /** Our wall clock: when something was received. It may be stepped at any time. */
  now(): Micros
  /** The time by which what is due is decided: the wall clock without its steps. */
  steadyNow(): Micros
  /** A data frame exactly as received; `parsed` is its JSON, undefined where it is not JSON. */
  frame(slot: number, received: Micros, bytes: Uint8Array, parsed: unknown): Reading
  /** The number of the newest journal record. */
  position(): number
  /** An answer exactly as received; `asked` is the position when its request was sent. */
  answer(
    request: CaptureRequest,
    received: Micros,
    bytes: Uint8Array,
    parsed: unknown,
    asked?: number,
  ): Reading
  note(note: CaptureNote): void
  /**
   * True while there is no space: nothing is kept, so nothing may be taken for told. Answers have to be asked for
   * again, and frames give no records of markets meanwhile.
   */
  isFull?(): boolean
  /** The book that the recorder holds of an instrument; undefined before its first message. */
  book(key: string): CapturedBook | undefined
  /** Where polls are traced; absent for nowhere. */
  readonly tracing?: Pick<Tracing, 'span'>
}

/** The part of a logger that connectors use (pino's shape). */
export interface CaptureLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** The state of a connector, for the status line and the metrics. */
export type ConnectorStatus = {
  readonly venue: VenueId
  readonly state: 'starting' | 'recording' | 'degraded' | 'no_credentials' | 'stopped'
  /** A human-readable reason, such as why it is degraded. */
  readonly detail: string
  readonly markets: number
  readonly sockets: readonly {
    readonly slot: number
    readonly connected: boolean
    readonly subscriptions: number
    readonly lastFrame?: Micros
  }[]
  /** The upstream quota: its limit per window, the use of the current window, and refusals (429). */
  readonly quota?: {
    readonly limit: number
    readonly windowMs: number
    readonly used: number
    readonly refused: number
  }
  /** Open markets by tier; absent where the venue has no rules of selection. */
  readonly tiers?: Readonly<Record<CaptureTier, number>>
}

/** The live part of a venue: discovers markets and keeps their books coming. */
export interface Connector {
  readonly venue: VenueId
  /** Runs until the signal aborts. Never throws for an upstream failure: it is noted and retried. */
  run(signal: AbortSignal): Promise<void>
  /** The books of these instruments were closed: requests full ones. Called synchronously and often. */
  recover(instruments: readonly Instrument[], reason: GapReason): void
  /** Follows these markets to their end; those that it follows already stay as they are. */
  resume(unresolved: readonly UnresolvedMarket[]): void
  status(): ConnectorStatus
  /** Takes other rules of selection while it runs; absent where the venue has none. */
  select?(selection: SelectionOptions): void
  /** Lists the markets once instead of running, and says what is decided about each. */
  survey?(signal: AbortSignal): Promise<Iterable<SurveyedMarket>>
}

/** What earlier runs stored of a feed of trades. */
export type StoredFeed = {
  readonly facts: ReadonlyMap<string, number>
  /** Calls back for the markets that may have traded since its last message. */
  eachMarket(onMarket: (record: MarketRecord) => void): Promise<void>
}

/** How many calls to a venue ended by a time. */
export type AskedCalls = { readonly until: Micros; readonly count: number }

/** A market that has not resolved, as far as the tape knows. */
export type UnresolvedMarket = {
  readonly marketId: string
  readonly native: Json
  /** What else its record says. */
  readonly facts?: Omit<MarketRecord, 'native'>
}

/** What every connector gets beside its own options. */
export type ConnectorContext = {
  readonly sink: CaptureSink
  readonly log: CaptureLog
  /** For waits and timeouts; the system clock by default. */
  readonly clock?: Clock
  /** Markets of earlier runs that have not resolved; they are followed to their end. */
  readonly unresolved: readonly UnresolvedMarket[]
  /** When an earlier run had listed all markets of the venue, and by which rules; absent where none did. */
  readonly walked?: { readonly at: Micros; readonly rules: number }
  /** Recent calls of earlier runs, where the venue's quota outlives a restart. */
  readonly asked?: readonly AskedCalls[]
  /** What is stored of the venue's feed of trades, where it has one. */
  readonly feed?: StoredFeed
}
