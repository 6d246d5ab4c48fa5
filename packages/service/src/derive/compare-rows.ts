import { POW10, printScaled, VENUES, type AuditTarget, type Json } from '@priorbook/sdk/domain'
import {
  applyRow,
  applyRows,
  Ladder,
  loadBase,
  MAX_PRICE_DECIMALS,
  printSampleValue,
  TAKERS,
  type BookRun,
  type HeadColumns,
} from '@priorbook/sdk/tape'
import type { InstrumentRef, RowPage, StoreReader } from '../store/store.ts'

const PAGE = 4096

/**
 * The first row in which two stores differ, as text, or undefined. Rows are compared one by one: how
 * they are cut into chunks and tails does not matter. Where retention cut the first
 * store (`isCut`), only rows that it still has are compared.
 */
export async function findDifferentRow(
  store: StoreReader,
  other: StoreReader,
  ref: InstrumentRef,
  metrics: readonly string[],
  isCut: boolean,
): Promise<string | undefined> {
  const from = isCut ? await firstRows(store, ref) : undefined
  const before = from?.book ?? 0
  const found = await firstDifference(bookTexts(store, ref, before), bookTexts(other, ref, before))
  if (found !== undefined) return `book row ${before + found}`
  const past = from?.trade ?? 0
  const trade = await firstDifference(tradeTexts(store, ref, past), tradeTexts(other, ref, past))
  if (trade !== undefined) return `trade ${past + trade}`
  for (const metric of metrics) {
    const gone = isCut ? await firstSample(store, ref, metric) : 0
    const texts = (side: StoreReader): AsyncGenerator<string> =>
      sampleTexts(side, ref, metric, gone)
    const sample = await firstDifference(texts(store), texts(other))
    if (sample !== undefined) return `${metric} sample ${sample}`
  }
  return undefined
}

// The rows that retention removed: all before the first one, or every row.
async function firstRows(
  store: StoreReader,
  ref: InstrumentRef,
): Promise<{ readonly book: number; readonly trade: number }> {
  const facts = await store.instrument(ref)
  const { ordinals } = await store.trades({ ...ref, order: 'asc', limit: 1 })
  const isEmpty = facts === undefined || facts.firstSequence > facts.lastSequence
  const book = isEmpty ? ALL : facts.firstSequence - 1
  return { book, trade: ordinals[0] === undefined ? ALL : ordinals[0] - 1 }
}

async function firstSample(
  store: StoreReader,
  ref: InstrumentRef,
  metric: string,
): Promise<number> {
  const { ordinals } = await store.samples({ ...ref, metric, order: 'asc', limit: 1 })
  return ordinals[0] === undefined ? ALL : ordinals[0] - 1
}

const ALL = Number.MAX_SAFE_INTEGER - 1

async function firstDifference(
  ours: AsyncGenerator<string>,
  theirs: AsyncGenerator<string>,
): Promise<number | undefined> {
  for (let row = 1; ; row++) {
    const [a, b] = [await ours.next(), await theirs.next()]
    if (a.done === true && b.done === true) return undefined
    if (!isSame(a.value, b.value)) {
      await ours.return(undefined)
      await theirs.return(undefined)
      return row
    }
  }
}

// Rows of versions that did not keep what messages said are not told apart from those that do.
function isSame(a: string | undefined, b: string | undefined): boolean {
  if (a === b) return true
  const [own, said] = a?.split(SAID) ?? []
  const [other, saidThere] = b?.split(SAID) ?? []
  return own === other && (said === '' || saidThere === '')
}

// Before what the message of a trade said.
const SAID = '\n'

async function* bookTexts(
  store: StoreReader,
  ref: InstrumentRef,
  from: number,
): AsyncGenerator<string> {
  for (let after = from; ;) {
    const page = await store.books({ ...ref, order: 'asc', limit: PAGE, numbers: true, after })
    for (const gap of page.corrupt) yield `damaged after ${gap.afterSequence}`
    for (const run of page.runs) {
      yield* runTexts(run)
      after = run.firstSequence + run.to - 1
    }
    if (!page.hasMore) return
  }
}

function* runTexts({ columns, firstSequence, from, to }: BookRun): Generator<string> {
  const ladder = new Ladder()
  loadBase(ladder, columns)
  for (let row = 0; row < to; row++) {
    applyRow(ladder, columns, row)
    if (row < from) continue
    // Prices in the finest ticks: a chunk and a tail may hold the same book in different ones.
    const scale = POW10[MAX_PRICE_DECIMALS - ladder.decimals]!
    const levels = ladder
      .keys()
      .map((key) => `${(key >>> 1) * scale}${(key & 1) === 0 ? 'b' : 'a'}${ladder.sizeAt(key)}`)
    yield `${firstSequence + row} ${headText(columns, row)} ${levels.join(' ')}`
  }
}

async function* tradeTexts(
  store: StoreReader,
  ref: InstrumentRef,
  from: number,
): AsyncGenerator<string> {
  for (let after = from; ;) {
    const page = await store.trades({ ...ref, order: 'asc', limit: PAGE, after })
    const { rows } = page
    for (let row = 0; row < rows.count; row++) {
      const { tradeId, price, size, taker, native } = rows
      const values = [headText(rows, row), tradeId[row], price[row], size[row], taker[row]]
      yield `${values.join(' ')}${SAID}${native[row] ?? ''}`
    }
    if (!page.hasMore) return
    after = page.ordinals.at(-1)!
  }
}

async function* sampleTexts(
  store: StoreReader,
  ref: InstrumentRef,
  metric: string,
  from: number,
): AsyncGenerator<string> {
  for (let after = from; ;) {
    const page = await store.samples({ ...ref, metric, order: 'asc', limit: PAGE, after })
    const { rows } = page
    for (let row = 0; row < rows.count; row++) {
      yield `${headText(rows, row)} ${printSampleValue(rows, row)}`
    }
    if (!page.hasMore) return
    after = page.ordinals.at(-1)!
  }
}

function headText(columns: HeadColumns, row: number): string {
  const { received, source, venueSeq, channel, journal, flags } = columns
  return `${received[row]} ${source[row]} ${venueSeq[row]} ${channel[row]} ${journal[row]} ${flags[row]}`
}

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
      readonly native: string | undefined
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
  const native = rows.native[0]
  const shown = {
    trade_id: tradeId,
    price: printScaled(price, priceDecimals),
    size: printScaled(size, sizeDecimals),
    taker_side: taker ?? null,
    ...(native === undefined ? {} : { native: JSON.parse(native) as Json }),
  }
  return { kind: 'trade', ...headOf(page), shown, tradeId, price, size, taker, native }
}

async function findSample(store: StoreReader, target: AuditTarget): Promise<StoredRow | undefined> {
  const { venue, key, sequence, metric = '' } = target
  const query = { venue, key, metric, order: 'asc', after: sequence - 1, limit: 1 } as const
  const page = await store.samples(query)
  if (page.ordinals[0] !== sequence) return undefined
  const value = printSampleValue(page.rows, 0)
  return { kind: 'sample', ...headOf(page), shown: { [metric]: value }, value }
}

function headOf({ rows }: RowPage<HeadColumns>): { received: number; journal: number } {
  return { received: rows.received[0]!, journal: rows.journal[0]! }
}
