/** The channels of venue B's socket that are recorded. */
export type Channel = 'orderbook_delta' | 'trade' | 'market_lifecycle_v2'

/** One subscription; `sid` is the venue's name for it, absent until it answered. */
export type Subscription = {
  readonly channel: Channel
  sid: number | undefined
  readonly tickers: Set<string>
  /** The command that was sent and not yet answered: one at a time. */
  pending: Command | undefined
}

/** One command of ours. */
export type Command = {
  readonly id: number
  readonly action: 'subscribe' | 'add_markets' | 'delete_markets' | 'unsubscribe' | 'get_snapshot'
  readonly subscription: Subscription
  readonly tickers: readonly string[]
  readonly sentMs: number
  readonly text: string
}

/** Keeps the subscriptions of one connection in step with the markets that are wanted. No clock, no socket. */
export interface Subscriptions {
  /** A new connection: nothing is subscribed, nothing wanted until somebody says so. */
  clear(): void
  want(tickers: ReadonlySet<string>): void
  /** The next command that brings them in step; undefined when nothing is to be done now. */
  next(nowMs: number): Command | undefined
  snapshot(sid: number, tickers: readonly string[], nowMs: number): Command | undefined
  /** The command that an answer belongs to, by its id or by its sid. */
  commandOf(id: unknown, sid: unknown): Command | undefined
  /** The venue made the subscription; says which tickers it now brings. */
  subscribed(id: unknown, sid: number): Subscription | undefined
  /** The venue changed it; `tickers` is its own full list, where it gave one. Says which are new. */
  changed(command: Command, tickers: readonly string[] | undefined): readonly string[]
  /** A command failed and will be made again. */
  failed(command: Command): void
  /** A subscription is no more. */
  ended(sid: number): Subscription | undefined
  /** More markets than one subscription takes: learns the limit from the command that failed. */
  tooMany(command: Command): void
  /** The channel does not take added markets: it gets new subscriptions instead. */
  fixed(channel: Channel): void
  /** The venue does not give this channel: it is left alone until the next connection. */
  off(channel: Channel): void
  isOff(channel: Channel): boolean
  bySid(sid: number): Subscription | undefined
  /** The book subscription that brings or is about to bring this market. */
  holds(ticker: string): Subscription | undefined
  /** Commands older than this without an answer. */
  unanswered(nowMs: number, limitMs: number): readonly Command[]
  readonly all: readonly Subscription[]
  readonly limit: number
}

const LIFE = 'market_lifecycle_v2'
const MARKET_CHANNELS = ['orderbook_delta', 'trade'] as const
// What one command names at most; the venue publishes no limit of a subscription, it is learned.
const COMMAND_TICKERS = 200

