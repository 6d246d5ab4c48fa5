import { FLAGS } from '@priorbook/sdk/domain'
import type { BookColumns, Ladder, TradeColumns } from '@priorbook/sdk/tape'
import type { BookContext } from '@priorbook/sdk/wire'
import type { BookCursor } from './book-cursor.ts'
import type { MissedRows, RecoverableChannel, ResyncReason, Subscriber } from './subscriber.ts'
import type { LiveStyle, Subscription } from './subscription.ts'

/** How far a feed has published its instrument, as its channels see it. */
export type FeedPosition = {
  readonly cursor: BookCursor
  readonly lastTrade: number
  /** Facts of the instrument that every row carries. */
  readonly context: BookContext
  /** Wall-clock milliseconds, which divide time into conflation slots. */
  nowMs(): number
}

/**
 * The books of one instrument in one style. All members get the same bytes, encoded once, so all are at
 * the same row: a new member starts there, and one who missed rows restarts from a snapshot.
 */
export class BookChannel implements RecoverableChannel {
  readonly members = new Set<Subscription>()
  private readonly style: LiveStyle
  private readonly position: FeedPosition
  /** The last encoded row; 0 before the first. */
  private encoded: number
  /** The last row that members have. */
  private sent: number
  /** The book after the last encoded row; kept only for conflated changes. */
  private book: Ladder | undefined
  private slot = 0
  private isWaiting = false
  private frames: Uint8Array[] = []

  constructor(position: FeedPosition, style: LiveStyle) {
    this.position = position
    this.style = style
    this.encoded = position.cursor.sequence
    this.sent = this.encoded
    this.keepBook()
  }

  /** Encodes the row that the cursor has just reached, or lets it wait for the next conflation slot. */
  push(single: BookColumns, whole: () => BookColumns): void {
    const isFirst = this.encoded === 0
    // The first row never waits: nothing of an instrument is sent before its snapshot.
    if (this.style.conflateMs > 0 && !isFirst) {
      this.isWaiting = true
      return
    }
    const { sequence } = this.position.cursor
    this.encode(this.style.mode === 'full' || isFirst ? whole() : single, sequence)
    if (isFirst) this.keepBook()
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

  /**
   * Adds a member whose last row is `last`; it gets a snapshot unless that is the present row. With a
   * reason why it cannot continue after its last row, it gets a resync before the snapshot.
   */
  join(member: Subscription, last: number | null, reason?: ResyncReason): void {
    this.settle()
    this.members.add(member)
    const { subscriber } = member
    if (reason !== undefined) this.recover(subscriber, { last: last ?? 0, reason })
    else if (this.encoded > 0 && this.encoded !== last) subscriber.send(this.snapshot(last))
  }

  /** Sends a resync and a snapshot to a reader who missed rows. */
  recover(subscriber: Subscriber, { last, reason }: MissedRows): void {
    this.settle()
    const resync = this.style.resync(this.position.context, last, reason)
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
        ? style.snapshot(context, row, sequence, null)
        : style.update(context, row, sequence, encoded),
    )
    this.encoded = sequence
  }

  private conflated(): BookColumns {
    const { cursor } = this.position
    if (this.style.mode === 'full' || this.encoded === 0) return cursor.whole()
    const row = cursor.row()
    // The changes of a row that restarts its book are already the whole book.
    return (row.flags[0]! & FLAGS.restart) !== 0 ? row : cursor.since(this.book!)
  }

  private snapshot(previous: number | null): Uint8Array {
    const { context, cursor } = this.position
    return this.style.snapshot(context, cursor.whole(), this.encoded, previous)
  }
}

/** The trades of one instrument in one style, encoded once for all members. */
export class TradeChannel implements RecoverableChannel {
  readonly members = new Set<Subscription>()
  private readonly style: LiveStyle
  private readonly position: FeedPosition
  /** Members whose last trade is not the one before the next; null: they have none. */
  private readonly behind = new Map<Subscription, number | null>()

  constructor(position: FeedPosition, style: LiveStyle) {
    this.position = position
    this.style = style
  }

  /** Adds a member, or updates it, with the last trade that it has. */
  join(member: Subscription, last: number | null): void {
    this.members.add(member)
    if (last === this.position.lastTrade) this.behind.delete(member)
    else this.behind.set(member, last)
  }

  leave(member: Subscription): void {
    this.members.delete(member)
    this.behind.delete(member)
  }

  /** Sends a page of trades to all members. */
  deliver(rows: TradeColumns, ordinals: readonly number[]): void {
    const encode = (row: number, previous: number | null): Uint8Array => {
      const { context } = this.position
      return this.style.trade(context, rows, row, ordinals[row]!, previous)
    }
    const before = ordinals[0]! - 1
    let shared: Uint8Array | undefined
    let rest: Uint8Array | undefined
    const restOf = (): Uint8Array =>
      (rest ??= Buffer.concat(ordinals.slice(1).map((_, row) => encode(row + 1, ordinals[row]!))))
    for (const member of this.members) {
      const { subscriber } = member
      if (subscriber.missed.size > 0 && subscriber.missed.has(this)) continue
      const last = this.behind.get(member)
      const bytes =
        last === undefined
          ? (shared ??= Buffer.concat([encode(0, before), restOf()]))
          : Buffer.concat([encode(0, last), restOf()])
      if (subscriber.offer(bytes, ordinals.length)) this.behind.delete(member)
      else {
        const had = last === undefined ? before : (last ?? 0)
        subscriber.missed.set(this, { last: had, reason: 'slow_reader' })
      }
    }
  }

  /** Continues for a reader who missed trades: the next trade names the last one that it has. */
  recover(subscriber: Subscriber, { last }: MissedRows): void {
    for (const member of this.members) {
      if (member.subscriber === subscriber) this.behind.set(member, last === 0 ? null : last)
    }
  }
}
