import { ONE } from '../../core/books.ts'
import type { Proposition } from '../../core/upstream.ts'
import type { TokenPlace } from './conditions.ts'
import { pricesOf } from './memory.ts'

/** Prices at which markets traded, for GET /prices-history. */
export interface PriceHistory {
  note(proposition: Proposition, price: number, at: number): void
  /** Points of one token, oldest first: the last price in each span of `fidelity` minutes. */
  read(place: TokenPlace, range: HistoryRange): readonly HistoryPoint[]
}

/** The range of a request in milliseconds, and minutes between its points. */
export type HistoryRange = {
  readonly fromMs: number
  readonly toMs: number
  readonly fidelity: number
}

/** Seconds and a price between 0 and 1. */
type HistoryPoint = { readonly t: number; readonly p: number }

type Traded = { readonly price: number; readonly at: number }

/** Max trades that are kept of each market. */
const KEPT = 20_000

const SPANS_MS: Readonly<Record<string, number>> = {
  '1h': 3_600_000,
  '6h': 21_600_000,
  '1d': 86_400_000,
  '1w': 604_800_000,
  '1m': 2_592_000_000,
  max: Infinity,
}

/** Creates an empty history. */
export function createPriceHistory(): PriceHistory {
  const kept = new Map<Proposition, Traded[]>()
  return {
    note(proposition, price, at) {
      const own = kept.get(proposition) ?? []
      own.push({ price, at })
      kept.set(proposition, own.length > 2 * KEPT ? own.slice(-KEPT) : own)
    },
    read({ condition, index }, { fromMs, toMs, fidelity }) {
      const { proposition } = condition
      const last = new Map<number, HistoryPoint>()
      const add = (price: number, at: number): void => {
        const p = (index === 0 ? price : ONE - price) / ONE
        last.set(Math.floor(at / (fidelity * 60_000)), { t: Math.floor(at / 1000), p })
      }
      for (const { price, at } of kept.get(proposition) ?? []) {
        if (at >= fromMs && at <= toMs) add(price, at)
      }
      if (last.size === 0 && toMs >= proposition.listTime) add(pricesOf(proposition)[0], toMs)
      return [...last.values()]
    },
  }
}

/** Reads the range of a query; undefined where it is not valid. */
export function parseHistoryRange(query: URLSearchParams, now: number): HistoryRange | undefined {
  const interval = query.get('interval')
  const fidelity = Number(query.get('fidelity') ?? 1)
  if (!(Number.isInteger(fidelity) && fidelity >= 1)) return undefined
  if (interval !== null) {
    const span = SPANS_MS[interval]
    return span === undefined ? undefined : { fromMs: now - span, toMs: now, fidelity }
  }
  const from = Number(query.get('startTs') ?? NaN)
  const to = Number(query.get('endTs') ?? Math.floor(now / 1000))
  return from <= to ? { fromMs: from * 1000, toMs: to * 1000, fidelity } : undefined
}
