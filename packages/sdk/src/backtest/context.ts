import type { VenueId } from '../domain/index.ts'
import type { Desk } from './desk.ts'
import { outcomeIndex, parseOrder } from './engine-order.ts'
import { charge } from './fees.ts'
import { emptyPosition, type KnownAccount } from './known-account.ts'
import { revenueOf } from './ledger.ts'
import type { InstrumentBook, MarketState } from './market-state.ts'
import { MONEY_ONE, shownPrice } from './money.ts'
import type { OrderView } from './order.ts'
import type { Random } from './random.ts'
import type { References } from './references.ts'
import type { StrategyHooks } from './strategy-hooks.ts'
import type { BookView, MarketView, Params, StrategyContext } from './strategy.ts'
import { FrozenBook, FrozenMarket } from './views.ts'

/** The parts of a run that a strategy's context reads and calls. */
export type ContextParts = {
  readonly clock: { readonly now: number }
  readonly markets: ReadonlyMap<string, MarketState>
  readonly references: Pick<References, 'find'>
  readonly account: KnownAccount
  readonly desk: Desk
  readonly hooks: StrategyHooks
  readonly random: Random
  readonly params: Params
}

/** Creates the context of a strategy: frozen closures, through which the engine cannot be reached. */
export function createContext(parts: ContextParts): StrategyContext {
  return new Context(parts)
}

/**
 * A class, because strategies read their context with every row: the properties of instances are at fixed places,
 * whereas V8 keeps those of an object that a literal with a getter or a spread has made in a hash table.
 */
class Context implements StrategyContext {
  readonly #clock: ContextParts['clock']
  // Of the object itself, so that it is copied with the others. One getter for all, or their shapes would differ.
  static readonly #now = {
    enumerable: true,
    get(this: Context): number {
      return this.#clock.now
    },
  }
  declare readonly now: number
  readonly params: Params
  readonly order: StrategyContext['order']
  readonly buy: StrategyContext['buy']
  readonly sell: StrategyContext['sell']
  readonly cancel: StrategyContext['cancel']
  readonly cancelAll: StrategyContext['cancelAll']
  readonly replace: StrategyContext['replace']
  readonly merge: StrategyContext['merge']
  readonly split: StrategyContext['split']
  readonly timerAt: StrategyContext['timerAt']
  readonly timerIn: StrategyContext['timerIn']
  readonly forecast: StrategyContext['forecast']
  readonly book: StrategyContext['book']
  readonly market: StrategyContext['market']
  readonly markets: StrategyContext['markets']
  readonly position: StrategyContext['position']
  readonly exposure: StrategyContext['exposure']
  readonly fee: StrategyContext['fee']
  readonly ticks: StrategyContext['ticks']
  readonly secondsToClose: StrategyContext['secondsToClose']
  readonly reference: StrategyContext['reference']
  readonly cash: StrategyContext['cash']
  readonly orders: StrategyContext['orders']
  readonly random: StrategyContext['random']
  readonly log: StrategyContext['log']

  constructor(parts: ContextParts) {
    const { clock, desk, account, hooks, random } = parts
    const views = createViews(parts)
    const facts = createFacts(parts)
    this.#clock = clock
    Object.defineProperty(this, 'now', Context.#now)
    this.params = Object.freeze({ ...parts.params })
    this.order = (request) => desk.send(request)
    this.buy = (request) => desk.send(request, 'buy')
    this.sell = (request) => desk.send(request, 'sell')
    this.cancel = (id) => desk.cancel(id)
    this.cancelAll = (market) => {
      for (const { id } of account.orders(market)) desk.cancel(id)
    }
    this.replace = (id, change) => desk.replace(id, change)
    this.merge = (market, size) => desk.merge(market, size)
    this.split = (market, size) => desk.split(market, size)
    this.timerAt = (at, tag = '') => desk.timer(at, tag)
    this.timerIn = (micros, tag = '') => desk.timer(clock.now + micros, tag)
    this.forecast = (market, chance, outcome) => desk.forecast(market, chance, outcome)
    this.book = views.book
    this.market = views.market
    this.markets = views.markets
    this.position = views.position
    this.exposure = facts.exposure
    this.fee = facts.fee
    this.ticks = facts.ticks
    this.secondsToClose = facts.secondsToClose
    this.reference = (asset, feed) => parts.references.find(asset, feed)
    this.cash = (venue: VenueId) => account.cash(venue)
    this.orders = (market) => Object.freeze([...account.orders(market)])
    this.random = () => random.float()
    this.log = (text) => hooks.log(text)
    Object.freeze(this)
  }
}

