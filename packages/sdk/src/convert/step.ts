import type { MarketRecord, Micros } from '../domain/index.ts'
import type { ReplayInstrument } from '../replay/index.ts'

/** A level that a book got (`isNew`), changed, or lost (`size` 0), in ticks and units of the venue. */
export type LevelStep = {
  readonly side: 'bid' | 'ask'
  readonly price: number
  readonly size: number
  readonly isNew: boolean
}

/**
 * What other tools are told, in the order of received times: a book becomes unknown, a book is known in whole or has
 * changed, a trade. A book that became unknown is told in whole when it is known again: nothing is bridged.
 */
export type Step =
  | {
      readonly kind: 'clear'
      readonly at: Micros
      readonly instrument: ReplayInstrument
      /** The levels that the book had, best first. */
      readonly levels: readonly LevelStep[]
    }
  | {
      readonly kind: 'book'
      readonly at: Micros
      readonly source: Micros | undefined
      readonly instrument: ReplayInstrument
      readonly sequence: number
      /** True for a whole book, which nothing is known before. */
      readonly isWhole: boolean
      readonly changes: readonly LevelStep[]
    }
  | {
      readonly kind: 'trade'
      readonly at: Micros
      readonly source: Micros | undefined
      readonly instrument: ReplayInstrument
      readonly tradeId: string
      readonly price: number
      readonly size: number
      readonly taker: 'buy' | 'sell' | undefined
    }

/** Writes steps as the files of one tool. */
export interface ToolWriter {
  /** Takes a step; its lists are valid during the call. */
  take(step: Step): void
  /** Writes what was taken so far, so that memory stays bounded. */
  flush(): Promise<void>
  /** Completes the files and describes them. */
  finish(markets: readonly MarketRecord[]): Promise<readonly ToolFile[]>
}

/** One finished file. */
export type ToolFile = {
  /** Inside the folder, with slashes. */
  readonly path: string
  readonly rows: number
  readonly instrument: ReplayInstrument
}
