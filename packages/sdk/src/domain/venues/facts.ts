import type { Micros } from '../micros.ts'

/** What a venue's numbers mean: served with every market as `units`. */
export type Units = {
  readonly priceUnit: string
  readonly sizeUnit: string
  readonly volumeUnit: string
  readonly collateral: string
}

/** The kinds of data that are captured separately and therefore start at different times. */
export const DATASETS = ['catalogue', 'books', 'trades', 'metrics'] as const

/** The name of one kind of data. */
export type Dataset = (typeof DATASETS)[number]

/** The time before which a venue has no rows of a dataset. Nothing is invented before it. */
export type Floor = {
  readonly dataset: Dataset
  /** The assets and windows the floor applies to; absent means all of them. */
  readonly assets?: readonly string[]
  readonly windows?: readonly string[]
  /** Absent where the floor is this installation's own first observation. */
  readonly start?: Micros
  /** True where the interface document gives day and month only and the year is our reading. */
  readonly yearInferred?: boolean
  /** True where rows between the floor and the start of capture are backfilled. */
  readonly backfilled?: boolean
}

/** The REST addresses of a venue's markets, from the interface document. */
export type VenuePaths = {
  /** The list of markets. */
  readonly markets: string
  /** The path of one market; every route of a market hangs below it. */
  readonly market: string
  /** A second pair of addresses that serves the same routes. */
  readonly alias?: { readonly markets: string; readonly market: string }
  /** The same routes for markets with and without an asset, where the others name the asset. */
  readonly plain?: { readonly markets: string; readonly market: string }
  /** The path parameter that carries the market's id. */
  readonly marketParam: 'market_id' | 'market_ticker'
  /** True where the path starts with the underlying asset. */
  readonly hasAsset: boolean
  /** What a valid id looks like; completes "The path takes …". */
  readonly idHint: string
  /** Matches every id that the venue can have given out. */
  readonly idPattern: RegExp
}

/** A feed of the prices of assets that the venue sends itself: what its rounds are settled on. */
export type ReferenceFeed = {
  /** Lower case; part of keys and row ids. */
  readonly feed: string
  /** What a price is: `USD` is dollars for one of the asset. */
  readonly unit: string
  /** What the price is, as a sentence. */
  readonly description: string
  /** The rounds that settle on it; absent where none does. */
  readonly settles?: {
    /** Their windows; absent for all. */
    readonly windows?: readonly string[]
    /** Those that open from this time on, and before that one. */
    readonly from?: Micros
    readonly until?: Micros
  }
}

/** How the recorder orders a venue's book messages and finds lost ones. */
export type BookRules = {
  /**
   * What proves the order of messages on a socket.
   * - `sequence`: every message of a subscription is numbered, so a missing number is a loss.
   * - `source_time`: messages are sent in order of the venue's clock, so one that goes back is a loss.
   * - `none`: every message is a whole book and order is not promised; older books are skipped.
   */
  readonly order: 'sequence' | 'source_time' | 'none'
  /**
   * True where a full book that arrives among changes must equal the book built from them, apart from
   * what a trade explains. Any other difference is a loss.
   */
  readonly fullBooksVerify: boolean
  /**
   * True where REST answers may stand between socket messages of one book. Where false, an answer
   * counts only while no socket feeds the book.
   */
  readonly answersMixWithSocket: boolean
  /**
   * True where every recorded book is subscribed on a socket, so that a book without a known socket
   * may be on any of them.
   */
  readonly socketsFeedAllBooks: boolean
}

/** How positions and orders work on a venue; the backtester follows these. */
export type TradingRules = {
  /** True where holding both outcomes nets to cash at once, and selling one means buying the other. */
  readonly netsOutcomes: boolean
  /** True where the venue stops matching at the market's close time. */
  readonly stopsAtClose: boolean
  /** Decimals of the smallest amount of collateral that a trade can move. */
  readonly amountDecimals: number
  /** Decimals that payouts are rounded down to, the rest being a fee; absent where they are exact. */
  readonly payoutDecimals?: number
}

/** Facts of a venue that hold for its whole history. */
export type VenueFacts = {
  /** The name people read, such as `Venue A`. */
  readonly label: string
  /** What is traded there, in two or three words for titles. */
  readonly marketKind: string
  /** Decimals of a book price; a finer price is quarantined as `unrepresentable`. */
  readonly priceDecimals: number
  /** Decimals of a size. */
  readonly sizeDecimals: number
  readonly units: Units
  /** How much finer the tick of a market may become by a message that its record does not show. */
  readonly tickRefinement?: number
  /** Whether a market has one order book, or one for each outcome token. */
  readonly booksPer: 'market' | 'token'
  /** True where the venue quotes yes bids and no bids, served beside the normalized ladders. */
  readonly hasYesNoLadders: boolean
  /** Max levels per side that routes serve; absent means all. */
  readonly levelsMax?: number
  /** True where `include_orderbook` defaults to true. */
  readonly laddersByDefault: boolean
  /**
   * True where the venue itself sends execution prints. Where false they are read from its chain if an
   * endpoint is configured; the trades route is empty otherwise.
   */
  readonly hasTrades: boolean
  /** The key of gaps of trades, where trades arrive by another way than books. */
  readonly tradesKey?: string
  /** The series of samples that are recorded; empty where the venue has none. */
  readonly metrics: readonly string[]
  /** The feeds of reference prices that can be recorded, the first one being what the newest rounds settle on. */
  readonly references: readonly ReferenceFeed[]
  /** The venue's word for a group of markets, with its article. */
  readonly groupWord: string
  /** The market attribute that names a family of markets in downloads and subscriptions. */
  readonly familyKey: 'asset' | 'series'
  /** True where the cheapest plan that comes with the service includes the venue. */
  readonly isInCheapestPlan: boolean
  /** Finds the underlying asset in a series ticker, for venues whose records do not name it. */
  readonly assetInTicker?: RegExp
  readonly paths: VenuePaths
  readonly floors: readonly Floor[]
  readonly bookRules: BookRules
  readonly trading: TradingRules
}
