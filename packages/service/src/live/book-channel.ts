import { FLAGS } from '@priorbook/sdk/domain'
import type { BookColumns, Ladder } from '@priorbook/sdk/tape'
import type { BookCursor } from './book-cursor.ts'
import type { LiveStyle, MessageEncoder, ResyncReason } from './encoder.ts'
import type { FeedPosition } from './feed-position.ts'
import type { MissedRows, RecoverableChannel, Subscriber } from './subscriber.ts'
import type { Subscription } from './subscription.ts'

/**
 * The books of one instrument in one style. All members get the same bytes, encoded once, so all are at
 * the same row: a new member starts there, and one who missed rows restarts from a snapshot.
 */
export class BookChannel<Style extends LiveStyle, Context> implements RecoverableChannel {
  readonly members = new Set<Subscription<Style>>()
  private readonly style: Style
  private readonly position: FeedPosition<Context>
  private readonly encoder: MessageEncoder<Style, Context>
  /** The last encoded row; 0 before the first. */
  private encoded: number
  /** The last row that members have. */
  private sent: number
  /** The book after the last encoded row; kept only for conflated changes. */
  private book: Ladder | undefined
  private slot = 0
  private isWaiting = false
  private frames: Uint8Array[] = []

  constructor(
    position: FeedPosition<Context>,
    style: Style,
    encoder: MessageEncoder<Style, Context>,
  ) {
    this.position = position
    this.style = style
    this.encoder = encoder
    this.encoded = position.cursor.sequence
    this.sent = this.encoded
    this.keepBook()
  }

  /** Encodes the row that the cursor has just reached, or lets it wait for the next conflation slot. */
  push(single: BookColumns, whole: () => BookColumns): void {
    if (this.style.conflateMs > 0) {
      this.isWaiting = true
      return
    }
    const { sequence } = this.position.cursor
    this.encode(this.style.mode === 'full' || this.encoded === 0 ? whole() : single, sequence)
  }

  /** Sends the waiting row in the next conflation slot. */
  releaseDue(nowMs: number): void {
    if (!this.isWaiting) return
    const slot = Math.floor(nowMs / this.style.conflateMs)
    if (slot === this.slot) return
    this.release(slot)
    this.flush()
  }

  /** Sends the encoded rows to all members. */
  flush(): void {
    const { frames } = this
    if (frames.length === 0) return
    this.frames = []
    const bytes = frames.length === 1 ? frames[0]! : Buffer.concat(frames)
    for (const { subscriber } of this.members) {
      if (subscriber.missed.size > 0 && subscriber.missed.has(this)) continue
      if (subscriber.offer(bytes, frames.length)) continue
      subscriber.missed.set(this, { last: this.sent, reason: 'slow_reader' })
    }
    this.sent = this.encoded
  }

  /** Adds a member whose last row is `has`; it gets a snapshot unless that is the present row. */
  join(member: Subscription<Style>, has: number | null): void {
    this.settle()
    this.members.add(member)
    if (this.encoded > 0 && this.encoded !== has) member.subscriber.send(this.snapshot(has))
  }

  /** Adds a member that cannot continue after its last row: it gets a resync and a snapshot. */
  joinWithResync(member: Subscription<Style>, after: number, reason: ResyncReason): void {
    this.settle()
    this.members.add(member)
    this.recover(member.subscriber, { last: after, reason })
  }

  /** Sends a resync and a snapshot to a reader who missed rows. */
  recover(subscriber: Subscriber, { last, reason }: MissedRows): void {
    this.settle()
    const resync = this.encoder.resync(this.position.context, last, reason)
    if (this.encoded === 0) subscriber.send(resync)
    else subscriber.send(Buffer.concat([resync, this.snapshot(last)]), 2)
  }

  /** Follows a jump of the cursor; all members miss the rows in between. */
  jump(reason: ResyncReason): void {
    for (const { subscriber } of this.members) {
      if (!subscriber.missed.has(this)) subscriber.missed.set(this, { last: this.sent, reason })
    }
    this.frames = []
    this.isWaiting = false
    this.encoded = this.position.cursor.sequence
    this.sent = this.encoded
    this.keepBook()
  }

  /** Sends everything up to the cursor's row, conflated rows included. */
  settle(): void {
    if (this.isWaiting) this.release(Math.floor(this.position.nowMs() / this.style.conflateMs))
    this.flush()
  }

  private release(slot: number): void {
    this.slot = slot
    this.isWaiting = false
    this.encode(this.conflated(), this.position.cursor.sequence)
    this.keepBook()
  }

  private keepBook(): void {
    const { mode, conflateMs } = this.style
    if (mode === 'changes' && conflateMs > 0) this.book = this.position.cursor.ladder.clone()
  }

  private encode(row: BookColumns, sequence: number): void {
    const { context } = this.position
    const { encoded, style } = this
    this.frames.push(
      encoded === 0
        ? this.encoder.snapshot(context, style, row, sequence, null)
        : this.encoder.update(context, style, row, sequence, encoded),
    )
    this.encoded = sequence
  }

  private conflated(): BookColumns {
    const { cursor } = this.position
    if (this.style.mode === 'full' || this.encoded === 0) return cursor.whole()
    return changesSince(cursor, this.book!)
  }

  private snapshot(previous: number | null): Uint8Array {
    const { context, cursor } = this.position
    return this.encoder.snapshot(context, this.style, cursor.whole(), this.encoded, previous)
  }
}

function changesSince(cursor: BookCursor, before: Ladder): BookColumns {
  const row = cursor.row()
  // The changes of a row that restarts its book are already the whole book.
  return (row.flags[0]! & FLAGS.restart) !== 0 ? row : cursor.since(before)
}
