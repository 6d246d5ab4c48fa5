import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { TruthEntry } from './truth.ts'
import type { Book, Level, Payload } from './upstream.ts'

/** Reads a log of the truth line by line, its books as they were. */
export async function* readTruth(file: string): AsyncGenerator<TruthEntry, void, void> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity })
  for await (const line of lines) {
    const entry = JSON.parse(line) as Written
    const payloads = entry.payloads?.map((payload) => {
      return 'book' in payload ? { ...payload, book: toBook(payload.book) } : payload
    })
    // The lines are our own: what `toLine` writes is an entry with flat levels.
    yield (payloads === undefined ? entry : { ...entry, payloads }) as TruthEntry
  }
}

type Flat = { readonly bids: readonly number[]; readonly asks: readonly number[] }

type Written = Omit<TruthEntry, 'payloads'> & {
  readonly payloads?: readonly (Omit<Payload, 'book'> | { readonly book: Flat })[]
}

function toBook({ bids, asks }: Flat): Book {
  return { bids: toLevels(bids), asks: toLevels(asks) }
}

function toLevels(flat: readonly number[]): Level[] {
  const levels: Level[] = []
  for (let i = 0; i < flat.length; i += 2) levels.push({ price: flat[i]!, size: flat[i + 1]! })
  return levels
}
