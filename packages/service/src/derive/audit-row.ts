import { printScaled, VENUES, type AuditTarget, type Json } from '@priorbook/sdk/domain'
import {
  applyRows,
  Ladder,
  loadBase,
  SAMPLE_DECIMALS,
  TAKERS,
  type BookRun,
  type HeadColumns,
} from '@priorbook/sdk/tape'
import type { RowPage, StoreReader } from '../store/store.ts'

/** A stored row as the comparison needs it. */
export type StoredRow = {
  readonly received: number
  readonly journal: number
  /** The row as JSON, for display. */
  readonly shown: Json
} & (
  | {
      readonly kind: 'book'
      readonly after: Ladder
      /** The book before the row; absent where it is not stored or not needed. */
      readonly before?: Ladder
    }
  | {
      readonly kind: 'trade'
      readonly tradeId: string
      readonly price: number
      readonly size: number
      readonly taker: string | undefined
    }
  | { readonly kind: 'sample'; readonly value: string }
)

/** Reads one stored row by its number. */
export async function findStored(
  store: StoreReader,
  target: AuditTarget,
): Promise<StoredRow | undefined> {
  switch (target.kind) {
    case 'book':
      return findBook(store, target)
    case 'trade':
      return findTrade(store, target)
    case 'sample':
      return findSample(store, target)
  }
}

/** A book as JSON: price and size of every level, best first. */
export function showBook(ladder: Ladder, sizeDecimals: number): Json {
  const side = ({ price, size }: { price: number[]; size: number[] }): Json => ({
    price: price.map((ticks) => printScaled(ticks, ladder.decimals)),
    size: size.map((units) => printScaled(units, sizeDecimals)),
  })
  return { bids: side(ladder.bids()), asks: side(ladder.asks()) }
}

async function findBook(store: StoreReader, target: AuditTarget): Promise<StoredRow | undefined> {
  const { venue, key, sequence } = target
  const query = { venue, key, order: 'asc', numbers: true } as const
  const { runs } = await store.books({ ...query, after: sequence - 1, limit: 1 })
  const run = runs.find((one) => one.firstSequence + one.from === sequence)
  if (run === undefined) return undefined
  const { columns, from } = run
  const after = ladderAt(run, from + 1)
  let before: Ladder | undefined
  if (sequence > 1) {
    const page = await store.books({ ...query, after: sequence - 2, limit: 1 })
    const previous = page.runs.find((one) => one.firstSequence + one.from === sequence - 1)
    if (previous !== undefined) before = ladderAt(previous, previous.from + 1)
  }
  return {
    kind: 'book',
    received: columns.received[from]!,
    journal: columns.journal[from]!,
    shown: showBook(after, VENUES[venue].sizeDecimals),
    after,
    ...(before === undefined ? {} : { before }),
  }
}

function ladderAt({ columns }: BookRun, to: number): Ladder {
  const ladder = new Ladder(columns.priceDecimals)
  loadBase(ladder, columns)
  applyRows(ladder, columns, 0, to)
  return ladder
}

async function findTrade(store: StoreReader, target: AuditTarget): Promise<StoredRow | undefined> {
  const { venue, key, sequence } = target
  const page = await store.trades({ venue, key, order: 'asc', after: sequence - 1, limit: 1 })
  if (page.ordinals[0] !== sequence) return undefined
  const { rows } = page
  const { priceDecimals, sizeDecimals } = VENUES[venue]
  const [tradeId, price, size] = [rows.tradeId[0]!, rows.price[0]!, rows.size[0]!]
  const taker = TAKERS[rows.taker[0]!]
  const shown = {
    trade_id: tradeId,
    price: printScaled(price, priceDecimals),
    size: printScaled(size, sizeDecimals),
    taker_side: taker ?? null,
  }
  return { kind: 'trade', ...headOf(page), shown, tradeId, price, size, taker }
}

async function findSample(store: StoreReader, target: AuditTarget): Promise<StoredRow | undefined> {
  const { venue, key, sequence, metric = '' } = target
  const query = { venue, key, metric, order: 'asc', after: sequence - 1, limit: 1 } as const
  const page = await store.samples(query)
  if (page.ordinals[0] !== sequence) return undefined
  const value = printScaled(page.rows.value[0]!, SAMPLE_DECIMALS)
  return { kind: 'sample', ...headOf(page), shown: { [metric]: value }, value }
}

function headOf({ rows }: RowPage<HeadColumns>): { received: number; journal: number } {
  return { received: rows.received[0]!, journal: rows.journal[0]! }
}
