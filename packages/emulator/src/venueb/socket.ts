import type {
  Book,
  Payload,
  Phase,
  Proposition,
  Session,
  Wire,
  WorldEvent,
} from '../core/upstream.ts'
import { ERRORS, parseCommand, type Channel, type Command, type ErrorNumber } from './commands.ts'
import {
  deltaHead,
  deltaText,
  eventMessage,
  lifecycleMessage,
  snapshotFrame,
  tickerFrame,
  tradeFrame,
  undo,
} from './frames.ts'
import type { Markets } from './markets.ts'
import type { NativeObject } from './objects.ts'
import type { Trade } from './trades.ts'

/** The socket of the venue: subscriptions of every client, each with its own numbers. */
export interface Socket {
  open(wire: Wire): Session
  /** `trade` is the one that the event tells of. */
  onEvent(event: WorldEvent, trade: Trade | undefined): void
}

type Subscription = {
  readonly sid: number
  readonly channel: Channel
  readonly tickers: Set<string> | undefined
  readonly yesPrice: boolean
  readonly wire: Wire
  seq: number
}

const PING_MS = 10_000
const MAX_MARKETS = 2_000
const EMPTY: Book = { bids: [], asks: [] }

/** Creates the socket; `againMs` after a close the empty book is told a second time. */
export function createSocket(markets: Markets, againMs: number): Socket {
  const clients = new Set<Map<number, Subscription>>()
  const phases = new Map<Proposition, Phase>()
  const events = new Set<string>()
  const sizes = new Map<Proposition, number>()
  let again: { readonly at: number; readonly market: Proposition }[] = []

  function* subscribers(channel: Channel, ticker: string): Generator<Subscription> {
    for (const client of clients) {
      for (const subscription of client.values()) {
        if (subscription.channel !== channel) continue
        if (subscription.tickers?.has(ticker) ?? true) yield subscription
      }
    }
  }

  function sendSnapshot(
    to: Subscription,
    market: Proposition,
    book = market.book,
    id?: number,
  ): void {
    const names = markets.names(market)
    const { sid, yesPrice } = to
    const seq = ++to.seq
    const options = id === undefined ? { yesPrice } : { yesPrice, id }
    const payload: Payload = { kind: 'full', key: names.ticker, book, seq }
    to.wire.send(snapshotFrame({ sid, seq }, names, book, options), [payload])
  }

  function sendSnapshots(to: Subscription, tickers: Iterable<string>, id?: number): void {
    for (const ticker of tickers) {
      const market = markets.find(ticker)
      if (market !== undefined) sendSnapshot(to, market, market.book, id)
    }
  }

  function tellClosed(market: Proposition): void {
    const { ticker } = markets.names(market)
    for (const to of subscribers('orderbook_delta', ticker)) sendSnapshot(to, market, EMPTY)
  }

  function tellBook(event: Extract<WorldEvent, { kind: 'book' }>): void {
    const { proposition: market, levels, at } = event
    // A close is told by empty snapshots, not level by level.
    if (market.phase === 'closed') return
    const names = markets.names(market)
    const hearers = [...subscribers('orderbook_delta', names.ticker)]
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

  function tellTrade(trade: Trade): void {
    const { id, ticker: key, price, size, taker } = trade
    for (const to of subscribers('trade', key)) {
      const { sid } = to
      const payload: Payload = { kind: 'trade', key, id, fill: { price, size, taker } }
      to.wire.send(tradeFrame({ sid, seq: ++to.seq }, trade), [payload])
    }
  }

  function tellTicker(market: Proposition, at: number): void {
    const names = markets.names(market)
    for (const to of subscribers('ticker', names.ticker)) {
      to.wire.send(tickerFrame(to.sid, market, names, sizes.get(market) ?? 0, at), [])
    }
  }

  function sendTickers(to: Subscription): void {
    for (const ticker of to.tickers ?? []) {
      const market = markets.find(ticker)
      if (market === undefined) continue
      const size = sizes.get(market) ?? 0
      to.wire.send(tickerFrame(to.sid, market, markets.names(market), size, markets.now()), [])
    }
  }

  function tellLife(
    type: string,
    msg: NativeObject | undefined,
    payload: Payload | undefined,
  ): void {
    if (msg === undefined) return
    for (const to of subscribers('market_lifecycle_v2', '')) {
      const { sid } = to
      const frame = JSON.stringify({ type, sid, seq: ++to.seq, msg })
      to.wire.send(frame, payload === undefined ? [] : [payload])
    }
  }

  function tellPhase(market: Proposition, at: number): void {
    const names = markets.names(market)
    const before = phases.get(market)
    const { phase } = market
    phases.set(market, phase)
    if (phase === 'listed' && !events.has(names.event)) {
      events.add(names.event)
      tellLife('event_lifecycle', eventMessage(market, names), undefined)
    }
    const winner = market.outcome?.winner
    const payload: Payload = { kind: 'market', key: names.ticker, phase }
    tellLife(
      'market_lifecycle_v2',
      lifecycleMessage(market, names, before, at),
      winner === undefined ? payload : { ...payload, winner },
    )
    if (phase === 'closed') {
      tellClosed(market)
      again.push({ at: at + againMs, market })
    }
    if (phase === 'resolved') {
      phases.delete(market)
      sizes.delete(market)
    }
  }

  function obey(
    command: Command,
    client: Map<number, Subscription>,
    wire: Wire,
    next: () => number,
  ): void {
    const reply = (value: NativeObject): void => wire.send(JSON.stringify(value))
    const fail = (id: number | undefined, code: ErrorNumber): void => {
      const msg = { code, msg: ERRORS[code] }
      reply(id === undefined ? { type: 'error', msg } : { id, type: 'error', msg })
    }
    switch (command.cmd) {
      case 'error':
        return fail(command.id, command.code)
      case 'list': {
        const msg = [...client.values()].map(({ channel, sid }) => ({ channel, sid }))
        return reply({ id: command.id, type: 'ok', msg })
      }
      case 'subscribe':
        if ((command.tickers?.length ?? 0) > MAX_MARKETS) return fail(command.id, 26)
        for (const channel of command.channels) {
          const sid = next()
          const { yesPrice, tickers } = command
          // Lifecycle has no filter: everybody hears of every market.
          const chosen = channel === 'market_lifecycle_v2' ? undefined : tickers
          const to: Subscription = {
            sid,
            channel,
            tickers: chosen === undefined ? undefined : new Set(chosen),
            yesPrice,
            wire,
            seq: 0,
          }
          client.set(sid, to)
          reply({ id: command.id, type: 'subscribed', msg: { channel, sid } })
          if (channel === 'orderbook_delta') sendSnapshots(to, to.tickers ?? [])
          if (channel === 'ticker' && command.initialTicker) sendTickers(to)
        }
        return
      case 'unsubscribe':
        for (const sid of command.sids) {
          const to = client.get(sid)
          if (to === undefined) fail(command.id, 7)
          else reply({ id: command.id, sid, seq: ++to.seq, type: 'unsubscribed' })
          client.delete(sid)
        }
        return
      case 'update': {
        const { id, sid, action, tickers } = command
        const to = client.get(sid)
        if (to === undefined) return fail(id, 7)
        if (action === 'get_snapshot') {
          return to.channel === 'orderbook_delta' ? sendSnapshots(to, tickers, id) : fail(id, 13)
        }
        const own = to.tickers
        if (own === undefined) return fail(id, 13)
        const added = tickers.filter((ticker) => !own.has(ticker))
        if (action === 'add_markets' && own.size + added.length > MAX_MARKETS) return fail(id, 26)
        for (const ticker of tickers) {
          if (action === 'add_markets') own.add(ticker)
          else own.delete(ticker)
        }
        reply({ id, sid, seq: ++to.seq, type: 'ok', msg: { market_tickers: [...own] } })
        if (action === 'add_markets' && to.channel === 'orderbook_delta') sendSnapshots(to, added)
      }
    }
  }

  return {
    open(wire) {
      const client = new Map<number, Subscription>()
      clients.add(client)
      let sid = 0
      const timer = setInterval(() => wire.ping('heartbeat'), PING_MS)
      return {
        onText: (text) => obey(parseCommand(text), client, wire, () => ++sid),
        onClose() {
          clearInterval(timer)
          clients.delete(client)
        },
      }
    },
    onEvent(event, trade) {
      const { proposition: market, at } = event
      const due = again.filter((item) => item.at <= at)
      if (due.length > 0) {
        again = again.filter((item) => item.at > at)
        for (const item of due) tellClosed(item.market)
      }
      if (event.kind === 'listed' || event.kind === 'phase') return tellPhase(market, at)
      if (event.kind !== 'book') return
      tellBook(event)
      if (trade !== undefined) {
        sizes.set(market, trade.size)
        tellTrade(trade)
      }
      if (trade !== undefined || touchesTop(event)) tellTicker(market, at)
    },
  }
}

function touchesTop({ proposition, levels }: Extract<WorldEvent, { kind: 'book' }>): boolean {
  const { bids, asks } = proposition.book
  return levels.some(({ side, price }) =>
    side === 'bid' ? price >= (bids[0]?.price ?? 0) : price <= (asks[0]?.price ?? 10_000),
  )
}
