/** The channels of venue B's socket that are recorded. */
export type Channel = 'orderbook_delta' | 'trade' | 'market_lifecycle_v2'

/** One subscription; `sid` is the venue's id for it, absent until the venue confirmed it. */
export type Subscription = {
  readonly channel: Channel
  sid: number | undefined
  readonly tickers: Set<string>
  /** The command that was sent and not answered yet; one at a time. */
  pending: Command | undefined
}

/** A command to the venue. */
export type Command = {
  readonly id: number
  readonly action: 'subscribe' | 'add_markets' | 'delete_markets' | 'unsubscribe' | 'get_snapshot'
  readonly subscription: Subscription
  readonly tickers: readonly string[]
  readonly sentMs: number
  readonly text: string
}

/** How far the book of a market has come: wanted, requested by a command, or confirmed by the venue. */
export type SubscriptionState = 'wanted' | 'sent' | 'active'

const LIFECYCLE = 'market_lifecycle_v2'
const MARKET_CHANNELS = ['orderbook_delta', 'trade'] as const
/** Max tickers per command. The venue publishes no limit per subscription; that one is learned. */
const MAX_COMMAND_TICKERS = 200

/** Brings the subscriptions of one connection in line with the wanted markets. No clock, no socket. */
export class Subscriptions {
  #list: Subscription[] = []
  #wanted: ReadonlySet<string> = new Set()
  #lastId = 0
  #limit = Infinity
  readonly #fixedChannels = new Set<Channel>()
  readonly #unavailable = new Set<Channel>()
  readonly #commands = new Map<number, Command>()
  readonly #hasLifecycles: boolean
  /** False while nothing happened since there was nothing to do. */
  #isOpen = true

  /** One connection of several has the lifecycles of all markets. */
  constructor(hasLifecycles: boolean) {
    this.#hasLifecycles = hasLifecycles
  }

  /** A new connection: nothing is subscribed and nothing is wanted yet. */
  clear(): void {
    this.#list = []
    this.#wanted = new Set()
    this.#commands.clear()
    this.#unavailable.clear()
    this.#isOpen = true
  }

  want(tickers: ReadonlySet<string>): void {
    const before = this.#wanted
    if (tickers.size === before.size && tickers.values().every((one) => before.has(one))) return
    this.#wanted = tickers
    this.#isOpen = true
  }

