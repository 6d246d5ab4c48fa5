import { RunningSha256 } from '../wire/index.ts'
import type { WalkCount } from './errors.ts'

const encoder = new TextEncoder()

/** Counts and hashes the ids of rows as they arrive; can be put down and taken up again. */
export class ReceivedRows {
  private rows = 0
  private firstId: string | null = null
  private lastId: string | null = null
  private hash = RunningSha256.create()
  private readonly scratch = new Uint8Array(1024)

  /** Goes on from what `toJSON` gave. */
  static from(state: ReturnType<ReceivedRows['toJSON']>): ReceivedRows {
    const received = new ReceivedRows()
    received.rows = state.rows
    received.firstId = state.first_id
    received.lastId = state.last_id
    received.hash = RunningSha256.fromText(state.hash)
    return received
  }

  add(id: string): void {
    this.rows++
    this.firstId ??= id
    this.lastId = id
    const { scratch } = this
    if (id.length * 3 + 1 > scratch.length) {
      const bytes = encoder.encode(`${id}\n`)
      this.hash.update(bytes, 0, bytes.length)
      return
    }
    const { written } = encoder.encodeInto(id, scratch)
    scratch[written] = 10
    this.hash.update(scratch, 0, written + 1)
  }

  count(): WalkCount {
    const { rows, firstId, lastId } = this
    return { rows, first_id: firstId, last_id: lastId, sha256: this.hash.digest() }
  }

  toJSON(): { rows: number; first_id: string | null; last_id: string | null; hash: string } {
    const { rows, firstId, lastId } = this
    return { rows, first_id: firstId, last_id: lastId, hash: this.hash.toText() }
  }
}
