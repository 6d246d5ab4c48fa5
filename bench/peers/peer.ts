import type { FoldedObservation } from '../lib/naive-fold.ts'
import type { JsonText } from '../lib/measure.ts'
import type { PlannedPage, PlannedPoint } from '../lib/plan.ts'

/** A page with all four ladders, or the same rows without them. */
export type RowShape = 'full' | 'without_ladders'

/** What a database has to do for the comparison; every read gives JSON text made by the engine. */
export interface Peer {
  /** Rows sequence from .. from + rows - 1 of one market, in order, one JSON object each. */
  readPage(page: PlannedPage, shape: RowShape): Promise<JsonText>
  /** The same page from a second table whose texts were made when the rows were written. */
  readTextPage(page: PlannedPage): Promise<JsonText>
  /** The last row of a market that was received at or before a time. */
  readAsOf(point: PlannedPoint): Promise<JsonText>
  /** The last row of a market. */
  readLatest(ticker: string): Promise<JsonText>
  /** The last row in each bucket of a market, with the bucket's start, age and changes. */
  readSample(ticker: string, bucketSeconds: number): Promise<JsonText>
  /** Reads best bid and ask of every row of a market in order; gives the number of rows read. */
  replay(ticker: string): Promise<number>
  /** Makes a batch ready outside the measured time; the function it gives writes and syncs it. */
  prepareAppend(batch: readonly FoldedObservation[]): () => Promise<void>
  close(): Promise<void>
}

/** Writes all observations in the layout of one engine. */
export interface PeerBuilder {
  add(observation: FoldedObservation): Promise<void>
  /** Ends the import; gives the bytes of the finished, merged files. */
  finish(): Promise<number>
  /** Writes the second table, outside the import; gives its bytes. */
  addTextVariant(): Promise<number>
  close(): Promise<void>
}

/** One engine of the comparison: how its data is built and how it is opened for reading. */
export interface PeerEngine {
  readonly name: string
  /** What the reader of a result has to know: schema, codecs, caches, kind of sync. */
  readonly notes: readonly string[]
  createBuilder(folder: string): Promise<PeerBuilder>
  open(folder: string): Promise<Peer>
}
