import { netPricesOf, scheduleOf, type FeeSchedule, type NetPrices } from '@priorbook/sdk/backtest'
import type { MarketRecord } from '@priorbook/sdk/domain'
import type { Notice } from '../route.ts'
import type { YesBook } from './member-book.ts'

/** The fees of a member at a time, and what prices are after them. */
export type MemberFees = { readonly schedule: FeeSchedule; readonly net: NetPrices }

/** The fees that takers pay in a market at a time, or why they are not known. */
export function feesOf(record: MarketRecord, at: number): MemberFees | { readonly reason: Notice } {
  const schedule = scheduleOf(record, at)
  if ('unknown' in schedule) {
    return { reason: { code: 'fees_unknown', message: `${capital(schedule.unknown)}.` } }
  }
  return { schedule, net: netPricesOf(record.venue, schedule.formula) }
}

/** The formula of a fee in words. */
export function describeFee({ formula }: FeeSchedule): string {
  const rate = (millionths: number): string => String(millionths / 1_000_000)
  switch (formula.kind) {
    case 'none':
      return 'no fee'
    case 'quadratic':
      return `${rate(formula.taker)} × C × p × (1 − p), rounded up to 0.0001, and the balance to the cent`
    case 'curve':
      return formula.exponent === 1
        ? `${rate(formula.rate)} × C × p × (1 − p)`
        : `${rate(formula.rate)} × C × (p × (1 − p))^${formula.exponent}`
    case 'shares':
      return `${formula.bps / 10_000} × C × min(p, 1 − p), of a purchase in shares`
  }
}

/** One level of one member, with what it costs or brings after the fee. */
export type NetLevel = {
  /** The place of the member. */
  readonly member: number
  /** In units of 10^−12. */
  readonly net: number
  /** In ticks and units of the venue. */
  readonly price: number
  readonly size: number
}

/** A book that takes part, with its fees. */
export type NetBook = { readonly member: number; readonly book: YesBook; readonly fees: MemberFees }

/** The asks of several books by what a share costs, or their bids by what it brings; best first. */
export function mergeSide(books: readonly NetBook[], side: 'buy' | 'sell'): NetLevel[] {
  const levels: NetLevel[] = []
  for (const { member, book, fees } of books) {
    const { price, size } = side === 'buy' ? book.asks : book.bids
    for (let at = 0; at < price.length; at++) {
      const ticks = price[at]!
      const net = side === 'buy' ? fees.net.buy(ticks) : fees.net.sell(ticks)
      levels.push({ member, net, price: ticks, size: size[at]! })
    }
  }
  const sign = side === 'buy' ? 1 : -1
  return levels.sort(
    (a, b) => sign * (a.net - b.net) || a.member - b.member || sign * (a.price - b.price),
  )
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}
