import {
  printScaled,
  type AuditTarget,
  type BookChange,
  type BookSnapshot,
  type Json,
  type Level,
  type TapeEvent,
  type VenueFacts,
} from '@priorbook/sdk/domain'
import { Ladder, levelKey } from '@priorbook/sdk/tape'
import { showBook, type StoredRow } from './audit-row.ts'

/** The row that a message yields now, and its differences from the stored one. */
export type Derived = { readonly shown: Json | undefined; readonly differences: readonly string[] }

/** Derives a row again from the events of its message. */
export function deriveRow(
  stored: StoredRow,
  target: AuditTarget,
  events: readonly TapeEvent[],
  facts: VenueFacts,
): Derived {
  const { key } = target
  switch (stored.kind) {
    case 'book': {
      const books = events.filter(
        (event) =>
          (event.kind === 'snapshot' || event.kind === 'change') && event.instrument.key === key,
      ) as (BookSnapshot | BookChange)[]
      return deriveBook(stored, books, facts)
    }
    case 'trade':
      return deriveTrade(stored, key, events, facts)
    case 'sample':
      return deriveSample(stored, target, events)
  }
}

const NOTHING: Derived = { shown: undefined, differences: ['the message gives no such row'] }

// Applies the message to the book before the row; a full book does not need one.
function deriveBook(
  stored: StoredRow & { kind: 'book' },
  events: readonly (BookSnapshot | BookChange)[],
  facts: VenueFacts,
): Derived {
  if (events.length === 0) return NOTHING
  const ladder = stored.before?.clone() ?? new Ladder(facts.priceDecimals)
  ladder.rescale(facts.priceDecimals)
  for (const event of events) {
    if (event.kind === 'snapshot') {
      ladder.clear()
      for (const side of ['bid', 'ask'] as const) {
        const levels: readonly Level[] = side === 'bid' ? event.bids : event.asks
        for (const { price, size } of levels) ladder.apply(levelKey(side, price), size)
      }
      continue
    }
    for (const { side, price, size } of event.changes) {
      const at = levelKey(side, price)
      ladder.apply(at, event.signed ? ladder.size[at]! + size : size)
    }
  }
  const wanted = stored.after.clone()
  wanted.rescale(facts.priceDecimals)
  return {
    shown: showBook(ladder, facts.sizeDecimals),
    differences: compareLadders(wanted, ladder, facts),
  }
}

function compareLadders(stored: Ladder, derived: Ladder, facts: VenueFacts): string[] {
  const keys = new Set([...stored.keys(), ...derived.keys()])
  const differences: string[] = []
  for (const key of keys) {
    const [own, other] = [stored.size[key]!, derived.size[key]!]
    if (own === other) continue
    const place = `${(key & 1) === 0 ? 'bid' : 'ask'} ${printScaled(key >> 1, facts.priceDecimals)}`
    const print = (size: number): string => printScaled(size, facts.sizeDecimals)
    differences.push(`${place}: stored ${print(own)}, derived ${print(other)}`)
  }
  return differences
}

function deriveTrade(
  stored: StoredRow & { kind: 'trade' },
  key: string,
  events: readonly TapeEvent[],
  facts: VenueFacts,
): Derived {
  const trade = events.find(
    (event) =>
      event.kind === 'trade' && event.instrument.key === key && event.tradeId === stored.tradeId,
  )
  if (trade?.kind !== 'trade') return NOTHING
  const shown = {
    trade_id: trade.tradeId,
    price: printScaled(trade.price, facts.priceDecimals),
    size: printScaled(trade.size, facts.sizeDecimals),
    taker_side: trade.taker ?? null,
  }
  return { shown, differences: compareFields(stored.shown, shown) }
}

function deriveSample(
  stored: StoredRow & { kind: 'sample' },
  { key, metric = '' }: AuditTarget,
  events: readonly TapeEvent[],
): Derived {
  const samples = events.filter(
    (event) => event.kind === 'sample' && event.instrument.key === key && event.metric === metric,
  )
  const sample = samples.at(-1)
  if (sample?.kind !== 'sample') return NOTHING
  const shown = { [metric]: sample.value }
  return { shown, differences: compareFields(stored.shown, shown) }
}

function compareFields(stored: Json, derived: Readonly<Record<string, Json>>): string[] {
  const own = stored as Readonly<Record<string, Json>>
  return Object.entries(derived).flatMap(([name, value]) =>
    own[name] === value
      ? []
      : [`${name}: stored ${JSON.stringify(own[name])}, derived ${JSON.stringify(value)}`],
  )
}
