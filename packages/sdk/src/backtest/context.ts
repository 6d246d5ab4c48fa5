import { POW10, VENUES, type VenueId } from '../domain/index.ts'
import type { Desk } from './desk.ts'
import { outcomeIndex } from './engine-order.ts'
import type { Ledger } from './ledger.ts'
import type { MarketState } from './market-state.ts'
import { MONEY_ONE } from './money.ts'
import type { Orders } from './orders.ts'
import type { Random } from './random.ts'
import type { References } from './references.ts'
import type { RunMarket } from './run-market.ts'
import type { StrategyHooks } from './strategy-hooks.ts'
import type { BookView, MarketView, Params, PositionView, StrategyContext } from './strategy.ts'
import { FrozenBook, FrozenMarket } from './views.ts'

/** The parts of a run that a strategy's context reads and calls. */
export type ContextParts = {
  readonly clock: { readonly now: number }
  readonly markets: ReadonlyMap<string, MarketState>
  readonly references: Pick<References, 'find'>
  readonly own: readonly (RunMarket | undefined)[]
  readonly desk: Desk
  readonly orders: Orders
  readonly ledger: Ledger
  readonly hooks: StrategyHooks
  readonly random: Random
  readonly params: Params
}

/** Creates the context of a strategy: frozen closures, through which the engine cannot be reached. */
export function createContext(parts: ContextParts): StrategyContext {
  const { clock, desk, orders, ledger, hooks, random } = parts
  return Object.freeze({
    get now() {
      return clock.now
    },
    params: Object.freeze({ ...parts.params }),
    order: (request) => desk.send(request),
    buy: (request) => desk.send({ ...request, side: 'buy' }),
    sell: (request) => desk.send({ ...request, side: 'sell' }),
    cancel: (id) => desk.cancel(id),
    cancelAll(market) {
      for (const { id } of orders.list(market)) desk.cancel(id)
    },
    replace: (id, change) => desk.replace(id, change),
    merge: (market, size) => desk.merge(market, size),
    split: (market, size) => desk.split(market, size),
    timerAt: (at, tag = '') => desk.timer(at, tag),
    timerIn: (micros, tag = '') => desk.timer(clock.now + micros, tag),
    forecast: (market, chance, outcome) => desk.forecast(market, chance, outcome),
    ...createViews(parts),
    reference: (asset, feed) => parts.references.find(asset, feed),
    cash: (venue: VenueId) => ledger.accounts[venue].free / MONEY_ONE,
    orders: (market) => Object.freeze(orders.list(market).map((order) => order.view())),
    random: () => random.float(),
    log: (text) => hooks.log(text),
  } satisfies StrategyContext)
}

// Views of books and markets are created once and always show the present.
function createViews({
  markets,
  own,
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
    position(id): PositionView {
      const state = markets.get(id)
      const position = state === undefined ? undefined : own[state.index]?.position
      if (state === undefined || position === undefined) {
        return Object.freeze({ market: id, shares: Object.freeze([0, 0]), cost: 0 })
      }
      const unit = POW10[VENUES[state.venue].sizeDecimals]!
      const { units, cost } = position
      return Object.freeze({
        market: id,
        shares: Object.freeze(units.map((each) => each / unit)),
        cost: (cost[0] + cost[1]) / MONEY_ONE,
      })
    },
  }
}
