import { instrumentName, printScaled, type Instrument } from '@priorbook/sdk/domain'
import type { BookColumns } from '@priorbook/sdk/tape'
import type { Store } from '../../packages/service/src/store/store.ts'

const PAGE = 5000

/** Remembers every row that a reader has seen, to find out whether it is still there later, unchanged. */
export interface SeenRows {
  /** Reads what came since the last look. */
  look(store: Store): Promise<void>
  /** Rows that are not what they were, or that came twice; nothing, if all is well. */
  differences(store: Store): Promise<readonly string[]>
  readonly observations: number
  readonly trades: number
}

type Stream = { readonly books: Fingerprint[]; readonly trades: Fingerprint[] }
/** A row in short; the full book of a row follows from the changes of all before it. */
type Fingerprint = { readonly journal: number; readonly text: string }

/** Creates a memory that has seen nothing. */
export function createSeenRows(): SeenRows {
  const streams = new Map<string, Stream>()

  function streamOf(instrument: Instrument): Stream {
    const name = instrumentName(instrument)
    let stream = streams.get(name)
    if (stream === undefined) streams.set(name, (stream = { books: [], trades: [] }))
    return stream
  }

  const count = (kind: keyof Stream): number =>
    streams.values().reduce((sum, stream) => sum + stream[kind].length, 0)

  return {
    async look(store) {
      for (const { instrument } of await store.instruments()) {
        const { books, trades } = streamOf(instrument)
        books.push(...(await readBooks(store, instrument, books.length)))
        trades.push(...(await readTrades(store, instrument, trades.length)))
      }
    },
    async differences(store) {
      const found: string[] = []
      for (const { instrument } of await store.instruments()) {
        const name = instrumentName(instrument)
        const before = streamOf(instrument)
        const now = {
          books: await readBooks(store, instrument, 0),
          trades: await readTrades(store, instrument, 0),
        }
        for (const kind of ['books', 'trades'] as const) {
          const changed = before[kind].findIndex(({ text }, at) => now[kind][at]?.text !== text)
          if (changed >= 0) {
            const [was, is] = [before[kind][changed]?.text, now[kind][changed]?.text]
            found.push(`${name}: row ${changed + 1} of ${kind} was ${was} and is ${is}`)
          }
        }
        // One message says at most one thing of a book: the same record twice would be a row twice.
        const twice = now.books.findIndex(
          ({ journal }, at) => at > 0 && journal <= now.books[at - 1]!.journal,
        )
        if (twice >= 0) found.push(`${name}: row ${twice + 1} is of no newer message than the last`)
        streams.delete(name)
      }
      for (const name of streams.keys()) found.push(`${name}: the instrument is gone`)
      return found
    },
    get observations() {
      return count('books')
    },
    get trades() {
      return count('trades')
    },
  }
}

async function readBooks(
  store: Store,
  { venue, key }: Instrument,
  after: number,
): Promise<Fingerprint[]> {
  const rows: Fingerprint[] = []
  for (;;) {
    const page = await store.books({
      venue,
      key,
      order: 'asc',
      after: after + rows.length,
      limit: PAGE,
      numbers: true,
    })
    for (const { columns, firstSequence, from, to } of page.runs) {
      for (let row = from; row < to; row++) {
        // Sequences without a hole are the places in the list.
        const sequence = firstSequence + row
        if (sequence !== after + rows.length + 1) return rows
        rows.push({ journal: columns.journal[row]!, text: textOf(columns, row) })
      }
    }
    if (!page.hasMore) return rows
  }
}

function textOf(columns: BookColumns, row: number): string {
  const { received, source, venueSeq, channel, journal, flags, priceDecimals } = columns
  const changes: string[] = []
  for (let index = columns.changeStart(row); index < columns.changeEnd[row]!; index++) {
    const level = columns.key[index]!
    const side = (level & 1) === 0 ? 'bid' : 'ask'
    // As a price: packing may hold the same rows in finer ticks.
    const price = Number(printScaled(level >>> 1, priceDecimals))
    changes.push(`${side} ${price}×${columns.size[index]}`)
  }
  const head = [received[row], source[row], venueSeq[row], channel[row], journal[row], flags[row]]
  return `${head.join(' ')} ${changes.join(' ')}`
}

async function readTrades(
  store: Store,
  { venue, key }: Instrument,
  after: number,
): Promise<Fingerprint[]> {
  const { rows } = await store.trades({ venue, key, order: 'asc', after, limit: 1_000_000 })
  return Array.from({ length: rows.count }, (_, at) => {
    const { tradeId, received, price, size, journal, flags } = rows
    const values = [tradeId[at], received[at], price[at], size[at], journal[at], flags[at]]
    return { journal: journal[at]!, text: values.join(' ') }
  })
}