/** Creates an empty set of subscriptions. */
export function createSubscriptions(): Subscriptions {
  let list: Subscription[] = []
  let wanted: ReadonlySet<string> = new Set()
  let ids = 0
  let limit = Infinity
  const fixedChannels = new Set<Channel>()
  const offChannels = new Set<Channel>()
  const commands = new Map<number, Command>()

  function make(
    action: Command['action'],
    subscription: Subscription,
    tickers: readonly string[],
    nowMs: number,
  ): Command {
    const id = ++ids
    const text = JSON.stringify({ id, ...body(action, subscription, tickers) })
    const command = { id, action, subscription, tickers, sentMs: nowMs, text }
    commands.set(id, command)
    if (action !== 'get_snapshot') subscription.pending = command
    return command
  }

  function subscribe(channel: Channel, tickers: readonly string[], nowMs: number): Command {
    const subscription = { channel, sid: undefined, tickers: new Set<string>(), pending: undefined }
    list.push(subscription)
    return make('subscribe', subscription, tickers, nowMs)
  }

  function forget(command: Command): void {
    commands.delete(command.id)
    const { subscription } = command
    if (subscription.pending === command) subscription.pending = undefined
  }

  function inStep(channel: (typeof MARKET_CHANNELS)[number], nowMs: number): Command | undefined {
    const mine = list.filter((one) => one.channel === channel)
    const isFixed = fixedChannels.has(channel)
    for (const one of mine) {
      if (one.pending !== undefined) continue
      const extra = [...one.tickers].filter((ticker) => !wanted.has(ticker))
      if (extra.length === 0) continue
      // A subscription without markets may mean all markets: the last ones take it with them.
      if (extra.length === one.tickers.size) return make('unsubscribe', one, [], nowMs)
      if (!isFixed) return make('delete_markets', one, extra.slice(0, COMMAND_TICKERS), nowMs)
    }
    const held = new Set(mine.flatMap((one) => [...one.tickers, ...(one.pending?.tickers ?? [])]))
    const missing = [...wanted].filter((ticker) => !held.has(ticker))
    if (missing.length === 0) return undefined
    const withRoom = isFixed ? [] : mine.filter(({ tickers }) => tickers.size < limit)
    const free = withRoom.find(({ pending }) => pending === undefined)
    if (free !== undefined) {
      const room = Math.min(COMMAND_TICKERS, limit - free.tickers.size)
      return make('add_markets', free, missing.slice(0, room), nowMs)
    }
    if (withRoom.length > 0) return undefined
    return subscribe(channel, missing.slice(0, Math.min(COMMAND_TICKERS, limit)), nowMs)
  }

  return {
    clear() {
      list = []
      wanted = new Set()
      commands.clear()
      offChannels.clear()
    },
    want(tickers) {
      wanted = tickers
    },
    next(nowMs) {
      for (const channel of MARKET_CHANNELS) {
        if (offChannels.has(channel)) continue
        const command = inStep(channel, nowMs)
        if (command !== undefined) return command
      }
      const isThere = list.some(({ channel }) => channel === LIFE) || offChannels.has(LIFE)
      return isThere ? undefined : subscribe(LIFE, [], nowMs)
    },
    snapshot(sid, tickers, nowMs) {
      const subscription = list.find((one) => one.sid === sid)
      if (subscription === undefined) return undefined
      return make('get_snapshot', subscription, tickers, nowMs)
    },
    commandOf(id, sid) {
      if (typeof id === 'number') return commands.get(id)
      if (typeof sid !== 'number') return undefined
      return list.find((one) => one.sid === sid)?.pending
    },
    subscribed(id, sid) {
      const command = typeof id === 'number' ? commands.get(id) : undefined
      if (command?.action !== 'subscribe') return undefined
      forget(command)
      const { subscription } = command
      subscription.sid = sid
      for (const ticker of command.tickers) subscription.tickers.add(ticker)
      return subscription
    },
    changed(command, tickers) {
      forget(command)
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
    },
    failed(command) {
      forget(command)
      if (command.action !== 'subscribe') return
      list = list.filter((one) => one !== command.subscription)
    },
    ended(sid) {
      const subscription = list.find((one) => one.sid === sid)
      if (subscription === undefined) return undefined
      if (subscription.pending !== undefined) forget(subscription.pending)
      list = list.filter((one) => one !== subscription)
      return subscription
    },
    tooMany(command) {
      const { tickers } = command.subscription
      const tried = tickers.size + command.tickers.length
      limit = Math.min(limit, Math.max(1, tickers.size, Math.floor(tried / 2)))
      this.failed(command)
    },
    off: (channel) => void offChannels.add(channel),
    isOff: (channel) => offChannels.has(channel),
    fixed: (channel) => void fixedChannels.add(channel),
    bySid: (sid) => list.find((one) => one.sid === sid),
    holds: (ticker) =>
      list.find(
        (one) =>
          one.channel === 'orderbook_delta' &&
          (one.tickers.has(ticker) || one.pending?.tickers.includes(ticker) === true),
      ),
    unanswered: (nowMs, limitMs) =>
      [...commands.values()].filter(({ sentMs }) => nowMs - sentMs > limitMs),
    get all() {
      return list
    },
    get limit() {
      return limit
    },
  }
}

function body(
  action: Command['action'],
  subscription: Subscription,
  tickers: readonly string[],
): object {
  const { channel, sid } = subscription
  switch (action) {
    case 'subscribe': {
      const markets = tickers.length === 0 ? {} : { market_tickers: tickers }
      // No prices of no as prices of yes: the default will change, so it is said.
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