  /** The next command towards the wanted markets; undefined while there is nothing to do. */
  next(nowMs: number): Command | undefined {
    if (!this.#isOpen) return undefined
    const command = this.#find(nowMs)
    // Without a command there is nothing to do until an answer comes or other markets are wanted.
    this.#isOpen = command !== undefined
    return command
  }

  #find(nowMs: number): Command | undefined {
    for (const channel of MARKET_CHANNELS) {
      if (this.#unavailable.has(channel)) continue
      const command = this.#remove(channel, nowMs) ?? this.#add(channel, nowMs)
      if (command !== undefined) return command
    }
    const isSubscribed = this.#list.some(({ channel }) => channel === LIFECYCLE)
    if (!this.#hasLifecycles || isSubscribed || this.#unavailable.has(LIFECYCLE)) return undefined
    return this.#subscribe(LIFECYCLE, [], nowMs)
  }

  /** A command for full books; undefined where the subscription has ended. */
  snapshot(sid: number, tickers: readonly string[], nowMs: number): Command | undefined {
    const subscription = this.bySid(sid)
    if (subscription === undefined) return undefined
    return this.#command('get_snapshot', subscription, tickers, nowMs)
  }

  /** The command that an answer belongs to, by the answer's id or else by its sid. */
  commandOf(id: unknown, sid: unknown): Command | undefined {
    if (typeof id === 'number') return this.#commands.get(id)
    return typeof sid === 'number' ? this.bySid(sid)?.pending : undefined
  }

  /** The venue confirmed a subscription; returns it with the markets it now brings. */
  confirm(id: unknown, sid: number): Subscription | undefined {
    const command = typeof id === 'number' ? this.#commands.get(id) : undefined
    if (command?.action !== 'subscribe') return undefined
    this.#forget(command)
    const { subscription } = command
    subscription.sid = sid
    for (const ticker of command.tickers) subscription.tickers.add(ticker)
    return subscription
  }

  /** The venue applied a command; `tickers` is its own full list, if it sent one. Returns new markets. */
  applied(command: Command, tickers: readonly string[] | undefined): readonly string[] {
    this.#forget(command)
    const held = command.subscription.tickers
    const before = new Set(held)
    if (command.action === 'get_snapshot') return []
    if (tickers !== undefined) {
      held.clear()
      for (const ticker of tickers) held.add(ticker)
    } else if (command.action === 'add_markets') {
      for (const ticker of command.tickers) held.add(ticker)
    } else {
      for (const ticker of command.tickers) held.delete(ticker)
    }
    return [...held].filter((ticker) => !before.has(ticker))
  }

  /** A command failed; `next` will give it again. */
  failed(command: Command): void {
    this.#forget(command)
    if (command.action !== 'subscribe') return
    this.#list = this.#list.filter((one) => one !== command.subscription)
  }

  /** The command named more markets than a subscription may have: learns the limit from it. */
  tooMany(command: Command): void {
    const { tickers } = command.subscription
    const tried = tickers.size + command.tickers.length
    this.#limit = Math.min(this.#limit, Math.max(1, tickers.size, Math.floor(tried / 2)))
    this.failed(command)
  }

  /** The subscription has ended; returns what it was. */
  ended(sid: number): Subscription | undefined {
    const subscription = this.bySid(sid)
    if (subscription === undefined) return undefined
    if (subscription.pending !== undefined) this.#forget(subscription.pending)
    this.#list = this.#list.filter((one) => one !== subscription)
    this.#isOpen = true
    return subscription
  }

  /** The channel does not support adding markets: they get subscriptions of their own instead. */
  setFixed(channel: Channel): void {
    this.#fixedChannels.add(channel)
    this.#isOpen = true
  }

  /** The venue does not offer this channel: no more commands for it until the next connection. */
  setUnavailable(channel: Channel): void {
    this.#unavailable.add(channel)
    this.#isOpen = true
  }

  isUnavailable(channel: Channel): boolean {
    return this.#unavailable.has(channel)
  }

  bySid(sid: number): Subscription | undefined {
    return this.#list.find((one) => one.sid === sid)
  }

  /** The book subscription that brings this market or is about to. */
  bookOf(ticker: string): Subscription | undefined {
    return this.#list.find(
      ({ channel, tickers, pending }) =>
        channel === 'orderbook_delta' &&
        (tickers.has(ticker) || pending?.tickers.includes(ticker) === true),
    )
  }

  stateOf(ticker: string): SubscriptionState | undefined {
    const subscription = this.bookOf(ticker)
    if (subscription === undefined) return this.#wanted.has(ticker) ? 'wanted' : undefined
    return subscription.tickers.has(ticker) ? 'active' : 'sent'
  }

  /** Commands that have had no answer for longer than the limit. */
  unanswered(nowMs: number, limitMs: number): readonly Command[] {
    return [...this.#commands.values()].filter(({ sentMs }) => nowMs - sentMs > limitMs)
  }

  get all(): readonly Subscription[] {
    return this.#list
  }

  /** Max markets per subscription, as far as learned. */
  get limit(): number {
    return this.#limit
  }

  #remove(channel: Channel, nowMs: number): Command | undefined {
    for (const one of this.#list) {
      if (one.channel !== channel || one.pending !== undefined) continue
      const extra = [...one.tickers].filter((ticker) => !this.#wanted.has(ticker))
      if (extra.length === 0) continue
      // A subscription without markets may mean all markets, so the last ones end it.
      if (extra.length === one.tickers.size) return this.#command('unsubscribe', one, [], nowMs)
      if (this.#fixedChannels.has(channel)) continue
      return this.#command('delete_markets', one, extra.slice(0, MAX_COMMAND_TICKERS), nowMs)
    }
    return undefined
  }

  #add(channel: Channel, nowMs: number): Command | undefined {
    const own = this.#list.filter((one) => one.channel === channel)
    const held = new Set(own.flatMap((one) => [...one.tickers, ...(one.pending?.tickers ?? [])]))
    const missing = [...this.#wanted].filter((ticker) => !held.has(ticker))
    if (missing.length === 0) return undefined
    const isFixed = this.#fixedChannels.has(channel)
    const withRoom = isFixed ? [] : own.filter(({ tickers }) => tickers.size < this.#limit)
    const free = withRoom.find(({ pending }) => pending === undefined)
    if (free !== undefined) {
      const room = Math.min(MAX_COMMAND_TICKERS, this.#limit - free.tickers.size)
      return this.#command('add_markets', free, missing.slice(0, room), nowMs)
    }
    if (withRoom.length > 0) return undefined
    const room = Math.min(MAX_COMMAND_TICKERS, this.#limit)
    return this.#subscribe(channel, missing.slice(0, room), nowMs)
  }

  #subscribe(channel: Channel, tickers: readonly string[], nowMs: number): Command {
    const subscription = { channel, sid: undefined, tickers: new Set<string>(), pending: undefined }
    this.#list.push(subscription)
    return this.#command('subscribe', subscription, tickers, nowMs)
  }

  #command(
    action: Command['action'],
    subscription: Subscription,
    tickers: readonly string[],
    nowMs: number,
  ): Command {
    const id = ++this.#lastId
    const text = JSON.stringify({ id, ...bodyOf(action, subscription, tickers) })
    const command = { id, action, subscription, tickers, sentMs: nowMs, text }
    this.#commands.set(id, command)
    if (action !== 'get_snapshot') subscription.pending = command
    return command
  }

  #forget(command: Command): void {
    this.#isOpen = true
    this.#commands.delete(command.id)
    const { subscription } = command
    if (subscription.pending === command) subscription.pending = undefined
  }
}

function bodyOf(
  action: Command['action'],
  { channel, sid }: Subscription,
  tickers: readonly string[],
): object {
  switch (action) {
    case 'subscribe': {
      const markets = tickers.length === 0 ? {} : { market_tickers: tickers }
      // Set explicitly, because the venue has announced that the default will change.
      const prices = channel === 'orderbook_delta' ? { use_yes_price: false } : {}
      return { cmd: 'subscribe', params: { channels: [channel], ...markets, ...prices } }
    }
    case 'unsubscribe':
      return { cmd: 'unsubscribe', params: { sids: [sid] } }
    case 'add_markets':
    case 'delete_markets':
    case 'get_snapshot':
      return {
        cmd: 'update_subscription',
        params: { sids: [sid], action, market_tickers: tickers },
      }
  }
}
