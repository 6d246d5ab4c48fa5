import { printScaled } from '@priorbook/sdk/domain'
import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'
import type { Book, Payload } from '../../packages/emulator/src/core/upstream.ts'
import type { Row } from './stored-rows.ts'

/** A book that the log tells of, and the row that it became, once that is known. */
export type Expected = {
  readonly at: number
  readonly payload: Payload & { readonly kind: 'full' | 'change' }
  readonly book: string
  readonly isAnswer: boolean
  /** A frame that was sent once more; a recorder may pass it over. */
  readonly isCopy: boolean
  readonly delivered: boolean
  /** Spoiled on the way: what is left of it may or may not be a message. */
  readonly isSpoiled: boolean
  readonly seq: number | undefined
  readonly connection: string
  matched: Row | undefined
}

/** What the log tells of, by `venue:key`. */
export type Truth = {
  readonly books: Map<string, Expected[]>
  readonly trades: Map<string, { id: string; at: number; delivered: boolean; isSpoiled: boolean }[]>
  readonly samples: Map<string, { value: string; at: number }[]>
}

/** Reads the log of the truth. */
export function gather(entries: readonly TruthEntry[]): Truth {
  const truth: Truth = {
    books: new Map(),
    trades: new Map(),
    samples: new Map(),
  }
  // A client that was kept from reading for longer than it waits breaks off; what came meanwhile
  // lies unread in its socket. It asked in vain and says so, as with an answer that never came.
  const untaken = new Set(
    entries.flatMap((entry) => (entry.type === 'untaken' ? [entry.request] : [])),
  )
  const push = <T>(map: Map<string, T[]>, name: string, value: T): void => {
    const list = map.get(name)
    if (list === undefined) map.set(name, [value])
    else list.push(value)
  }
  for (const entry of entries) {
    const { venue, at } = entry
    if (entry.type !== 'frame' && entry.type !== 'answer') continue
    const isAnswer = entry.type === 'answer'
    const delivered = isAnswer
      ? entry.status === 200 && !untaken.has(entry.request)
      : ON_WIRE.has(entry.delivered)
    const isSpoiled = !isAnswer && entry.delivered === 'malformed'
    const isCopy = !isAnswer && entry.delivered === 'duplicated'
    const connection = isAnswer ? '' : entry.connection
    for (const payload of entry.payloads) {
      const name = `${venue}:${payload.key}`
      if (payload.kind === 'full' || payload.kind === 'change') {
        push(truth.books, name, {
          at: isAnswer ? entry.made : at,
          payload,
          book: printBook(payload.book),
          isAnswer,
          isCopy,
          delivered,
          isSpoiled,
          seq: payload.seq,
          connection,
          matched: undefined,
        })
      } else if (payload.kind === 'trade') {
        push(truth.trades, name, { id: payload.id, at, delivered, isSpoiled })
      } else if (payload.kind === 'sample' && delivered) {
        push(truth.samples, `${name} ${payload.metric}`, { value: payload.value, at })
      }
    }
  }
  return truth
}

/** Ways of delivery in which a whole frame reaches the client. */
export const ON_WIRE: ReadonlySet<string> = new Set(['sent', 'duplicated', 'reordered', 'delayed'])

/** What concerns the client: in the order of the wire, without the connections that it left. */
// Frames on a connection that the client has left for a newer one concern nobody. An answer stands
// where it was made.
export function withoutAbandoned(expected: readonly Expected[]): Expected[] {
  const order: string[] = []
  return expected
    .toSorted((a, b) => a.at - b.at)
    .filter(({ isAnswer, delivered, connection }) => {
      if (isAnswer) return true
      const known = order.indexOf(connection)
      if (known >= 0) return known === order.length - 1
      if (delivered) order.push(connection)
      const newest = order.at(-1)
      return delivered || newest === undefined || openedAs(connection) > openedAs(newest)
    })
}

// Connections are numbered as they open.
function openedAs(connection: string): number {
  return Number(connection.slice(connection.lastIndexOf('c') + 1))
}

/** A book as text, to be compared. */
// Prices in ten-thousandths and sizes in millionths, as decimals, best first.
export function printBook(book: Book): string {
  const side = (levels: Book['bids']): string =>
    levels.map(({ price, size }) => `${printScaled(price, 4)}×${printScaled(size, 6)}`).join(' ')
  return `${side(book.bids)} | ${side(book.asks)}`
}

/** The book that a text says. */
// What `printBook` printed, or a row in the same form.
export function parseBook(text: string): Book {
  const side = (part: string): Book['bids'] =>
    part.split(' ').flatMap((level) => {
      const [price, size] = level.split('×')
      if (price === undefined || size === undefined) return []
      return [{ price: Math.round(Number(price) * 1e4), size: Math.round(Number(size) * 1e6) }]
    })
  const [bids = '', asks = ''] = text.split('|')
  return { bids: side(bids), asks: side(asks) }
}
