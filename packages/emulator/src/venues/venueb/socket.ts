import type {
  Book,
  Payload,
  Phase,
  Proposition,
  Session,
  Wire,
  WorldEvent,
} from '../../core/upstream.ts'
import { ERRORS, parseCommand, type Channel, type Command, type ErrorNumber } from './commands.ts'
import {
  deltaHead,
  deltaText,
  eventMessage,
  lifecycleMessage,
  movedMessage,
  snapshotFrame,
  tickerFrame,
  tradeFrame,
  undo,
} from './frames.ts'
import type { Markets } from './markets.ts'
import { Subscribers, type Subscription } from './subscribers.ts'
import type { Trade } from './trades.ts'
import type { NativeObject } from './values.ts'

/** The socket of the venue: subscriptions of every client, each with its own sequence numbers. */
export interface Socket {
  open(wire: Wire): Session
  /** `trade` is the trade of the event, if any. */
  onEvent(event: WorldEvent, trade: Trade | undefined): void
}

const PING_MS = 10_000
/** Max markets per subscription by default; the venue does not publish its limit. */
export const MAX_MARKETS = 2_000
const EMPTY: Book = { bids: [], asks: [] }

/** How the socket behaves. */
type SocketOptions = {
  /** When a market closes, its empty book is sent at once and again so much later. */
  readonly againMs: number
  /** Max markets per subscription. */
  readonly maxMarkets: number
}

/** Creates the socket. */
export function createSocket(markets: Markets, options: SocketOptions): Socket {
  return new VenueSocket(markets, options)
}

/** The subscriptions of one client, and replies to its commands. */
class Client {
  readonly subscriptions = new Map<number, Subscription>()
  readonly wire: Wire
  /** Counts the connections. */
  readonly number: number
  private lastSid = 0

  constructor(wire: Wire, number: number) {
    this.wire = wire
    this.number = number
  }

  subscribe(
    channel: Channel,
    tickers: readonly string[] | undefined,
    yesPrice: boolean,
  ): Subscription {
    const sid = ++this.lastSid
    const { wire, number: client } = this
    // Lifecycle has no filter: every subscriber hears of every market.
    const chosen = channel === 'market_lifecycle_v2' ? undefined : tickers
    const set = chosen === undefined ? undefined : new Set(chosen)
    const subscription = { sid, client, channel, tickers: set, yesPrice, wire, seq: 0 }
    this.subscriptions.set(sid, subscription)
    return subscription
  }

  reply(value: NativeObject): void {
    this.wire.send(JSON.stringify(value))
  }

  fail(id: number | undefined, code: ErrorNumber): void {
    const msg = { code, msg: ERRORS[code] }
    this.reply(id === undefined ? { type: 'error', msg } : { id, type: 'error', msg })
  }
}

class VenueSocket implements Socket {
  private readonly markets: Markets
  private readonly options: SocketOptions
  private readonly subscribers = new Subscribers()
  private readonly phases = new Map<Proposition, Phase>()
  private readonly events = new Set<string>()
  private readonly sizes = new Map<Proposition, number>()
  private again: { readonly at: number; readonly market: Proposition }[] = []
  private connected = 0

  constructor(markets: Markets, options: SocketOptions) {
    this.markets = markets
    this.options = options
  }

  open(wire: Wire): Session {
    const client = new Client(wire, ++this.connected)
    const timer = setInterval(() => wire.ping('heartbeat'), PING_MS)
    return {
      onText: (text) => this.obey(parseCommand(text), client),
      onClose: () => {
        clearInterval(timer)
        for (const own of client.subscriptions.values()) this.subscribers.remove(own)
        client.subscriptions.clear()
      },
    }
  }

  onEvent(event: WorldEvent, trade: Trade | undefined): void {
    const { proposition: market, at } = event
    if (this.again.length > 0) this.sendAgain(at)
    if (event.kind === 'listed' || event.kind === 'phase') return this.sendPhase(market, at)
    if (event.kind === 'moved') return this.sendMoved(market)
    if (event.kind !== 'book') return
    this.sendChanges(event)
    if (trade !== undefined) {
      this.sizes.set(market, trade.size)
      this.sendTrade(trade)
    }
    this.sendTicker(event, trade !== undefined)
  }

