import type { Evidence, FillView, OrderView } from '../order.ts'
import type { Failure } from '../strategy-hooks.ts'
import type { SettlementView } from '../strategy.ts'
import type { PricePoint } from '../price-curve.ts'
import type { Baseline, Calibration, Confidence } from './evaluation.ts'
import type { Performance } from './performance.ts'

/** The result of a class of fills; money is decimal text. */
export type ClassResult = { readonly fills: number; readonly pnl: string; readonly fees: string }

/** The fills of one span of time: their result, with positions at their final value. */
export type BreakdownRow = {
  readonly name: string
  readonly markets: number
  readonly fills: number
  readonly pnl: string
  readonly fees: string
}

/** The result by the time of the fills. The rows of each table add up to the result of all fills. */
export type BreakdownTables = {
  readonly by_day: readonly BreakdownRow[]
  readonly by_hour: readonly BreakdownRow[]
  readonly by_time_to_close: readonly BreakdownRow[]
}

/** One market in the report. */
export type MarketResult = {
  readonly market: string
  readonly event: string
  readonly title: string | null
  readonly status: string | null
  readonly fills: number
  readonly pnl: string
  readonly fees: string
  readonly payouts: readonly string[] | null
  /** Seconds from the first fill to the payout; null before it. */
  readonly locked_s: number | null
  readonly disputes: number
  readonly late_changes: number
  readonly observations: number
  readonly trades: number
  readonly gaps: number
  readonly gap_s: number
  /** The share of the time between first and last row that was recorded. */
  readonly coverage: number
  /** True where rows are whole books between which any number of changes may have happened. */
  readonly polled: boolean
  readonly fee_basis: string
  readonly tick_source: string | null
  readonly rows: readonly {
    readonly key: string
    readonly first_sequence: number
    readonly last_sequence: number
    readonly rows: number
  }[]
}

/** The complete result of a run, as JSON: money is decimal text, statistics are numbers. */
export type Report = {
  readonly format: 'priorbook-backtest/1'
  readonly status: 'complete' | 'failed'
  readonly failure: Failure | null
  readonly disclaimer: readonly string[]
  readonly notices: readonly string[]
  readonly run: {
    readonly strategy: string
    readonly params: Readonly<Record<string, unknown>>
    readonly seed: number
    readonly queue: string
    readonly latency: unknown
    /** The limits of the account; absent where it had none. */
    readonly limits?: unknown
    readonly gap_policy: string
    readonly print_lag_us: number
    readonly near_gap_us: number
    readonly cash: Readonly<Record<string, string>>
    readonly assume: unknown
    readonly from: string
    readonly to: string
  }
  readonly headline: {
    readonly pnl: string
    /** Of markets that paid out, and of open ones at the price they could be sold for. */
    readonly pnl_settled: string
    readonly pnl_open: string
    readonly start: string
    readonly end: string
    readonly fees: string
    readonly settlement_fees_and_rounding: string
    /** Maker rebates, if daily pools paid per fill; not part of any other figure. */
    readonly rebates_apart: string
    readonly peak_capital: string
    readonly return_on_peak_capital: number | null
    readonly mean_capital: string
    readonly max_drawdown: string
    readonly volume: string
  }
  /** The PnL by queue model where all three were run: three guesses about the queue, not bounds. */
  readonly bracket: {
    readonly pessimistic: string
    readonly proportional: string
    readonly optimistic: string
    /** The least and the largest of the three, in which order the models need not be. */
    readonly smallest: string
    readonly largest: string
    readonly maker_fills: readonly number[]
    readonly is_one_number: boolean
  } | null
  readonly confidence: Confidence
  readonly performance: Performance
  readonly orders: {
    readonly sent: number
    readonly arrived: number
    readonly rejected: number
    readonly reasons: Readonly<Record<string, number>>
    readonly cancelled: number
    readonly expired: number
    readonly with_fills: number
    readonly filled_whole: number
    readonly fill_rate_orders: number | null
    readonly fill_rate_size: number | null
  }
  readonly fills: {
    readonly count: number
    readonly taker: number
    readonly maker: number
    readonly mean_book_age_ms: number | null
    readonly max_book_age_ms: number
  }
  readonly slippage: {
    /** Ten-thousandths per share beyond the best price and the mid at the time of sending. */
    readonly from_touch: number | null
    readonly from_mid: number | null
  }
  readonly markouts: readonly {
    readonly seconds: number
    readonly taker: number | null
    readonly maker: number | null
    readonly fills: number
    readonly missing: number
  }[]
  readonly evidence: Readonly<Record<Evidence, ClassResult & { readonly meaning: string }>>
  readonly gaps: {
    readonly near: ClassResult
    readonly apart: ClassResult
    readonly count: number
    readonly seconds: number
    readonly orders_cancelled: number
    readonly orders_refused: number
    /** The first thousand, in microseconds; `end` is null while a gap is open. */
    readonly spans: readonly {
      readonly market: string
      readonly reason: string
      readonly start: number
      readonly end: number | null
    }[]
  }
  readonly exposure: {
    readonly markets_traded: number
    readonly settled: number
    readonly open: number
    readonly void_unpaid: number
    readonly disputed: number
    readonly mean_lock_up_s: number | null
    readonly max_lock_up_s: number | null
  }
  readonly calibration: Calibration
  readonly baselines: readonly Baseline[]
  readonly coverage: {
    readonly observations: number
    readonly trades: number
    readonly samples: number
    readonly revisions: number
    readonly trades_without_side: number
    /** Rows of the feeds of one's own, by name. */
    readonly data: Readonly<Record<string, number>>
    readonly observed: number
    readonly below_floor: readonly string[]
  }
  readonly venues: readonly {
    readonly venue: string
    readonly start: string
    readonly cash: string
    readonly bought: string
    readonly sold: string
    readonly fees: string
    readonly share_fees: string
    readonly paid_out: string
    readonly merged: string
    readonly split: string
  }[]
  readonly markets: readonly MarketResult[]
  readonly breakdown: BreakdownTables
  readonly equity: readonly (readonly [at: number, equity: number, capital: number])[]
  readonly settlements: readonly SettlementView[]
  readonly orders_kept: readonly OrderView[]
  readonly fills_kept: readonly FillView[]
  readonly logs: readonly string[]
  /** Best prices of the first outcome of traded markets, sampled; at most 300 points a market. */
  readonly prices: readonly { readonly market: string; readonly points: readonly PricePoint[] }[]
  /** Size ahead of resting orders when they joined the queue and at their fills, as decimal text. */
  readonly queue: readonly { readonly order: number; readonly at: number; readonly ahead: string }[]
  /** What the run was made of, where the command wrote the report. */
  readonly inputs?: Inputs
}

/** The program, the strategy and the files of a run, with their SHA-256. */
export type Inputs = {
  readonly priorbook: string
  readonly strategy: InputFile
  /** The files of recorded events by name; empty where a service was read. */
  readonly files: readonly InputFile[]
  /** The series of one's own, by the name of their feed; absent in reports of older versions. */
  readonly data?: readonly DataInput[]
  /** Of the rows that were read: keys, sequences and counts of all markets of the report. */
  readonly rows_sha256: string
}

/** The file of a series of one's own. */
export type DataInput = InputFile & {
  readonly feed: string
  /** The column with the received time, where one was named. */
  readonly column?: string
}

/** One file of a run. */
export type InputFile = { readonly name: string; readonly bytes: number; readonly sha256: string }
