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
  const { clock, desk, account, hooks, random } = parts
  return Object.freeze({
    get now() {
      return clock.now
    },
    params: Object.freeze({ ...parts.params }),
    order: (request) => desk.send(request),
    buy: (request) => desk.send(request, 'buy'),
    sell: (request) => desk.send(request, 'sell'),
    cancel: (id) => desk.cancel(id),
    cancelAll(market) {
      for (const { id } of account.orders(market)) desk.cancel(id)
    },
    replace: (id, change) => desk.replace(id, change),
    merge: (market, size) => desk.merge(market, size),
    split: (market, size) => desk.split(market, size),
    timerAt: (at, tag = '') => desk.timer(at, tag),
    timerIn: (micros, tag = '') => desk.timer(clock.now + micros, tag),
    forecast: (market, chance, outcome) => desk.forecast(market, chance, outcome),
    ...createViews(parts),
    ...createFacts(parts),
    reference: (asset, feed) => parts.references.find(asset, feed),
    cash: (venue: VenueId) => account.cash(venue),
    orders: (market) => Object.freeze([...account.orders(market)]),
    random: () => random.float(),
    log: (text) => hooks.log(text),
  } satisfies StrategyContext)
}

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