// Otherwise a strategy could change what all contexts inherit.
Object.freeze(Context.prototype)
Object.freeze(Context)

type Facts = Pick<StrategyContext, 'exposure' | 'fee' | 'ticks' | 'secondsToClose'>

// What follows from the account, the records and the books that the strategy knows.
function createFacts({ clock, markets, account }: ContextParts): Facts {
  return {
    exposure(id) {
      const state = markets.get(id)
      const { shares } = state === undefined ? emptyPosition(id) : account.position(state)
      const buying = [0, 0]
      const selling = [0, 0]
      for (const order of account.orders(id)) {
        const own = order.side === 'buy' ? buying : selling
        own[order.outcome]! += openShares(order, state?.primary)
      }
      return Object.freeze({
        market: id,
        shares: Object.freeze(shares.map((held, own) => held + buying[own]! - selling[own]!)),
        buying: Object.freeze(buying),
        selling: Object.freeze(selling),
      })
    },
    fee({ market, outcome, side, price, size, liquidity = 'taker' }) {
      const state = markets.get(market)
      const request = { market, side, price, size, timeInForce: 'GTC' } as const
      const parsed = parseOrder(outcome === undefined ? request : { ...request, outcome }, markets)
      if (state === undefined || typeof parsed === 'string') return undefined
      const schedule = state.fees(clock.now)
      if ('unknown' in schedule) return undefined
      const { venue } = state
      const fill = { venue, liquidity, side, price: parsed.price!, size: parsed.size }
      const revenue = revenueOf(venue, side, fill.price, fill.size)
      return charge(schedule.formula, { ...fill, revenue }, { owed: 0 }).value / MONEY_ONE
    },
    ticks(id) {
      const state = markets.get(id)
      const shown = (ticks: number): number => shownPrice(ticks, state!.one)
      return Object.freeze(
        (state?.rules()?.ticks ?? []).map(({ from, to, step }) =>
          Object.freeze({ from: shown(from), to: shown(to), step: shown(step) }),
        ),
      )
    },
    secondsToClose(id) {
      const closeTime = markets.get(id)?.record?.closeTime
      return closeTime === undefined ? undefined : (closeTime - clock.now) / 1e6
    },
  }
}

// A purchase for an amount is counted at the best price, because its size is not known yet.
function openShares(
  { amount, size, filled, outcome }: OrderView,
  book: InstrumentBook | undefined,
): number {
  if (amount === undefined) return Number(size) - Number(filled)
  if (book === undefined) return Number(amount)
  const { ladder } = book
  const ask = outcome === book.outcome ? ladder.bestAsk : ladder.one - ladder.bestBid
  return (Number(amount) * ladder.one) / ask
}

// Views of books and markets are created once and always show the present.
function createViews({
  markets,
  account,
}: ContextParts): Pick<StrategyContext, 'book' | 'market' | 'markets' | 'position'> {
  const books = new Map<string, BookView>()
  const views = new Map<string, MarketView>()

  const marketView = (id: string): MarketView | undefined => {
    const known = views.get(id)
    if (known !== undefined) return known
    const state = markets.get(id)
    if (state === undefined) return undefined
    const view = new FrozenMarket(state)
    views.set(id, view)
    return view
  }

  return {
    book(id, outcome) {
      const state = markets.get(id)
      const index = state === undefined ? undefined : outcomeIndex(state, outcome)
      if (state?.primary === undefined || index === undefined) return undefined
      const book = state.books.find((each) => each.outcome === index) ?? state.primary
      const name = `${index} ${book.key} ${id}`
      let view = books.get(name)
      if (view === undefined) {
        view = new FrozenBook(book, index, marketView(id)!)
        books.set(name, view)
      }
      return view
    },
    market: marketView,
    markets: () => Object.freeze([...markets.keys()].map((id) => marketView(id)!)),
    position(id) {
      const state = markets.get(id)
      return state === undefined ? emptyPosition(id) : account.position(state)
    },
  }
}
