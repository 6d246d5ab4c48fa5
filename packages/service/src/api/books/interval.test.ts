import { INTERVALS, type Interval } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import { type VenueId } from '@priorbook/sdk/domain'
import { createTapeFolder } from '../../store/embedded/tape-folder.testing.ts'
import { createTestCaller } from '../caller.testing.ts'
import { createBatches, joined, PATHS, readSeen, walk, type SeenRow } from './books.testing.ts'
import { BOOK_ROUTES } from '../routes/index.ts'
import { SCRIPTED_VENUES } from '../../store/store-script.testing.ts'

type Bucketed = {
  readonly sequence: number
  readonly token_id: string | null
  readonly bucket_start: number
  readonly bucket_end: number
  readonly age_ms: number
  readonly observations: number
  readonly changes: number
  readonly flags: readonly string[]
}

// The last row of every bucket, the plain way.
function sample(
  seen: readonly SeenRow[],
  interval: number,
  range: { readonly start: number; readonly end: number },
): object[] {
  const buckets = new Map<string, SeenRow[]>()
  for (const row of seen) {
    if (row.received < range.start || row.received >= range.end) continue
    const name = `${Math.floor(row.received / interval)}/${row.lane}`
    buckets.set(name, [...(buckets.get(name) ?? []), row])
  }
  return [...buckets.values()]
    .map((rows) => ({ rows, last: rows.at(-1)! }))
    .sort(
      ({ last: a }, { last: b }) =>
        a.received - b.received || a.sequence - b.sequence || a.lane - b.lane,
    )
    .map(({ rows, last }) => {
      const start = Math.floor(last.received / interval) * interval
      const isPartial = start < range.start || start + interval > range.end
      return {
        lane: last.lane,
        sequence: last.sequence,
        start,
        end: start + interval,
        age: (start + interval - last.received) / 1000,
        observations: rows.length,
        changes: rows.reduce((sum, { changes }) => sum + changes, 0),
        isPartial,
      }
    })
}

function toPlain(venue: VenueId, rows: readonly Bucketed[], tokens: readonly string[]): object[] {
  return rows.map((row) => ({
    lane: venue === 'venuec' ? tokens.indexOf(row.token_id!) : 0,
    sequence: row.sequence,
    start: row.bucket_start,
    end: row.bucket_end,
    age: row.age_ms,
    observations: row.observations,
    changes: row.changes,
    isPartial: row.flags.includes('partial'),
  }))
}

describe('an interval', () => {
  it.each(SCRIPTED_VENUES)('gives the last observation of every bucket of %s', async (venue) => {
    const store = createTapeFolder().open()
    const { batches } = createBatches(21, 260)
    await Promise.all(batches.slice(0, 150).map((batch) => store.append(batch)))
    await store.seal()
    await Promise.all(batches.slice(150).map((batch) => store.append(batch)))
    const api = createTestCaller(BOOK_ROUTES, { store })
    const seen = await readSeen(store, venue)
    const tokens = [
      '71321045679252212594626385532706912750',
      '52114319501245915516055106046884209969',
    ]
    const ranges = [
      { text: '', start: 0, end: Infinity },
      rangeOf(seen[10]!.received + 1, seen.at(-20)!.received - 1),
    ]
    for (const interval of Object.keys(INTERVALS) as Interval[]) {
      for (const { text, ...range } of ranges) {
        const expected = sample(seen, INTERVALS[interval], range)
        for (const order of ['asc', 'desc'] as const) {
          const url = `${PATHS[venue]}/snapshots?time_format=epoch_us&interval=${interval}&order=${order}${text}`
          for (const size of [37, 1000]) {
            const pages = await walk(api, url, [size])
            const rows = JSON.parse(`[${joined(pages)}]`) as Bucketed[]
            const told = toPlain(venue, rows, tokens)
            expect(order === 'asc' ? told : told.toReversed()).toEqual(expected)
          }
        }
      }
    }
  })

  it('flags a bucket that is still open', async () => {
    const store = createTapeFolder().open()
    const { batches } = createBatches(22, 60)
    await Promise.all(batches.map((batch) => store.append(batch)))
    const seen = await readSeen(store, 'venueb')
    const last = seen.at(-1)!.received
    const now = { at: last + 1 }
    const api = createTestCaller(BOOK_ROUTES, { store, now: () => now.at as never })
    const newest = async (): Promise<readonly string[]> => {
      const url = `${PATHS.venueb}/snapshots?interval=1h&order=desc&limit=1`
      const { body } = await api.get(url)
      return (body.data as Bucketed[])[0]!.flags
    }
    expect(await newest()).toContain('partial')
    now.at = (Math.floor(last / 3.6e9) + 2) * 3.6e9
    expect(await newest()).not.toContain('partial')
  })
})

function rangeOf(
  start: number,
  end: number,
): { readonly text: string; readonly start: number; readonly end: number } {
  return { text: `&start_time=${start}&end_time=${end}`, start, end }
}
