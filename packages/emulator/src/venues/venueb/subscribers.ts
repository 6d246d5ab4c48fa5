import type { Wire } from '../../core/upstream.ts'
import type { Channel } from './commands.ts'

/** A subscription of one client to one channel, with its own sequence numbers. */
export type Subscription = {
  readonly sid: number
  /** Counts the connections, so that frames go out in a fixed order. */
  readonly client: number
  readonly channel: Channel
  /** Undefined: every market. */
  readonly tickers: Set<string> | undefined
  readonly yesPrice: boolean
  readonly wire: Wire
  seq: number
}

const NONE: readonly Subscription[] = []

/** Who hears of a market: found by channel and ticker, however many clients are connected. */
export class Subscribers {
  readonly #byTicker = new Map<Channel, Map<string, Subscription[]>>()
  readonly #ofAll = new Map<Channel, Subscription[]>()

  /** The subscriptions that hear of a market, by client and sid; a list that must not be kept. */
  of(channel: Channel, ticker: string): readonly Subscription[] {
    const chosen = this.#byTicker.get(channel)?.get(ticker) ?? NONE
    const all = this.#ofAll.get(channel) ?? NONE
    if (all.length === 0) return chosen
    return chosen.length === 0 ? all : [...chosen, ...all].sort(inOrder)
  }

  add(subscription: Subscription): void {
    const { channel, tickers } = subscription
    if (tickers === undefined) {
      const all = this.#ofAll.get(channel) ?? []
      this.#ofAll.set(channel, all)
      insert(all, subscription)
    } else {
      for (const ticker of tickers) this.addTicker(subscription, ticker)
    }
  }

  remove(subscription: Subscription): void {
    const { channel, tickers } = subscription
    if (tickers === undefined) without(this.#ofAll.get(channel), subscription)
    else for (const ticker of tickers) this.removeTicker(subscription, ticker)
  }

  /** Adds a market to a subscription of chosen markets. */
  addTicker(subscription: Subscription, ticker: string): void {
    const { channel } = subscription
    const tickers = this.#byTicker.get(channel) ?? new Map<string, Subscription[]>()
    this.#byTicker.set(channel, tickers)
    const hearers = tickers.get(ticker)
    if (hearers === undefined) tickers.set(ticker, [subscription])
    else insert(hearers, subscription)
  }

  removeTicker(subscription: Subscription, ticker: string): void {
    const tickers = this.#byTicker.get(subscription.channel)
    const hearers = tickers?.get(ticker)
    without(hearers, subscription)
    if (hearers?.length === 0) tickers!.delete(ticker)
  }
}

function inOrder(a: Subscription, b: Subscription): number {
  return a.client - b.client || a.sid - b.sid
}

function insert(hearers: Subscription[], subscription: Subscription): void {
  let at = hearers.length
  while (at > 0 && inOrder(subscription, hearers[at - 1]!) < 0) at--
  if (hearers[at - 1] !== subscription) hearers.splice(at, 0, subscription)
}

function without(hearers: Subscription[] | undefined, subscription: Subscription): void {
  const at = hearers?.indexOf(subscription) ?? -1
  if (at >= 0) hearers!.splice(at, 1)
}
