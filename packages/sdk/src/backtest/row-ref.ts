/** A recorded row by the series it belongs to (`venue:key`, of trades `venue:key/trade`) and its sequence. */
export type RowRef = { readonly series: string; readonly sequence: number }

/** The id of a row, as reports show it. */
export function printRow({ series, sequence }: RowRef): string {
  return `${series}:${sequence}`
}
