import { toOrderView, type EngineOrder } from './engine-order.ts'
import { known, NumberRows, WordTable } from './kept-rows.ts'
import type { MarketState } from './market-state.ts'
import type { OpenOrders } from './open-orders.ts'
import type { EndReason, OrderState, OrderView, TimeInForce } from './order.ts'

/** The first orders of a run, for the report: those that have ended as rows, of which views are made on reading. */
export class KeptOrders {
  private readonly limit: number
  private readonly open: Pick<OpenOrders, 'get'>
  private readonly rows = new NumberRows(13)
  private readonly markets: MarketState[] = []
  private readonly words = new WordTable<OrderState | EndReason | TimeInForce>()
  private readonly tags = new Map<number, string>()

  constructor(limit: number, open: Pick<OpenOrders, 'get'>) {
    this.limit = limit
    this.open = open
  }

  /** Keeps an order that is sent, if it is among the first ones. */
  add(order: EngineOrder): void {
    const { rows } = this
    if (rows.count === this.limit) return
    order.place = rows.count
    const first = rows.add()
    rows.values[first] = order.id
    // Not ended.
    rows.values[first + 1] = NaN
    this.markets[order.market.index] = order.market
    if (order.tag !== undefined) this.tags.set(order.id, order.tag)
  }

  /** Copies an order that has ended. */
  end(order: EngineOrder): void {
    if (order.place < 0) return
    const { rows, words } = this
    const { values } = rows
    const first = rows.first(order.place)
    values[first + 1] = words.numberOf(order.state)
    values[first + 2] = words.numberOf(order.reason)
    values[first + 3] = order.market.index
    values[first + 4] = order.outcome
    values[first + 5] = order.side === 'buy' ? 0 : 1
    values[first + 6] = order.price ?? NaN
    values[first + 7] = order.size
    values[first + 8] = order.filled
    values[first + 9] = order.money ?? NaN
    values[first + 10] = order.sentAt
    values[first + 11] = order.arrivedAt ?? NaN
    values[first + 12] = words.numberOf(order.timeInForce)
  }

  /** All kept orders, in the order of sending. */
  views(): OrderView[] {
    return Array.from({ length: this.rows.count }, (_, place) => this.view(place))
  }

  /** A kept order by its id. */
  find(id: number): OrderView | undefined {
    const { rows } = this
    for (let place = 0; place < rows.count; place++) {
      if (rows.values[rows.first(place)] === id) return this.view(place)
    }
    return undefined
  }

  private view(place: number): OrderView {
    const { rows, words } = this
    const { values } = rows
    const first = rows.first(place)
    const id = values[first]!
    const state = words.wordOf(values[first + 1]!)
    if (state === undefined) return this.open.get(id)!.view()
    return toOrderView({
      id,
      state: state as OrderState,
      reason: words.wordOf(values[first + 2]!) as EndReason | undefined,
      market: this.markets[values[first + 3]!]!,
      outcome: values[first + 4]!,
      side: values[first + 5] === 0 ? 'buy' : 'sell',
      price: known(values[first + 6]!),
      size: values[first + 7]!,
      filled: values[first + 8]!,
      money: known(values[first + 9]!),
      sentAt: values[first + 10]!,
      arrivedAt: known(values[first + 11]!),
      timeInForce: words.wordOf(values[first + 12]!) as TimeInForce,
      tag: this.tags.get(id),
    })
  }
}