  private sendAgain(at: number): void {
    const due = this.again.filter((item) => item.at <= at)
    if (due.length === 0) return
    this.again = this.again.filter((item) => item.at > at)
    for (const item of due) this.sendClosed(item.market)
  }

  private sendSnapshot(
    to: Subscription,
    market: Proposition,
    book = market.book,
    id?: number,
  ): void {
    const names = this.markets.names(market)
    const { sid, yesPrice } = to
    const seq = ++to.seq
    const options = id === undefined ? { yesPrice } : { yesPrice, id }
    const payload: Payload = { kind: 'full', key: names.ticker, book, seq }
    to.wire.send(snapshotFrame({ sid, seq }, names, book, options), [payload])
  }

  private sendSnapshots(to: Subscription, tickers: Iterable<string>, id?: number): void {
    for (const ticker of tickers) {
      const market = this.markets.find(ticker)
      if (market !== undefined) this.sendSnapshot(to, market, market.book, id)
    }
  }

  private sendClosed(market: Proposition): void {
    const { ticker } = this.markets.names(market)
    for (const to of this.subscribers.of('orderbook_delta', ticker))
      this.sendSnapshot(to, market, EMPTY)
  }

  private sendChanges(event: Extract<WorldEvent, { kind: 'book' }>): void {
    const { proposition: market, levels, at } = event
    // A close is sent as empty snapshots, not level by level.
    if (market.phase === 'closed') return
    const names = this.markets.names(market)
    const hearers = this.subscribers.of('orderbook_delta', names.ticker)
    if (hearers.length === 0) return
    const books: Book[] = [market.book]
    for (let i = levels.length - 1; i > 0; i--) books.push(undo(books.at(-1)!, levels[i]!))
    for (const level of levels) {
      const book = books.pop()!
      const texts = { plain: '', yes: '' }
      for (const to of hearers) {
        const { sid, yesPrice } = to
        const seq = ++to.seq
        const text = (texts[yesPrice ? 'yes' : 'plain'] ||= deltaText(names, level, at, yesPrice))
        to.wire.send(deltaHead({ sid, seq }) + text, [
          { kind: 'change', key: names.ticker, book, seq },
        ])
      }
    }
  }

  private sendTrade(trade: Trade): void {
    const { id, ticker: key, price, size, taker } = trade
    for (const to of this.subscribers.of('trade', key)) {
      const { sid } = to
      const payload: Payload = { kind: 'trade', key, id, fill: { price, size, taker } }
      to.wire.send(tradeFrame({ sid, seq: ++to.seq }, trade), [payload])
    }
  }

  private sendTicker(event: Extract<WorldEvent, { kind: 'book' }>, isTrade: boolean): void {
    const { proposition: market, at } = event
    const names = this.markets.names(market)
    const hearers = this.subscribers.of('ticker', names.ticker)
    // Looked at last: it copies the book.
    if (hearers.length === 0 || !(isTrade || touchesTop(event))) return
    for (const to of hearers) {
      to.wire.send(tickerFrame(to.sid, market, names, this.sizes.get(market) ?? 0, at), [])
    }
  }

  private sendTickers(to: Subscription): void {
    for (const ticker of to.tickers ?? []) {
      const market = this.markets.find(ticker)
      if (market === undefined) continue
      const size = this.sizes.get(market) ?? 0
      to.wire.send(
        tickerFrame(to.sid, market, this.markets.names(market), size, this.markets.now()),
        [],
      )
    }
  }

  private sendLifecycle(
    type: string,
    msg: NativeObject | undefined,
    payload: Payload | undefined,
  ): void {
    if (msg === undefined) return
    for (const to of this.subscribers.of('market_lifecycle_v2', '')) {
      const { sid } = to
      const frame = JSON.stringify({ type, sid, seq: ++to.seq, msg })
      to.wire.send(frame, payload === undefined ? [] : [payload])
    }
  }

