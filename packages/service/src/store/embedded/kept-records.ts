import type { Revision } from './revision-body.ts'

const MAX_BYTES = 8 * 1024 * 1024
// What surrounds a text of mostly ASCII characters, in bytes. Measured.
const ENTRY_BYTES = 300

/**
 * Records that lists showed last, by market; their bytes are bounded. A revision never changes, and no
 * market gets the number of another, so a record is right as long as the market has no newer revision.
 * Texts are kept rather than objects: to parse one takes 5 us, but the collector would visit every member
 * of thousands of objects, and requests would wait for it.
 */
export class KeptRecords {
  private readonly entries = new Map<number, Revision>()
  private bytes = 0

  get size(): number {
    return this.entries.size
  }

  get(market: number, ordinal: number): Revision | undefined {
    const revision = this.entries.get(market)
    return revision?.ordinal === ordinal ? revision : undefined
  }

  put(market: number, revision: Revision): void {
    this.remove(market)
    this.entries.set(market, revision)
    this.bytes += bytesOf(revision)
    while (this.bytes > MAX_BYTES) this.remove(this.entries.keys().next().value!)
  }

  private remove(market: number): void {
    const revision = this.entries.get(market)
    if (revision === undefined) return
    this.bytes -= bytesOf(revision)
    this.entries.delete(market)
  }
}

function bytesOf({ text }: Revision): number {
  return ENTRY_BYTES + text.length
}
