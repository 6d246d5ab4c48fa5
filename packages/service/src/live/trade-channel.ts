import type { TradeColumns } from '@priorbook/sdk/tape'
import type { LiveStyle, MessageEncoder } from './encoder.ts'
import type { FeedPosition } from './feed-position.ts'
import type { MissedRows, RecoverableChannel, Subscriber } from './subscriber.ts'
import type { Subscription } from './subscription.ts'

/** The trades of one instrument in one style, encoded once for all members. */
export class TradeChannel<Style extends LiveStyle, Context> implements RecoverableChannel {
  readonly members = new Set<Subscription<Style>>()
  private readonly style: Style
  private readonly position: FeedPosition<Context>
  private readonly encoder: MessageEncoder<Style, Context>
  /** Members whose last trade is not the one before the next; null: they have none. */
  private readonly behind = new Map<Subscription<Style>, number | null>()

  constructor(
    position: FeedPosition<Context>,
    style: Style,
    encoder: MessageEncoder<Style, Context>,
  ) {
    this.position = position
    this.style = style
    this.encoder = encoder
  }

  /** Adds a member and the last trade that it has. */
  join(member: Subscription<Style>, last: number | null): void {
    this.members.add(member)
    if (last !== this.position.lastTrade) this.behind.set(member, last)
  }

  leave(member: Subscription<Style>): void {
    this.members.delete(member)
    this.behind.delete(member)
  }

  /** Sends a page of trades to all members. */
  deliver(rows: TradeColumns, ordinals: readonly number[]): void {
    const encode = (row: number, previous: number | null): Uint8Array => {
      const { context } = this.position
      return this.encoder.trade(context, this.style, rows, row, ordinals[row]!, previous)
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
