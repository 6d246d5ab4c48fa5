import { readFileSync } from 'node:fs'

// A reader of Tardis' files, written from its list of columns: https://docs.tardis.dev/downloadable-csv-files

/** A row of a CSV file by column. */
export type CsvRow = Readonly<Record<string, string>>

/** Best prices as decimal text; null where a side is empty. */
export type Top = readonly [bid: string | null, ask: string | null]

/** The rows of a CSV file without quotes. */
export function readCsv(path: string): CsvRow[] {
  const [head, ...rows] = readFileSync(path, 'utf8').trimEnd().split('\n')
  const names = head!.split(',')
  return rows.map((row) => {
    const cells = row.split(',')
    return Object.fromEntries(names.map((name, index) => [name, cells[index]!]))
  })
}

/** Best prices at instants: a snapshot after an update begins a new book, an amount of 0 removes a level. */
export function topsOfChanges(rows: readonly CsvRow[], instants: readonly number[]): Top[] {
  const book = { bid: new Map<string, number>(), ask: new Map<string, number>() }
  let wasSnapshot = false
  let at = 0
  return instants.map((instant) => {
    for (; at < rows.length && Number(rows[at]!['local_timestamp']) <= instant; at++) {
      const row = rows[at]!
      const isSnapshot = row['is_snapshot'] === 'true'
      if (isSnapshot && !wasSnapshot) {
        book.bid.clear()
        book.ask.clear()
      }
      wasSnapshot = isSnapshot
      const side = book[row['side'] as 'bid' | 'ask']
      const price = row['price']!
      if (Number(row['amount']) === 0) side.delete(price)
      else side.set(price, Number(price))
    }
    const best = (side: Map<string, number>, pick: (...all: number[]) => number): string | null =>
      side.size === 0 ? null : String(pick(...side.values()))
    return [best(book.bid, Math.max), best(book.ask, Math.min)]
  })
}

/** Best prices at instants by the rows of whole books. */
export function topsOfSnapshots(rows: readonly CsvRow[], instants: readonly number[]): Top[] {
  let at = 0
  let now: Top = [null, null]
  return instants.map((instant) => {
    for (; at < rows.length && Number(rows[at]!['local_timestamp']) <= instant; at++) {
      const row = rows[at]!
      now = [row['bids[0].price']! || null, row['asks[0].price']! || null]
    }
    return now
  })
}
