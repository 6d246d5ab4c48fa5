import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openEmbeddedStore, type EmbeddedStore } from '../../store/embedded/open.ts'
import { openChunk } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { createBatches, KEYS, readSeen } from '../books/books.testing.ts'
import { createContext, microsOf, open, Recorded } from '../replay/replay.testing.ts'
import { createBulkCaller } from './bulk.testing.ts'
import { MADE_START, makeMarket } from './generated-market.testing.ts'
import { readContainer } from './tape-container.ts'

const ROWS = 30_000
const KEPT = 20_000
const timeOf = (row: number): number => MADE_START + row * 20_000

function openTestStore(): EmbeddedStore {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-removed-'))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return store
}

/** A market of which retention can remove the first rows while they are read. */
async function start(): Promise<EmbeddedStore> {
  const store = openTestStore()
  for (const batch of makeMarket(ROWS)) await store.append(batch)
  await store.seal()
  return store
}

type Line = {
  readonly sequence?: number
  readonly token_id?: string | null
  readonly received_time: number
  readonly reason?: string
  readonly key: string
  readonly start_time: number
  readonly end_time: number
}

/** The lines of a download of books, of which rows are removed after its first piece. */
async function download(store: EmbeddedStore, query: string, before: number): Promise<Line[]> {
  const { body } = await createBulkCaller(store).open(
    `${query}&format=ndjson&time_format=epoch_us&include_orderbook=false`,
  )
  const taken: Uint8Array[] = []
  for await (const piece of body) {
    if (taken.length === 0) await store.retain(before)
    taken.push(Buffer.from(piece))
  }
  const lines = Buffer.concat(taken).toString().trim().split('\n')
  return lines.map((line) => JSON.parse(line) as Line)
}

/** What is wrong with the gaps of an instrument: each hole has one, between its rows; and how many holes it has. */
function judge(lines: readonly Line[], key: string, last: number) {
  let previous: Line | undefined
  let told: Line | undefined
  let holes = 0
  const wrong: string[] = []
  for (const line of lines) {
    const { sequence, reason } = line
    if (reason === 'retention' && line.key === key) {
      if (told !== undefined) wrong.push(`two gaps before the row after ${previous?.sequence}`)
      told = line
      holes++
    }
    if (sequence === undefined || (line.token_id ?? key) !== key) continue
    const isNext = sequence === (previous?.sequence ?? 0) + 1
    const isFitting =
      told === undefined ||
      (told.start_time === previous?.received_time && told.end_time <= line.received_time)
    if (isNext !== (told === undefined) || !isFitting) wrong.push(`before ${sequence}`)
    told = undefined
    previous = line
  }
  // Of a market that is over, retention may remove the last rows too.
  if ((previous?.sequence === last) !== (told === undefined)) wrong.push('at the end')
  return { wrong, holes }
}

it('a download whose next rows are removed says so before the row that follows', async () => {
  const query = 'venue=venueb&market_id=KXMADE-1&day=2026-08-11'
  const lines = await download(await start(), query, timeOf(KEPT))
  expect(judge(lines, 'KXMADE-1', ROWS)).toEqual({ wrong: [], holes: 1 })
})

it('so does one of two books, each with gaps of its own', async () => {
  const store = openTestStore()
  await Promise.all(createBatches(43, 3000).batches.map((batch) => store.append(batch)))
  await store.seal()
  const seen = await readSeen(store, 'venuec')
  const lines = await download(
    store,
    'venue=venuec&market_id=0xc0ffee&start_time=2020-01-01&end_time=2027-01-01',
    seen[Math.floor(seen.length * 0.9)]!.received,
  )
  for (const key of KEYS.venuec) {
    const { lastSequence } = (await store.instrument({ venue: 'venuec', key }))!
    expect(judge(lines, key, lastSequence)).toEqual({ wrong: [], holes: 1 })
  }
})

it('a download as chunks says so too', async () => {
  const store = await start()
  const query = 'venue=venueb&market_id=KXMADE-1&day=2026-08-11&format=tape'
  let isFirst = true
  const removing: EmbeddedStore = {
    ...store,
    async *chunksOfRange(range) {
      for await (const chunk of store.chunksOfRange(range)) {
        yield chunk
        if (isFirst) await store.retain(timeOf(KEPT))
        isFirst = false
      }
    },
  }
  const frames = [...readContainer(await createBulkCaller(removing).bytes(query))]
  expect(frames.slice(0, 5).map(({ kind }) => kind)).toEqual([
    'header',
    'market',
    'chunk',
    'gap',
    'chunk',
  ])
  expect(frames.filter(({ kind }) => kind === 'gap')).toHaveLength(1)
  const gap = JSON.parse(Buffer.from(frames[3]!.payload).toString()) as Record<string, string>
  const [before, after] = [frames[2]!, frames[4]!].map(
    ({ payload }) => openChunk(payload, createNodePlatform()).header,
  )
  expect(gap['reason']).toBe('retention')
  expect(microsOf(gap['start_time'])).toBe(before!.lastReceived + 1)
  expect(microsOf(gap['end_time'])).toBeLessThanOrEqual(after!.firstReceived)
})

it('a download as chunks does not call removed what it holds', async () => {
  const store = await start()
  const query = 'venue=venueb&market_id=KXMADE-1&day=2026-08-11&format=tape'
  const removing: EmbeddedStore = {
    ...store,
    async *chunksOfRange(range) {
      yield* store.chunksOfRange(range)
      await store.retain(timeOf(KEPT))
    },
  }
  const frames = [...readContainer(await createBulkCaller(removing).bytes(query))]
  expect(frames.filter(({ kind }) => kind === 'gap')).toEqual([])
})

it('a replay whose next rows are removed says so before the row that follows', async () => {
  const store = await start()
  const out = new Recorded()
  let books = 0
  out.onMessage = ({ type }) => type !== 'update' || ++books !== 100
  const replay = await open(createContext(store), { markets: [{ venue: 'venueb' }] }, out)
  while (!out.isHeld) await new Promise((resolve) => setImmediate(resolve))
  await store.retain(timeOf(KEPT))
  out.drain()
  await replay.ended
  const told = out.of('snapshot', 'update', 'gap')
  const at = told.findIndex(({ gap }) => gap?.['reason'] === 'retention')
  const [before, after] = [told[at - 1]!, told.slice(at).find(({ type }) => type !== 'gap')!]
  expect(after.sequence! - before.sequence!).toBeGreaterThan(1000)
})

it('a replay says so too where rows were removed before it read the first of them', async () => {
  const store = await start()
  const out = new Recorded()
  const removing: EmbeddedStore = {
    ...store,
    books: async (asked) => {
      await store.retain(timeOf(KEPT))
      return store.books(asked)
    },
  }
  const replay = await open(createContext(removing), { markets: [{ venue: 'venueb' }] }, out)
  await replay.ended
  const told = out.of('snapshot', 'update', 'gap')
  const first = told.findIndex(({ type }) => type !== 'gap')
  expect(told[first]!.sequence).toBeGreaterThan(1000)
  const reasons = told.slice(0, first).map(({ gap }) => gap!['reason'])
  expect(reasons).toEqual(['retention', 'retention'])
})
