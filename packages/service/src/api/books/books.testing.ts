import type { VenueId } from '@priorbook/sdk/domain'
import { ABSENT, type BookRun } from '@priorbook/sdk/tape'
import { createBookRenderer, type BookPageOptions } from '@priorbook/sdk/wire'
import { interleaveRuns } from '../../../../sdk/src/wire/interleave.testing.ts'
import type { AppendBatch, Store } from '../../store/store.ts'
import {
  BEGIN,
  createRecord,
  INSTRUMENTS,
  Script,
  type ScriptedVenue,
} from '../../store/store-script.testing.ts'
import type { TestCaller } from '../caller.testing.ts'

/** The path of each market of the script. */
export const PATHS = {
  venuea: '/v3/venuea-prediction/5001',
  venueb: '/v3/venueb/KXBTC-26AUG05-T1.5',
  venuec: '/v3/btc/markets/0xc0ffee',
} as const satisfies Record<ScriptedVenue, string>

/** The instruments of each of these markets. */
export const KEYS: Readonly<Record<ScriptedVenue, readonly string[]>> = {
  venuea: ['5001'],
  venueb: ['KXBTC-26AUG05-T1.5'],
  venuec: ['71321045679252212594626385532706912750', '52114319501245915516055106046884209969'],
}

/** Batches with gaps, ties, clock steps and finer ticks; the first of each venue names its markets. */
export function createBatches(
  seed: number,
  count: number,
): { script: Script; batches: AppendBatch[] } {
  const script = new Script(seed)
  const named = new Set<VenueId>()
  const batches = script.take(count).map((batch) => {
    if (named.has(batch.venue)) return batch
    named.add(batch.venue)
    const markets = new Set(
      INSTRUMENTS.filter(({ venue }) => venue === batch.venue).map(({ market }) => market),
    )
    const revisions = [...markets].map((market) => ({
      kind: 'market' as const,
      received: BEGIN as never,
      journal: 1,
      record: createRecord({ venue: batch.venue, market }, '0'),
    }))
    return { ...batch, revisions: [...revisions, ...(batch.revisions ?? [])] }
  })
  return { script, batches }
}

/** The text of the rows of an envelope. */
export function rowsOf(text: string): string {
  return text.slice('{"data":['.length, text.indexOf('],"meta":{"count":'))
}

/** One page of a walk. */
export type WalkedPage = {
  readonly rows: string
  readonly ids: readonly string[]
  readonly gaps: readonly string[]
  readonly cursor: string | null
  readonly meta: Readonly<Record<string, unknown>>
}

/** Walks all pages; `sizes` gives the limit of each page in turn. */
export async function walk(
  api: TestCaller,
  url: string,
  sizes: readonly number[],
  options: { readonly cursor?: string; readonly between?: () => Promise<void> | void } = {},
): Promise<WalkedPage[]> {
  const pages: WalkedPage[] = []
  let cursor = options.cursor ?? null
  for (let index = 0; ; index++) {
    const more = cursor === null ? '' : `&cursor=${cursor}`
    const limit = sizes[index % sizes.length]!
    const { text, body } = await api.get(
      `${url}${url.includes('?') ? '&' : '?'}limit=${limit}${more}`,
    )
    const data = body.data as readonly { readonly id: string }[]
    if (data.length > limit) throw new Error(`a page of ${limit} has ${data.length} rows`)
    cursor = body.pagination.next_cursor
    const gaps = (body.meta['gaps'] as readonly object[]).map((gap) => JSON.stringify(gap))
    const ids = data.map(({ id }) => id)
    pages.push({ rows: rowsOf(text), ids, gaps, cursor, meta: body.meta })
    if (cursor === null) return pages
    await options.between?.()
  }
}

/** The rows of all pages as one text. */
export function joined(pages: readonly WalkedPage[]): string {
  return pages
    .map(({ rows }) => rows)
    .filter((rows) => rows !== '')
    .join(',')
}

/** All rows of a market's instruments in the order of pages, read and rendered at once. */
export async function readDirectly(
  store: Store,
  venue: ScriptedVenue,
  options: BookPageOptions,
  range: { readonly start?: number; readonly end?: number } = {},
): Promise<string> {
  const lists: (readonly BookRun[])[] = []
  for (const key of KEYS[venue]) {
    const query = { venue, key, order: 'asc', limit: 1_000_000, numbers: true, ...range } as const
    lists.push((await store.books(query)).runs)
  }
  return render([...interleaveRuns(lists)], venue, options)
}

/** A row as the tests see it. */
export type SeenRow = {
  readonly lane: number
  readonly sequence: number
  readonly received: number
  readonly source: number | undefined
  readonly changes: number
  readonly part: BookRun & { readonly lane: number }
}

/** Every row of a market's instruments, by (received time, sequence, instrument). */
export async function readSeen(store: Store, venue: ScriptedVenue): Promise<SeenRow[]> {
  const rows: SeenRow[] = []
  for (const [lane, key] of KEYS[venue].entries()) {
    const { runs } = await store.books({
      venue,
      key,
      order: 'asc',
      limit: 1_000_000,
      numbers: true,
    })
    for (const { columns, firstSequence, from, to } of runs) {
      for (let row = from; row < to; row++) {
        const source = columns.source[row]!
        rows.push({
          lane,
          sequence: firstSequence + row,
          received: columns.received[row]!,
          source: source === ABSENT ? undefined : source,
          changes: columns.changeEnd[row]! - columns.changeStart(row),
          part: { columns, firstSequence, from: row, to: row + 1, lane },
        })
      }
    }
  }
  return rows.sort((a, b) => a.received - b.received || a.sequence - b.sequence || a.lane - b.lane)
}

const renderer = createBookRenderer()

/** Parts of a market's instruments as the JSON text of rows. */
export function render(
  parts: readonly (BookRun & { readonly lane: number })[],
  venue: ScriptedVenue,
  options: BookPageOptions,
): string {
  const isC = venue === 'venuec'
  const outcomes = ['Yes', 'No']
  const tokens = KEYS.venuec
  const contexts = KEYS[venue].map((key, index) => ({
    venue,
    key,
    marketId: isC ? '0xc0ffee' : key,
    outcome: outcomes[index],
    tokenId: tokens[index],
  }))
  return Buffer.from(renderer.renderJsonRows(parts, contexts, options)).toString()
}
