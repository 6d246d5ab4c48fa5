import { FLAGS } from '@priorbook/sdk/domain'
import type { BookColumns, Ladder } from '@priorbook/sdk/tape'
import type { BookCursor } from './book-cursor.ts'
import type { LeftOut, LiveStyle, LiveText } from './style.ts'
import type { Missable, Missed, Subscriber } from './subscriber.ts'
import type { Subscription } from './subscription.ts'
import type { Topic } from './topic.ts'

/**
 * The books of one instrument in one style. Everybody in it gets the same bytes, written once, so that
 * all its members are at the same row: whoever joins begins there, and whoever missed rows begins anew.
 */
export class BookChannel<Style extends LiveStyle, Context> implements Missable {
  readonly members = new Set<Subscription<Style, Context>>()
  readonly style: Style
  private readonly topic: Topic<Style, Context>
  private readonly text: LiveText<Style, Context>
  /** The last row that was written; 0: none yet. */
  private written: number
  /** The last row that members have. */
  private sent: number
  /** The book at the last written row, kept where several rows make one message of changes. */
  private book: Ladder | undefined
  private slot = 0
  private isWaiting = false
  private frames: Uint8Array[] = []

  constructor(topic: Topic<Style, Context>, style: Style, text: LiveText<Style, Context>) {
    this.topic = topic
    this.style = style
    this.text = text
    this.written = topic.cursor.sequence
    this.sent = this.written
    if (this.hasOwnBook) this.book = topic.cursor.ladder.clone()
  }

  /** True while a row waits for its time. */
  get waits(): boolean {
    return this.isWaiting
  }

  /** Takes the row that the cursor of the topic has just reached. */
  take(single: BookColumns, whole: () => BookColumns): void {
    if (this.style.conflateMs > 0) {
      this.isWaiting = true
      return
    }
    const { sequence } = this.topic.cursor
    this.write(this.style.mode === 'full' || this.written === 0 ? whole() : single, sequence)
  }

  /** Writes the waiting row when its time has come, or at once. */
  release(nowMs: number, isForced = false): void {
    if (!this.isWaiting) return
    const slot = Math.floor(nowMs / this.style.conflateMs)
    if (slot === this.slot && !isForced) return
    this.slot = slot
    this.isWaiting = false
    this.write(this.conflated(), this.topic.cursor.sequence)
    if (this.hasOwnBook) this.book = this.topic.cursor.ladder.clone()
  }

  /** Hands what was written to all members. */
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
    this.sent = this.written
  }

  /**
   * Adds a member, who gets the present book; `has` is the last row that it has and null for none. One
   * who has the present row needs nothing.
   */
  join(member: Subscription<Style, Context>, has: number | null): void {
    this.settle()
    this.members.add(member)
    if (this.written > 0 && this.written !== has) member.subscriber.send(this.snapshot(has))
  }

  /** Adds a member who has a row, but must begin anew. */
  rejoin(member: Subscription<Style, Context>, after: number, reason: LeftOut): void {
    this.settle()
    this.members.add(member)
    this.recover(member.subscriber, { last: after, reason })
  }

  /** Begins anew for a reader who missed rows. */
  recover(subscriber: Subscriber, { last, reason }: Missed): void {
    this.settle()
    const resync = this.text.resync(this.topic.context, last, reason)
    if (this.written === 0) subscriber.send(resync)
    else subscriber.send(Buffer.concat([resync, this.snapshot(last)]), 2)
  }

  /** Goes to where the cursor of the topic has jumped; all members miss what lies between. */
  jump(reason: LeftOut): void {
    for (const { subscriber } of this.members) {
      if (!subscriber.missed.has(this)) subscriber.missed.set(this, { last: this.sent, reason })
    }
    this.frames = []
    this.isWaiting = false
    this.written = this.topic.cursor.sequence
    this.sent = this.written
    if (this.hasOwnBook) this.book = this.topic.cursor.ladder.clone()
  }

  /** Brings all members to the row of the topic. */
  settle(): void {
    this.release(Date.now(), true)
    this.flush()
  }

  private get hasOwnBook(): boolean {
    return this.style.mode === 'changes' && this.style.conflateMs > 0
  }

  private write(row: BookColumns, sequence: number): void {
    const { context } = this.topic
    const { written, style } = this
    this.frames.push(
      written === 0
        ? this.text.snapshot(context, style, row, sequence, null)
        : this.text.update(context, style, row, sequence, written),
    )
    this.written = sequence
  }

  private conflated(): BookColumns {
    const { cursor } = this.topic
    if (this.style.mode === 'full' || this.written === 0) return cursor.whole()
    return changesSince(cursor, this.book!)
  }

  private snapshot(previous: number | null): Uint8Array {
    const { context, cursor } = this.topic
    return this.text.snapshot(context, this.style, cursor.whole(), this.written, previous)
  }
}

/** One row for all that happened since an older book. */
export function changesSince(cursor: BookCursor, before: Ladder): BookColumns {
  const row = cursor.row()
  // The changes of a row that restarts its book are the whole book.
  return (row.flags[0]! & FLAGS.restart) !== 0 ? row : cursor.since(before)
}
