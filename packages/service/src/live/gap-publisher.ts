import type { Gap } from '@priorbook/sdk/domain'
import type { LiveStyle, MessageEncoder } from './encoder.ts'
import { PublishedGaps } from './published-gaps.ts'
import type { Subscriber } from './subscriber.ts'
import type { Subscription } from './subscription.ts'

/** The readers of the rows that a gap concerns. */
export interface GapAudience<Style extends LiveStyle> {
  readersOf(gap: Gap): Iterable<Subscription<Style>>
  /** Sends conflated rows that are still waiting: they were observed before the gap. */
  settle(gap: Gap): void
}

type GapEncoder<Style extends LiveStyle> = Pick<MessageEncoder<Style, never>, 'gap'>

/** Sends each gap once to every reader of the rows that it concerns. */
export class GapPublisher<Style extends LiveStyle> {
  readonly published = new PublishedGaps()
  private readonly encoder: GapEncoder<Style>
  private readonly audience: GapAudience<Style>

  constructor(encoder: GapEncoder<Style>, audience: GapAudience<Style>) {
    this.encoder = encoder
    this.audience = audience
  }

  /** Publishes a gap; false when it was already published with its present end. */
  publishGap(gap: Gap): boolean {
    if (!this.published.add(gap)) return false
    const readers = [...this.audience.readersOf(gap)]
    this.audience.settle(gap)
    const encoded = new Map<string, Uint8Array>()
    const reached = new Set<Subscriber>()
    for (const { subscriber, style } of readers) {
      if (reached.has(subscriber)) continue
      reached.add(subscriber)
      let bytes = encoded.get(style.name)
      if (bytes === undefined) encoded.set(style.name, (bytes = this.encoder.gap(style, gap)))
      subscriber.send(bytes)
    }
    return true
  }
}
