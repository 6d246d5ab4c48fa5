import type { Book, Emulator, Payload, TruthEntry } from '@priorbook/emulator'

/** Levels by price as texts, for comparing books whatever their order and their zeros. */
export type Side = readonly (readonly [price: string, size: string])[]

/** A book as sorted numbers: prices in ten-thousandths, sizes in millionths. */
type PlainBook = { readonly bids: PlainSide; readonly asks: PlainSide }
type PlainSide = readonly (readonly [price: number, size: number])[]

/** The book of a client, from the texts of its levels. */
export function toPlainBook(bids: Side, asks: Side): PlainBook {
  return { bids: toPlainSide(bids), asks: toPlainSide(asks) }
}

/** The book of a client of venue B, whose asks are bids of the other outcome. */
export function fromBidsOnly(yes: Side, no: Side): PlainBook {
  const asks = toPlainSide(no).map(([price, size]) => [10_000 - price, size] as const)
  return { bids: toPlainSide(yes), asks: asks.toReversed() }
}

function toPlainSide(side: Side): PlainSide {
  return side
    .map(([price, size]) => [toUnits(price, 10_000), toUnits(size, 1_000_000)] as const)
    .sort(([a], [b]) => a - b)
}

/** A decimal in whole units. */
export function toUnits(text: string, perOne: number): number {
  return Math.round(Number(text) * perOne)
}

/** The same of the truth log. */
function truthBook({ bids, asks }: Book): PlainBook {
  const plain = (side: Book['bids']): PlainSide =>
    side.map(({ price, size }) => [price, size] as const).sort(([a], [b]) => a - b)
  return { bids: plain(bids), asks: plain(asks) }
}

/** The newest answer that showed the book of an instrument. */
export function lastAnswered({ truth }: Emulator, key: string): PlainBook | undefined {
  const found = truth.entries.findLast(
    (entry) => entry.type === 'answer' && entry.payloads.some((one) => isBookOf(one, key)),
  )
  const payload = payloadsOf(found).find((one) => isBookOf(one, key))
  return payload !== undefined && 'book' in payload ? truthBook(payload.book) : undefined
}

/** The payloads of the newest answer of a path. */
export function lastPayloads({ truth }: Emulator, path: string): readonly Payload[] {
  return payloadsOf(
    truth.entries.findLast((entry) => entry.type === 'answer' && entry.path.startsWith(path)),
  )
}

/** What the newest socket of a venue was sent. */
export type Sent = {
  /** The books after the first `frames` frames that contain any. */
  readonly books: ReadonlyMap<string, PlainBook>
  readonly payloads: readonly Payload[]
}

/** Reads what the newest socket of a venue was sent. */
export function sentToNewest(emulator: Emulator, venue: string, frames: number): Sent {
  const { entries } = emulator.truth
  const opened = entries.findLast(
    (entry) => entry.type === 'connection' && entry.venue === venue && entry.state === 'opened',
  )
  const connection = opened?.type === 'connection' ? opened.connection : ''
  const sent = entries.filter((entry) => entry.type === 'frame' && entry.connection === connection)
  const withBooks = sent.filter((entry) => payloadsOf(entry).some((one) => 'book' in one))
  const books = new Map<string, PlainBook>()
  for (const payload of withBooks.slice(0, frames).flatMap(payloadsOf)) {
    if ('book' in payload) books.set(payload.key, truthBook(payload.book))
  }
  return { books, payloads: sent.flatMap(payloadsOf) }
}

function isBookOf(payload: Payload, key: string): boolean {
  return payload.kind === 'full' && payload.key === key
}

function payloadsOf(entry: TruthEntry | undefined): readonly Payload[] {
  return entry !== undefined && 'payloads' in entry ? entry.payloads : []
}
