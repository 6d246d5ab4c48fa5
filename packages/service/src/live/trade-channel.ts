import type { TradeColumns } from '@priorbook/sdk/tape'
import type { LiveStyle, LiveText } from './style.ts'
import type { Missable, Missed, Subscriber } from './subscriber.ts'
import type { Subscription } from './subscription.ts'
import type { Topic } from './topic.ts'

/** The trades of one instrument in one style, written once for all members. */
export class TradeChannel<Style extends LiveStyle, Context> implements Missable {
  readonly members = new Set<Subscription<Style, Context>>()
  readonly style: Style
  private readonly topic: Topic<Style, Context>
  private readonly text: LiveText<Style, Context>
  /** Members whose last trade is not the one before the next: it is null for those without any. */
  private readonly others = new Map<Subscription<Style, Context>, number | null>()

  constructor(topic: Topic<Style, Context>, style: Style, text: LiveText<Style, Context>) {
    this.topic = topic
    this.style = style
    this.text = text
  }

  /** Adds a member with the last trade that it has. */
  join(member: Subscription<Style, Context>, last: number | null): void {
    this.members.add(member)
    if (last !== this.topic.lastTrade) this.others.set(member, last)
  }

  leave(member: Subscription<Style, Context>): void {
    this.members.delete(member)
    this.others.delete(member)
  }

  /** Hands trades of a page to all members. */
  deliver(rows: TradeColumns, ordinals: readonly number[]): void {
    const write = (row: number, previous: number | null): Uint8Array => {
      const { context } = this.topic
      return this.text.trade(context, this.style, rows, row, ordinals[row]!, previous)
    }
    const before = ordinals[0]! - 1
    let shared: Uint8Array | undefined
    let rest: Uint8Array | undefined
    const restOf = (): Uint8Array =>
      (rest ??= Buffer.concat(ordinals.slice(1).map((_, row) => write(row + 1, ordinals[row]!))))
    for (const member of this.members) {
      const { subscriber } = member
      if (subscriber.missed.size > 0 && subscriber.missed.has(this)) continue
      const last = this.others.get(member)
      const bytes =
        last === undefined
          ? (shared ??= Buffer.concat([write(0, before), restOf()]))
          : Buffer.concat([write(0, last), restOf()])
      if (subscriber.offer(bytes, ordinals.length)) this.others.delete(member)
      else {
        const had = last === undefined ? before : (last ?? 0)
        subscriber.missed.set(this, { last: had, reason: 'slow_reader' })
      }
    }
  }

  /** Goes on for a reader who missed trades: the next one says after which. */
  recover(subscriber: Subscriber, { last }: Missed): void {
    for (const member of this.members) {
      if (member.subscriber === subscriber) this.others.set(member, last === 0 ? null : last)
    }
  }
}
