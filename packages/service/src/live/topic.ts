import type { Instrument } from '@priorbook/sdk/domain'
import { BookChannel } from './book-channel.ts'
import { BookCursor } from './book-cursor.ts'
import type { LiveStyle, LiveText } from './style.ts'
import type { Subscription } from './subscription.ts'
import { TradeChannel } from './trade-channel.ts'

/** One instrument that somebody reads: its book, and its readers by style. */
export class Topic<Style extends LiveStyle, Context> {
  readonly instrument: Instrument
  /** What rows say about where they belong; renewed with the market. */
  context: Context
  readonly cursor = new BookCursor()
  lastTrade = 0
  /** True when its rows may be others than those that were told. */
  isRebuilt = false
  readonly books = new Map<string, BookChannel<Style, Context>>()
  readonly trades = new Map<string, TradeChannel<Style, Context>>()
  readonly subscriptions = new Set<Subscription<Style, Context>>()
  /** How many are about to join: it is not forgotten meanwhile, whoever leaves. */
  holds = 0

  constructor(instrument: Instrument, context: Context) {
    this.instrument = instrument
    this.context = context
  }

  /** The channel of books of a style, made where there is none. */
  bookChannel(style: Style, text: LiveText<Style, Context>): BookChannel<Style, Context> {
    let channel = this.books.get(style.name)
    if (channel === undefined) {
      channel = new BookChannel(this, style, text)
      this.books.set(style.name, channel)
    }
    return channel
  }

  /** The channel of trades of a style, made where there is none. */
  tradeChannel(style: Style, text: LiveText<Style, Context>): TradeChannel<Style, Context> {
    let channel = this.trades.get(style.name)
    if (channel === undefined) {
      channel = new TradeChannel(this, style, text)
      this.trades.set(style.name, channel)
    }
    return channel
  }

  /** Takes a subscription out; channels without members go. */
  leave(subscription: Subscription<Style, Context>): void {
    this.subscriptions.delete(subscription)
    subscription.topics.delete(this)
    const { name } = subscription.style
    const books = this.books.get(name)
    if (books !== undefined) {
      books.members.delete(subscription)
      subscription.subscriber.missed.delete(books)
      if (books.members.size === 0) this.books.delete(name)
    }
    const trades = this.trades.get(name)
    if (trades !== undefined) {
      trades.leave(subscription)
      subscription.subscriber.missed.delete(trades)
      if (trades.members.size === 0) this.trades.delete(name)
    }
  }
}
