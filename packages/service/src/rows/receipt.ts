import type { HeadQuery, StoreReader } from '../store/store.ts'

/** The rows of one instrument: the lowest and the highest number, and how many there are. */
export type InstrumentCount = {
  readonly key: string
  readonly first: number
  readonly last: number
  readonly rows: number
}

type Count = { rows: number; first: number; last: number }

/** Counts the rows of a walk or a file by instrument, and its gaps. */
export class ReceiptCounts {
  gaps = 0
  rows = 0
  private readonly counts = new Map<string, Count>()

  /** Goes on from what `toText` gave for the same instruments. */
  static fromText(text: string, keys: readonly string[]): ReceiptCounts {
    const receipt = new ReceiptCounts()
    const [gaps, ...lanes] = text.split(';')
    receipt.gaps = Number(gaps)
    for (const [index, lane] of lanes.entries()) {
      if (lane === '') continue
      const [rows, first, last] = lane.split(',').map(Number)
      receipt.add(keys[index]!, first!, last!, rows)
    }
    return receipt
  }

  toText(keys: readonly string[]): string {
    let text = String(this.gaps)
    for (const key of keys) {
      const count = this.counts.get(key)
      text += count === undefined ? ';' : `;${count.rows},${count.first},${count.last}`
    }
    return text
  }

  /** Adds rows of one instrument, from its lowest to its highest number. */
  add(key: string, first: number, last: number, rows = last - first + 1): void {
    this.rows += rows
    const count = this.counts.get(key)
    if (count === undefined) {
      this.counts.set(key, { rows, first, last })
      return
    }
    count.rows += rows
    count.first = Math.min(count.first, first)
    count.last = Math.max(count.last, last)
  }

  /** The instruments that have rows, by key. */
  instruments(): InstrumentCount[] {
    const list = Array.from(this.counts, ([key, { first, last, rows }]) => {
      return { key, first, last, rows }
    })
    return list.sort((a, b) => (a.key < b.key ? -1 : 1))
  }
}

/** Adds to each instrument the hash of the newest sealed chunk that holds its rows. */
export async function withHeads(
  store: Pick<StoreReader, 'head'>,
  instruments: readonly InstrumentCount[],
  stream: Pick<HeadQuery, 'venue' | 'kind' | 'metric' | 'knownAt'>,
): Promise<(InstrumentCount & { readonly head: string | null })[]> {
  const all: (InstrumentCount & { readonly head: string | null })[] = []
  for (const instrument of instruments) {
    const { key, first, last } = instrument
    all.push({ ...instrument, head: (await store.head({ ...stream, key, first, last })) ?? null })
  }
  return all
}
