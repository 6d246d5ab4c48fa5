import { POW10 } from '@priorbook/sdk/domain'
import { applyRow, Ladder, loadBase, type BookRun, type HeadColumns } from '@priorbook/sdk/tape'
import type { InstrumentRef, StoreReader } from '../store/store.ts'

const PAGE = 4096

/**
 * The first row in which two stores differ, as text, or undefined. Rows are compared one by one: how
 * they are cut into chunks and tails does not matter.
 */
export async function findDifferentRow(
  store: StoreReader,
  other: StoreReader,
  ref: InstrumentRef,
  metrics: readonly string[],
): Promise<string | undefined> {
  const found = await firstDifference(bookTexts(store, ref), bookTexts(other, ref))
  if (found !== undefined) return `book row ${found}`
  const trade = await firstDifference(tradeTexts(store, ref), tradeTexts(other, ref))
  if (trade !== undefined) return `trade ${trade}`
  for (const metric of metrics) {
    const texts = (side: StoreReader): AsyncGenerator<string> => sampleTexts(side, ref, metric)
    const sample = await firstDifference(texts(store), texts(other))
    if (sample !== undefined) return `${metric} sample ${sample}`
  }
  return undefined
}

async function firstDifference(
  ours: AsyncGenerator<string>,
  theirs: AsyncGenerator<string>,
): Promise<number | undefined> {
  for (let row = 1; ; row++) {
    const [a, b] = [await ours.next(), await theirs.next()]
    if (a.done === true && b.done === true) return undefined
    if (a.value !== b.value) {
      await ours.return(undefined)
      await theirs.return(undefined)
      return row
    }
  }
}

async function* bookTexts(store: StoreReader, ref: InstrumentRef): AsyncGenerator<string> {
  for (let after = 0; ;) {
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
    const scale = POW10[4 - ladder.decimals]!
    const levels = ladder
      .keys()
      .map((key) => `${(key >>> 1) * scale}${(key & 1) === 0 ? 'b' : 'a'}${ladder.size[key]}`)
    yield `${firstSequence + row} ${headText(columns, row)} ${levels.join(' ')}`
  }
}

async function* tradeTexts(store: StoreReader, ref: InstrumentRef): AsyncGenerator<string> {
  for (let after = 0; ;) {
    const page = await store.trades({ ...ref, order: 'asc', limit: PAGE, after })
    const { rows } = page
    for (let row = 0; row < rows.count; row++) {
      const { tradeId, price, size, taker } = rows
      yield `${headText(rows, row)} ${tradeId[row]} ${price[row]} ${size[row]} ${taker[row]}`
    }
    if (!page.hasMore) return
    after = page.ordinals.at(-1)!
  }
}

async function* sampleTexts(
  store: StoreReader,
  ref: InstrumentRef,
  metric: string,
): AsyncGenerator<string> {
  for (let after = 0; ;) {
    const page = await store.samples({ ...ref, metric, order: 'asc', limit: PAGE, after })
    const { rows } = page
    for (let row = 0; row < rows.count; row++) yield `${headText(rows, row)} ${rows.value[row]}`
    if (!page.hasMore) return
    after = page.ordinals.at(-1)!
  }
}

function headText(columns: HeadColumns, row: number): string {
  const { received, source, venueSeq, channel, journal, flags } = columns
  return `${received[row]} ${source[row]} ${venueSeq[row]} ${channel[row]} ${journal[row]} ${flags[row]}`
}
