/** A value of a row: text, a number, true or false, or null where it is absent. */
export type DataValue = string | number | boolean | null

/** A row of a series of one's own. */
export type DataRow = {
  /** When the row was received, in microseconds: a strategy sees it from then on. */
  readonly time: number
  readonly values: Readonly<Record<string, DataValue>>
}

/** A series of one's own that a run plays among the recorded events. */
export type DataFeed = {
  readonly name: string
  /** Rows in order of their time. Where several windows are run, each iterates over them anew. */
  readonly rows: AsyncIterable<DataRow> | Iterable<DataRow>
  /** How much later than `time` the strategy receives a row, in microseconds; 0 by default. */
  readonly delay?: number
}

/** A row of a feed among the events of a run. */
export type DataEvent = {
  readonly kind: 'data'
  readonly at: number
  readonly feed: string
  readonly row: DataRow
}
