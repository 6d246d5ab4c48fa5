import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openEmbeddedStore, type EmbeddedStore } from '../../store/embedded/open.ts'
import { createContext, open, Recorded } from '../replay/replay.testing.ts'
import { createBulkCaller } from './bulk.testing.ts'
import { MADE_START, makeMarket } from './generated-market.testing.ts'
import { readContainer } from './tape-container.ts'

const ROWS = 30_000
const KEPT = 20_000
const timeOf = (row: number): number => MADE_START + row * 20_000

/** A market of which retention can remove the first rows while they are read. */
async function start(): Promise<EmbeddedStore> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-removed-'))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  for (const batch of makeMarket(ROWS)) await store.append(batch)
  await store.seal()
  return store
}

type Line = { type?: string; sequence?: number; reason?: string; received_time?: number } & {
  readonly start_time?: number
  readonly end_time?: number
}

it('a download whose next rows are removed says so before the row that follows', async () => {
  const store = await start()
  const query = 'venue=venueb&market_id=KXMADE-1&day=2026-08-11&format=ndjson&time_format=epoch_us'
  const { body } = await createBulkCaller(store).open(query)
  const taken: Uint8Array[] = []
  for await (const piece of body) {
    if (taken.length === 0) await store.retain(timeOf(KEPT))
    taken.push(Buffer.from(piece))
  }
  const lines = Buffer.concat(taken)
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  const at = lines.findIndex(({ reason }) => reason === 'retention')
  const before = lines.slice(0, at).findLast(({ sequence }) => sequence !== undefined)!
  const after = lines.slice(at).find(({ sequence }) => sequence !== undefined)!
  expect(after.sequence! - before.sequence!).toBeGreaterThan(1000)
  expect(lines[at]).toMatchObject({ start_time: before.received_time })
  expect(lines[at]!.end_time).toBeGreaterThan(timeOf(KEPT - 2000))
  expect(lines[at]!.end_time).toBeLessThanOrEqual(after.received_time!)
  // All other rows are there, in order.
  const sequences = lines.flatMap(({ sequence }) => sequence ?? [])
  const jumps = sequences.filter((one, index) => one !== (sequences[index - 1] ?? 0) + 1)
  expect(jumps).toEqual([after.sequence])
  expect(sequences.at(-1)).toBe(ROWS)
})

it('a download as chunks says so too', async () => {
  const store = await start()
  const query = 'venue=venueb&market_id=KXMADE-1&day=2026-08-11&format=tape'
  let isFirst = true
  const removing: EmbeddedStore = {
    ...store,
    async *chunks(ref) {
      for await (const chunk of store.chunks(ref)) {
        yield chunk
        if (isFirst) await store.retain(timeOf(KEPT))
        isFirst = false
      }
    },
  }
  const frames = [...readContainer(await createBulkCaller(removing).bytes(query))]
  const gaps = frames
    .filter(({ kind }) => kind === 'gap')
    .map(({ payload }) => JSON.parse(Buffer.from(payload).toString()) as { reason: string })
  expect(gaps).toMatchObject([{ reason: 'retention' }])
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
