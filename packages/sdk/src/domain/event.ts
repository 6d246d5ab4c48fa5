import type { PriceTicks, SizeUnits } from './decimal.ts'
import type { Gap, GapReason } from './gap.ts'
import type { Instrument } from './identity.ts'
import type { MarketRecord } from './market.ts'
import type { Micros } from './micros.ts'
import type { TradeNative } from './trade-native.ts'

/** The side of a normalized book; for venue B `bid` is the yes ladder and `ask` the complement of the no ladder. */
export type Side = 'bid' | 'ask'

/** One price level, in ticks and units of its venue. */
export type Level = { readonly price: PriceTicks; readonly size: SizeUnits }

/** The origin of an event. */
export type Provenance = {
  readonly received: Micros
  /** The venue's clock; absent where the venue gave none. */
  readonly source?: Micros
  /** The venue's number of the message and the channel (subscription or socket) that it counts. */
  readonly venueSeq?: number
  readonly channel?: number
  /** The journal record that the event was derived from. */
  readonly journal: number
  /** Bits of `FLAGS` that do not depend on the book. */
  readonly flags?: number
}

/** The venue sent the whole book, with levels in any order; the row checks run on them as sent. */
export type BookSnapshot = Provenance & {
  readonly kind: 'snapshot'
  readonly instrument: Instrument
  readonly bids: readonly Level[]
  readonly asks: readonly Level[]
  /** True for one of the polls that are all that brings this book: what changed between them is not lost. */
  readonly isPolled?: boolean
}

/** The venue sent one or more changed levels: `size` is the new size, or a signed change when `signed`. */
export type BookChange = Provenance & {
  readonly kind: 'change'
  readonly instrument: Instrument
  readonly changes: readonly (Level & { readonly side: Side })[]
  readonly signed: boolean
  /** The best prices after the change, as the venue reports them; undefined means an empty side. */
  readonly claims?: {
    readonly bestBid: PriceTicks | undefined
    readonly bestAsk: PriceTicks | undefined
  }
}

/** The venue restarts the book of an instrument: its previous state is invalid. */
export type BookReset = Provenance & {
  readonly kind: 'reset'
  readonly instrument: Instrument
  readonly reason: GapReason
}

/** One execution print. `taker` is the taker's side on the market's first outcome. */
export type Trade = Provenance & {
  readonly kind: 'trade'
  readonly instrument: Instrument
  readonly tradeId: string
  readonly price: PriceTicks
  readonly size: SizeUnits
  readonly taker?: 'buy' | 'sell'
  /** What the message said in the venue's own words; absent where that is not known. */
  readonly native?: TradeNative
}

/** One value of one named metric at one instant, as canonical decimal text. */
export type Sample = Provenance & {
  readonly kind: 'sample'
  readonly instrument: Instrument
  readonly metric: string
  readonly value: string
}

/** A market record as known at its received time. */
export type MarketRevision = Provenance & {
  readonly kind: 'market'
  readonly record: MarketRecord
}

/** A gap was opened or closed. */
export type GapEvent = { readonly kind: 'gap'; readonly gap: Gap }

/** Every event of a normalizer. */
export type TapeEvent =
  | BookSnapshot
  | BookChange
  | BookReset
  | Trade
  | Sample
  | MarketRevision
  | GapEvent
