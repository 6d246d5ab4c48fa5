import { instrumentName, type Gap } from '@priorbook/sdk/domain'
import { expect, test } from 'vitest'
import { ModelStore } from './store-model.testing.ts'
import { FULL, write, type Open } from './store-opened.testing.ts'
import { rowsOf } from './store-rows.testing.ts'
import { Script } from './store-script.testing.ts'
import type { AppendBatch, Changes, Follower, Store } from './store.ts'

/** What followers are told, and what they are not. */
export function followTests(open: Open): void {
  test('tell exactly what was committed, of this handle and of another, however it is packed', async () => {
    for (let seed = 71; seed < (FULL ? 91 : 73); seed++) {
      const { store, openReader } = await open()
      const script = new Script(seed)
      const model = new ModelStore(script.books)
      await write(store, model, script.take(5))
      const reader = await openReader()
      const followers = [await store.follow(), await reader.follow()]
      for (const follower of followers) expect(await follower.poll()).toBeUndefined()
      for (let round = 0; round < 12; round++) {
        const batches = script.take(script.whole(1, 4))
        const before = await revisionsOf(store)
        for (const batch of batches) {
          await write(store, model, [batch])
          // A look at something else in between takes the commit over, and must not swallow it.
          if (script.chance(0.3)) await reader.instruments()
        }
        // A revision that says nothing new is none.
        const after = await revisionsOf(store)
        const markets = [...after.keys()].filter((name) => after.get(name) !== before.get(name))
        const wanted = { ...namesOf(batches), markets: markets.sort() }
        for (const [index, follower] of followers.entries()) {
          const changes = await follower.poll()
          const told = changes === undefined ? NOTHING : toNames(changes)
          // Another process may find the log packed before it has looked at it, and says so.
          const missed = changes?.missed
          expect([told, missed]).toEqual(missed === 'behind' ? [told, missed] : [wanted, undefined])
          expect(index === 1 || missed === undefined).toBe(true)
        }
        if (script.chance(0.2)) await store.seal()
        for (const follower of followers) expect(await follower.poll()).toBeUndefined()
      }
      for (const follower of followers) follower.close()
      await write(store, model, script.take(1))
      expect(await followers[0]!.poll()).toBeUndefined()
    }
  })

  test('nothing is lost: rows after the last known ones, where a follower says so', async () => {
    const { store, openReader } = await open()
    const script = new Script(81)
    const model = new ModelStore(script.books)
    const reader = await openReader()
    const follower = await reader.follow()
    const known = new Map<string, number>()
    let behind = 0
    for (let round = 0; round < 40; round++) {
      await write(store, model, script.take(script.whole(1, 3)))
      // The log is gone before the follower has looked at it.
      if (round % 5 === 4) await store.seal()
      behind += await catchUp(reader, follower, known)
    }
    await catchUp(reader, follower, known)
    const all = await store.instruments()
    expect(all.length).toBeGreaterThan(3)
    for (const { instrument, lastSequence } of all) {
      expect(known.get(instrumentName(instrument))).toBe(lastSequence)
    }
    expect(behind).toBeGreaterThan(0)
  })
}

/** Takes over what a follower tells; 1 when it had to look at everything. */
async function catchUp(
  reader: Store,
  follower: Follower,
  known: Map<string, number>,
): Promise<number> {
  const changes = await follower.poll()
  if (changes === undefined) return 0
  const behind = changes.missed !== undefined
  const all = behind
    ? (await reader.instruments()).map(({ instrument }) => instrument)
    : changes.books
  for (const instrument of all) {
    const name = instrumentName(instrument)
    const after = known.get(name) ?? 0
    const { runs } = await reader.books({ ...instrument, order: 'asc', after, limit: 1_000_000 })
    const rows = rowsOf(runs)
    expect(rows.length > 0 || behind).toBe(true)
    for (const [index, row] of rows.entries()) expect(row.sequence).toBe(after + index + 1)
    known.set(name, after + rows.length)
  }
  return behind ? 1 : 0
}

async function revisionsOf(store: Store): Promise<Map<string, number>> {
  const { markets } = await store.markets({ limit: 1000 })
  return new Map(
    markets.map(({ record, revision }) => [`${record.venue}:${record.marketId}`, revision]),
  )
}

type Names = Readonly<Record<'books' | 'trades' | 'markets' | 'gaps', readonly string[]>>

const NOTHING: Names = { books: [], trades: [], markets: [], gaps: [] }

function toNames({ books, trades, markets, gaps }: Changes): Names {
  return {
    books: books.map(instrumentName).sort(),
    trades: trades.map(instrumentName).sort(),
    markets: markets.map(({ venue, marketId }) => `${venue}:${marketId}`).sort(),
    gaps: gaps.map(gapName).sort(),
  }
}

function namesOf(batches: readonly AppendBatch[]): Omit<Names, 'markets'> {
  const gaps = new Map<string, Gap>()
  for (const gap of batches.flatMap((batch) => batch.gaps ?? [])) gaps.set(placeOf(gap), gap)
  const unique = (names: readonly string[]): string[] => [...new Set(names)].sort()
  return {
    books: unique(
      batches.flatMap(({ observations = [] }) =>
        observations.map(({ instrument }) => instrumentName(instrument)),
      ),
    ),
    trades: unique(
      batches.flatMap(({ trades = [] }) =>
        trades.map(({ instrument }) => instrumentName(instrument)),
      ),
    ),
    gaps: [...gaps.values()].map(gapName).sort(),
  }
}

function placeOf(gap: Gap): string {
  return `${gap.venue}:${gap.key} ${gap.start} ${gap.afterSequence} ${gap.reason} ${gap.scope}`
}

function gapName(gap: Gap): string {
  return `${placeOf(gap)} until ${gap.end ?? 'now'}`
}
