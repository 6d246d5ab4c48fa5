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

/** A venue's history from before capture. Every answer goes through the sink. */
export interface History {
  /** Calls so far. */
  readonly calls: number
  /** Requests the markets of a scope; throws `upstream_failed` where the venue does not answer for long. */
  catalogue(scope: HistoryScope, signal: AbortSignal): AsyncGenerator<CatalogueStep, void, void>
  /** Requests markets again that had no result. */
  refresh(records: readonly MarketRecord[], signal: AbortSignal): Promise<void>
}

/** How the history of a venue is fetched. */
export type HistorySource<Settings> = {
  /** The selectors that may stand together; one group of them is given. */
  readonly selectors: readonly (readonly HistorySelector[])[]
  /** The base of the interface that is called, which tells the emulator from the real venue. */
  baseOf(config: SettingValues<Settings>): string
  open(config: SettingValues<Settings>, context: HistoryContext): History
}
