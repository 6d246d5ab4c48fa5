import { createHash } from 'node:crypto'

// A venue, a key of 200 characters, the word trade and 16 digits.
const ID_MAX = 256

/** Counts and hashes the ids of the rows that were sent, so that a client can prove it has them all. */
export class SentRows {
  count = 0
  private readonly hash = createHash('sha256')
  private readonly scratch = Buffer.allocUnsafeSlow(1 << 14)
  private filled = 0

  /** Takes a row in the order of sending. */
  add(prefix: string, sequence: number): void {
    this.count++
    this.filled += this.scratch.write(`${prefix}${sequence}\n`, this.filled, 'latin1')
    if (this.filled + ID_MAX > this.scratch.length) this.flush()
  }

  /** SHA-256 of all ids, each followed by a line feed; asked for once, at the end. */
  digest(): string {
    this.flush()
    return this.hash.digest('hex')
  }

  private flush(): void {
    this.hash.update(this.scratch.subarray(0, this.filled))
    this.filled = 0
  }
}