  private sendMoved(market: Proposition): void {
    const names = this.markets.names(market)
    const payload: Payload = { kind: 'market', key: names.ticker, phase: market.phase }
    this.sendLifecycle('market_lifecycle_v2', movedMessage(market, names), payload)
  }

  private sendPhase(market: Proposition, at: number): void {
    const names = this.markets.names(market)
    const before = this.phases.get(market)
    const { phase } = market
    this.phases.set(market, phase)
    if (phase === 'listed' && !this.events.has(names.event)) {
      this.events.add(names.event)
      this.sendLifecycle('event_lifecycle', eventMessage(market, names), undefined)
    }
    const winner = market.outcome?.winner
    const payload: Payload = { kind: 'market', key: names.ticker, phase }
    this.sendLifecycle(
      'market_lifecycle_v2',
      lifecycleMessage(market, names, before, at),
      winner === undefined ? payload : { ...payload, winner },
    )
    if (phase === 'closed') {
      this.sendClosed(market)
      this.again.push({ at: at + this.options.againMs, market })
    }
    if (phase === 'resolved') {
      this.phases.delete(market)
      this.sizes.delete(market)
    }
  }

  private obey(command: Command, client: Client): void {
    switch (command.cmd) {
      case 'error':
        return client.fail(command.id, command.code)
      case 'list': {
        const all = [...client.subscriptions.values()]
        const msg = all.map(({ channel, sid }) => ({ channel, sid }))
        return client.reply({ id: command.id, type: 'ok', msg })
      }
      case 'subscribe':
        return this.subscribe(command, client)
      case 'unsubscribe':
        for (const sid of command.sids) {
          const to = client.subscriptions.get(sid)
          if (to === undefined) client.fail(command.id, 7)
          else {
            client.reply({ id: command.id, sid, seq: ++to.seq, type: 'unsubscribed' })
            this.subscribers.remove(to)
          }
          client.subscriptions.delete(sid)
        }
        return
      case 'update':
        this.update(command, client)
    }
  }

  private subscribe(command: Extract<Command, { cmd: 'subscribe' }>, client: Client): void {
    const { id, tickers, yesPrice } = command
    if ((tickers?.length ?? 0) > this.options.maxMarkets) return client.fail(id, 26)
    for (const channel of command.channels) {
      const to = client.subscribe(channel, tickers, yesPrice)
      this.subscribers.add(to)
      client.reply({ id, type: 'subscribed', msg: { channel, sid: to.sid } })
      if (channel === 'orderbook_delta') this.sendSnapshots(to, to.tickers ?? [])
      if (channel === 'ticker' && command.initialTicker) this.sendTickers(to)
    }
  }

  private update(command: Extract<Command, { cmd: 'update' }>, client: Client): void {
    const { id, sid, action, tickers } = command
    const to = client.subscriptions.get(sid)
    if (to === undefined) return client.fail(id, 7)
    const isBook = to.channel === 'orderbook_delta'
    if (action === 'get_snapshot') {
      return isBook ? this.sendSnapshots(to, tickers, id) : client.fail(id, 13)
    }
    const own = to.tickers
    if (own === undefined) return client.fail(id, 13)
    const added = tickers.filter((ticker) => !own.has(ticker))
    if (action === 'add_markets' && own.size + added.length > this.options.maxMarkets) {
      return client.fail(id, 26)
    }
    for (const ticker of tickers) {
      if (action === 'add_markets') {
        own.add(ticker)
        this.subscribers.addTicker(to, ticker)
      } else if (own.delete(ticker)) this.subscribers.removeTicker(to, ticker)
    }
    client.reply({ id, sid, seq: ++to.seq, type: 'ok', msg: { market_tickers: [...own] } })
    if (action === 'add_markets' && isBook) this.sendSnapshots(to, added)
  }
}

function touchesTop({ proposition, levels }: Extract<WorldEvent, { kind: 'book' }>): boolean {
  const { bids, asks } = proposition.book
  return levels.some(({ side, price }) =>
    side === 'bid' ? price >= (bids[0]?.price ?? 0) : price <= (asks[0]?.price ?? 10_000),
  )
}
