import type { ReadRow } from '../../packages/service/src/api/bulk/read-back.testing.ts'
import type { BusyMarket } from './busy-market.ts'
import type { EmulatedApi } from './emulated-api.ts'

type Page = {
  readonly data: readonly JsonRow[]
  readonly pagination: { readonly next_cursor: string | null }
}
type JsonRow = Readonly<Record<string, unknown>>
type Ladder = { readonly price: unknown; readonly size: unknown }

/** Downloads by what they hold, with the pages that hold the same. */
export const DATASETS = [
  { venue: 'venuea', dataset: 'books', page: 'snapshots?include_orderbook=true&' },
  { venue: 'venueb', dataset: 'books', page: 'snapshots?include_orderbook=true&' },
  { venue: 'venuec', dataset: 'books', page: 'snapshots?include_orderbook=true&' },
  { venue: 'venueb', dataset: 'trades', page: 'trades?' },
  { venue: 'venuec', dataset: 'trades', page: 'trades?' },
  { venue: 'venuea', dataset: 'samples&metric=chance', page: 'timeseries?metric=chance&' },
] as const

/** A range that ends before the last row: nothing of it can change any more. */
export function rangeOf({ first, last }: BusyMarket): string {
  return `start_time=${first}&end_time=${last}`
}

/** The bytes of a download. */
export async function download(api: EmulatedApi, url: string): Promise<Uint8Array> {
  const { status, bytes } = await api.get(url)
  if (status !== 200) throw new Error(`${url}: ${Buffer.from(bytes).toString().slice(0, 300)}`)
  return bytes
}

/** All rows of a walk over pages, named as the columns of a file. */
export async function walk(api: EmulatedApi, url: string): Promise<ReadRow[]> {
  const rows: ReadRow[] = []
  const first = `${url}&limit=1000&number_format=string&time_format=epoch_us`
  for (let next = first; ;) {
    const { body } = await api.get(next)
    const { data, pagination } = body as Page
    rows.push(...data.map(flatten))
    if (pagination.next_cursor === null) return rows
    next = `${first}&cursor=${pagination.next_cursor}`
  }
}

/** Says where two lists part, or nothing. A column that no row of JSON has must be empty. */
export function differenceOf(file: readonly ReadRow[], pages: readonly ReadRow[]): string {
  if (file.length !== pages.length) return `${file.length} rows for ${pages.length}`
  for (const [index, row] of file.entries()) {
    const page = pages[index]!
    for (const name of new Set([...Object.keys(row), ...Object.keys(page)])) {
      const [left, right] = [row[name] ?? null, page[name] ?? null]
      if (JSON.stringify(left) !== JSON.stringify(right)) {
        return `${String(row['id'])} ${name}: ${JSON.stringify(left)} for ${JSON.stringify(right)}`
      }
    }
  }
  return ''
}

function flatten(row: JsonRow): ReadRow {
  const { native, flags, bids, asks, yes, no, ...rest } = row
  const said = native as Readonly<Record<string, unknown>> | undefined
  const flat: Record<string, unknown> = { ...rest, flags: (flags as string[]).join('|') }
  for (const [side, ladder] of Object.entries({ bids, asks, yes, no })) {
    if (ladder === undefined) continue
    const { price, size } = ladder as Ladder
    flat[`${side}_price`] = price
    flat[`${side}_size`] = size
  }
  for (const name of ['taker_side', 'sid', 'connection', 'seq']) {
    if (said?.[name] !== undefined) flat[`native_${name}`] = said[name]
  }
  // What the message of a trade said is one text.
  const { taker_side: taker, sid: _sid, connection: _connection, seq: _seq, ...words } = said ?? {}
  const isOwn = (taker ?? null) !== null && words['side'] === undefined
  const texts = isOwn ? { taker_side: taker, ...words } : words
  if (Object.keys(texts).length > 0) flat['native'] = JSON.stringify(texts)
  return flat
}
