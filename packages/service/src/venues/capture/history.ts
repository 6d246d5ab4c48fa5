import type { MarketRecord, Micros } from '@priorbook/sdk/domain'
import type { Clock } from '../../lib/clock.ts'
import type { SettingValues } from '../../lib/setting.ts'
import type { CaptureLog, CaptureSink } from './contract.ts'

/** By what the markets of a history are selected; each is an option of the command. */
export const HISTORY_SELECTORS = ['series', 'event', 'asset', 'window'] as const

/** The name of one of them. */
export type HistorySelector = (typeof HISTORY_SELECTORS)[number]

/** Which markets a history is about. */
export type HistoryScope = { readonly [Name in HistorySelector]?: string } & {
  /** Markets that ended in [start, end); an event is taken as a whole. */
  readonly start: Micros
  readonly end: Micros
  /** Also those that have not ended yet. */
  readonly withOpen: boolean
}

/** What a history needs beside its addresses. */
export type HistoryContext = {
  /** Where answers go. Requests of a history have kinds that begin with `history_`. */
  readonly sink: CaptureSink
  readonly log: CaptureLog
  /** The clock that spaces the calls; the system's by default. */
  readonly clock?: Clock
  /** True when nothing is left to request for these markets. */
  areComplete(marketIds: readonly string[]): Promise<boolean>
}

/** All markets of the scope that ended before this time have been requested. */
export type CatalogueStep = { readonly reached: Micros }

/**
 * The trades of a market up to `reached` are requested, by the venue's clock. `missing` is a span before it
 * that the venue does not give.
 */
export type TradesStep = {
  /** Absent where more follows that is noted together with it. */
  readonly reached?: Micros
  readonly missing?: { readonly start: Micros; readonly end: Micros; readonly why: string }
}

/** Trades of the last moments are left out: the venue may list them late. */
export const SETTLE_MICROS = 30_000_000

/** A venue's history from before capture. Every answer goes through the sink. */
export interface History {
  /** Calls so far. */
  readonly calls: number
  /** Requests the markets of a scope; throws `upstream_failed` where the venue does not answer for long. */
  catalogue(scope: HistoryScope, signal: AbortSignal): AsyncGenerator<CatalogueStep, void, void>
  /** Requests markets again that had no result. */
  refresh(records: readonly MarketRecord[], signal: AbortSignal): Promise<void>
  /**
   * Requests the trades of a market from a whole second on, oldest first. Requests of kind `history_trades` say
   * which span ([since, until), in microseconds) their answer shows completely; nothing else of it counts.
   */
  trades(
    record: MarketRecord,
    since: Micros,
    signal: AbortSignal,
  ): AsyncGenerator<TradesStep, void, void>
  /** Requests the price history of a market that the venue keeps, from a time on, oldest first. */
  prices(
    record: MarketRecord,
    since: Micros,
    signal: AbortSignal,
  ): AsyncGenerator<TradesStep, void, void>
}

/** Markets that live longer than this have values by the hour instead of by the minute. */
const MINUTES_UP_TO = 7 * 86_400_000_000

/** How many minutes lie between two values of the price history of a market. */
export function historyMinutes({ openTime, closeTime }: MarketRecord): 1 | 60 {
  if (openTime === undefined || closeTime === undefined) return 60
  return closeTime - openTime <= MINUTES_UP_TO ? 1 : 60
}

/** When the history of a market begins: with its listing, because rounds trade before their window begins. */
export function historyBegin({ openTime, createdTime }: MarketRecord): Micros | undefined {
  if (openTime === undefined || createdTime === undefined) return openTime ?? createdTime
  return openTime < createdTime ? openTime : createdTime
}

/** How the history of a venue is fetched. */
export type HistorySource<Settings> = {
  /** The selectors that may stand together; one group of them is given. */
  readonly selectors: readonly (readonly HistorySelector[])[]
  /** The bases of the interfaces that are called, by setting; they tell the emulator from the real venue. */
  basesOf(config: SettingValues<Settings>): Readonly<Record<string, string>>
  open(config: SettingValues<Settings>, context: HistoryContext): History
}
