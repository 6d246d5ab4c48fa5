import { POW10, printScaled, VENUES } from '../domain/index.ts'
import { bookFill, revenueOf } from './account.ts'
import { CellBase } from './cell-base.ts'
import { addChance, type CellMarket } from './cell-market.ts'
import type { Plan } from './cell-options.ts'
import type { EngineOrder } from './engine-order.ts'
import { charge } from './fees/index.ts'
import { EVIDENCE_CLASSES, type Evidence, type FillView } from './fill.ts'
import { PRICE_ONE, printMoney } from './money.ts'
import { MARKOUTS } from './tally.ts'

/** Books fills: money, positions, counts, and what the mid does after them. */
export abstract class CellFills extends CellBase {
  protected fillMaker(
    cell: CellMarket,
    order: EngineOrder,
    size: number,
    evidence: Evidence,
    rows: readonly string[],
  ): void {
    cell.isDirty = true
    this.step(order, { rule: evidence, ahead: order.ahead, size, price: order.price, rows })
    this.fill(cell, order, order.framePrice, size, 'maker', evidence, rows)
  }

  protected fill(
    cell: CellMarket,
    order: EngineOrder,
    framePrice: number,
    size: number,
    liquidity: 'taker' | 'maker',
    evidence: Evidence,
    rows: readonly string[],
  ): void {
    const { state, account, holding } = cell
    const { venue } = state
    const track = state.primary!
    const { outcome, side } = order
    const price = outcome === track.outcome ? framePrice : PRICE_ONE - framePrice
    const revenue = revenueOf(venue, side, price, size)
    const formula = this.feesOf(state)
    const fee = charge(formula, { venue, liquidity, side, price, size, revenue }, order.fee)
    this.release(cell, order)
    bookFill(account, holding, outcome, side, price, size, fee)
    if (order.money === undefined) order.remaining -= size
    order.filled += size
    if (liquidity === 'maker' && order.remaining > 0) this.reserve(cell, order, formula)
    this.noteCapital(cell)
    this.count(cell, order, { framePrice, price, size, liquidity, evidence, revenue, fee })
    const decimals = VENUES[venue].sizeDecimals
    const id = ++this.fillCount.value
    const view: FillView = Object.freeze({
      id,
      order: order.id,
      market: state.name,
      venue,
      outcome,
      side,
      liquidity,
      price,
      size: printScaled(size, decimals),
      fee: printMoney(fee.value),
      feeShares: printScaled(fee.shares, decimals),
      at: this.now,
      evidence,
      rows: Object.freeze([...rows]),
      bookAge: this.now - track.at,
      tag: order.tag,
    })
    if (this.fills.length < this.options.keep) this.fills.push(view)
    if (this.options.strategy.onFill !== undefined) {
      this.outbox.push(() => {
        this.call('onFill', (strategy) => strategy.onFill?.(view, this.context))
      })
    }
  }

  protected count(
    cell: CellMarket,
    order: EngineOrder,
    done: {
      readonly framePrice: number
      readonly price: number
      readonly size: number
      readonly liquidity: 'taker' | 'maker'
      readonly evidence: Evidence
      readonly revenue: number
      readonly fee: { readonly cash: number; readonly shares: number; readonly value: number }
    },
  ): void {
    const { tally } = this
    const { price, size, fee, revenue } = done
    const { side, outcome } = order
    const isTaker = done.liquidity === 'taker'
    const shares = size / POW10[VENUES[cell.state.venue].sizeDecimals]!
    if (order.filled === size) tally.touched++
    tally.got += shares
    tally.volume += Math.abs(revenue)
    const age = this.now - cell.state.primary!.at
    tally.bookAge += age
    tally.bookAgeMost = Math.max(tally.bookAgeMost, age)
    if (isTaker) {
      tally.takerFills++
      const sign = side === 'buy' ? 1 : -1
      const touch = side === 'buy' ? order.sentAsk : order.sentBid
      if (touch !== 0) {
        tally.takerShares += shares
        tally.slipTouch += sign * (price - touch) * shares
      }
      if (order.sentBid !== 0 && order.sentAsk !== 0) {
        tally.slipMidShares += shares
        tally.slipMid += sign * (price - (order.sentBid + order.sentAsk) / 2) * shares
      }
    } else tally.makerFills++
    if (cell.fills++ === 0) cell.firstFillAt = this.now
    const units = side === 'buy' ? size - fee.shares : -size
    const isNear = this.now - cell.gapEnd < this.options.nearGap
    cell.trimRecent(this.now - this.options.nearGap)
    const evidence = EVIDENCE_CLASSES.indexOf(done.evidence)
    cell.count(
      { at: this.now, evidence, cash: revenue - fee.cash, fees: fee.value, outcome, units },
      isNear,
    )
    // A sale is a purchase of the other outcome at what is left of 1.
    const bought = side === 'buy' ? outcome : 1 - outcome
    const chance = (side === 'buy' ? price : PRICE_ONE - price) / PRICE_ONE
    addChance(cell.entries[bought as 0 | 1], chance, shares)
    const gains = order.frameSide === 0 ? 1 : -1
    for (let horizon = 0; horizon < MARKOUTS.length; horizon++) {
      this.plan(this.now + MARKOUTS[horizon]!, {
        kind: 'markout',
        market: cell,
        isTaker,
        horizon,
        framePrice: done.framePrice,
        sign: gains,
        shares,
      })
    }
  }

  protected markout(plan: Plan & { readonly kind: 'markout' }): void {
    const { state } = plan.market
    const markout = this.tally.markouts[plan.isTaker ? 'taker' : 'maker'][plan.horizon]!
    const { ladder, factor } = state.primary!
    if (state.inGap || ladder.bestBid === 0 || ladder.bestAsk === ladder.one) {
      markout.missing++
      return
    }
    const mid = ((ladder.bestBid + ladder.bestAsk) * factor) / 2
    markout.fills++
    markout.shares += plan.shares
    markout.gain += plan.sign * (mid - plan.framePrice) * plan.shares
  }

  // Levels whose orders are filled or gone leave the map.
  protected settleLevels(cell: CellMarket): void {
    cell.isDirty = false
    let isChanged = false
    for (const [key, level] of cell.levels) {
      for (let index = level.orders.length - 1; index >= 0; index--) {
        const order = level.orders[index]!
        if (order.remaining > 0 && order.state === 'resting') continue
        level.orders.splice(index, 1)
        if (order.state === 'resting') this.done(cell, order)
      }
      if (level.orders.length === 0) {
        cell.levels.delete(key)
        isChanged = true
      }
    }
    if (isChanged) cell.noteBest()
    cell.noteBusy()
  }
}
