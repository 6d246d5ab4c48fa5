import { MONEY_ONE } from './money.ts'
import { POW10, VENUES, type VenueId } from '../domain/index.ts'
import type { CellDesk } from './cell-desk.ts'
import type { CellWorld } from './cell-options.ts'
import { outcomeIndex } from './engine-order.ts'
import type { Random } from './random.ts'
import type { BookView, MarketView, Params, PositionView, StrategyContext } from './strategy.ts'
import { FrozenBook, FrozenMarket } from './views.ts'

/** Builds what a strategy holds in its hands: closures over the engine, and nothing to reach it by. */
export function createContext(
  cell: CellDesk,
  random: Random,
  world: CellWorld,
  params: Params,
): StrategyContext {
  const books = new Map<string, BookView>()
  const markets = new Map<string, MarketView>()

  const marketView = (id: string): MarketView | undefined => {
    const known = markets.get(id)
    if (known !== undefined) return known
    const state = world.markets.get(id)
    if (state === undefined) return undefined
    const view = new FrozenMarket(state)
    markets.set(id, view)
    return view
  }

  return Object.freeze({
    get now() {
      return cell.now
    },
    params: Object.freeze({ ...params }),
    order: (request) => cell.send(request),
    buy: (request) => cell.send({ ...request, side: 'buy' }),
    sell: (request) => cell.send({ ...request, side: 'sell' }),
    cancel: (id) => cell.cancel(id),
    cancelAll(market) {
      for (const { id } of cell.openOrders(market)) cell.cancel(id)
    },
    replace: (id, change) => cell.replace(id, change),
    merge: (market, size) => cell.merge(market, size),
    split: (market, size) => cell.split(market, size),
    timerAt: (at, tag = '') => cell.timer(at, tag),
    timerIn: (micros, tag = '') => cell.timer(cell.now + micros, tag),
    forecast: (market, chance, outcome) => cell.forecast(market, chance, outcome),
    book(id, outcome) {
      const state = world.markets.get(id)
      const index = state === undefined ? undefined : outcomeIndex(state, outcome)
      if (state?.primary === undefined || index === undefined) return undefined
      const track = state.tracks.find((each) => each.outcome === index) ?? state.primary
      const name = `${index} ${track.key} ${id}`
      let view = books.get(name)
      if (view === undefined) {
        view = new FrozenBook(track, index, marketView(id)!)
        books.set(name, view)
      }
      return view
    },
    market: marketView,
    markets: () => Object.freeze([...world.markets.keys()].map((id) => marketView(id)!)),
    position(id): PositionView {
      const state = world.markets.get(id)
      const held = state === undefined ? undefined : cell.markets[state.index]
      if (state === undefined || held === undefined) {
        return Object.freeze({ market: id, shares: Object.freeze([0, 0]), cost: 0 })
      }
      const unit = POW10[VENUES[state.venue].sizeDecimals]!
      const { units, cost } = held.holding
      return Object.freeze({
        market: id,
        shares: Object.freeze(units.map((each) => each / unit)),
        cost: (cost[0]! + cost[1]!) / MONEY_ONE,
      })
    },
    cash: (venue: VenueId) => cell.accounts[venue].free / MONEY_ONE,
    orders: (market) => Object.freeze(cell.openOrders(market).map((order) => order.view())),
    random: () => random.float(),
    log: (text) => cell.log(text),
  } satisfies StrategyContext)
}
