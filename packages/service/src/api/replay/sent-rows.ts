import { createHash } from 'node:crypto'

// Max bytes of an id: a venue, a key of 200 characters, the word trade and 16 digits.
const MAX_ID = 256

/** Counts and hashes the ids of sent rows, so that a client can check that it has all of them. */
export class SentRows {
  count = 0
  private readonly hash = createHash('sha256')
  private readonly scratch = Buffer.allocUnsafeSlow(1 << 14)
  private filled = 0

  /** Adds a row, in sending order. */
  add(prefix: string, sequence: number): void {
    this.count++
    this.filled += this.scratch.write(`${prefix}${sequence}\n`, this.filled, 'latin1')
    if (this.filled + MAX_ID > this.scratch.length) this.flush()
  }

  /** SHA-256 of all ids, each followed by a line feed; call once, at the end. */
  digest(): string {
    this.flush()
    return this.hash.digest('hex')
  }

  private flush(): void {
    this.hash.update(this.scratch.subarray(0, this.filled))
    this.filled = 0
  }
}
