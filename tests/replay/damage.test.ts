import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '@priorbook/sdk/client'
import { downloadSource, replay, replayMessages, type Replay } from '@priorbook/sdk/replay'
import { createReplayPlatform } from '@priorbook/sdk/replay/node'
import { expect, onTestFinished, test } from 'vitest'
import { createBatches, KEYS, PATHS } from '../../packages/service/src/api/books/books.testing.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'
import { Scrubber } from '../../packages/service/src/retention/scrubber.ts'
import type { EmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import {
  createTapeFolder,
  type TapeFolder,
} from '../../packages/service/src/store/embedded/tape-folder.testing.ts'

const key = KEYS.venuec[0]!
const MARKET = '0xc0ffee'
const SILENT = { info: () => undefined, warn: () => undefined }
const PATIENCE_MS = 10_000

type Chunk = { readonly body: number; readonly first: number; readonly last: number }
type Bounds = readonly [start: number, end: number | null]

/** A tape with chunks, closed. */
async function makeTape(): Promise<TapeFolder> {
  const folder = createTapeFolder()
  const writer = folder.open()
  const { batches } = createBatches(91, 400)
  await Promise.all(batches.map((batch) => writer.append(batch)))
  await writer.seal()
  await writer.close()
  return folder
}

/** A chunk of the book that is neither its first nor its last. */
function chunkOf(folder: TapeFolder): Chunk {
  const [chunk] = folder.sql(
    `SELECT chunk.body AS body, chunk.first AS first, chunk.last_received AS last FROM chunk
     JOIN stream ON stream.id = chunk.stream
     WHERE stream.key = ? AND stream.kind = 0 AND chunk.first > 1 AND chunk.count > 20 LIMIT 1`,
    key,
  )
  return chunk as Chunk
}

function damage(folder: TapeFolder, { body }: Chunk): Uint8Array {
  const [{ bytes }] = folder.sql('SELECT bytes FROM body WHERE id = ?', body) as [
    { bytes: Uint8Array },
  ]
  folder.sql('UPDATE body SET bytes = zeroblob(length(bytes)) WHERE id = ?', body)
  return bytes
}

function scrub(scrubber: Scrubber): void {
  const stop = new AbortController()
  const running = scrubber.run(stop.signal, SILENT)
  onTestFinished(async () => {
    stop.abort()
    await running
  })
}

async function serve(store: EmbeddedStore) {
  const { server, keyOf } = await createTestServer({ store })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const authorization = `Bearer ${keyOf('unlimited')}`
  type Answer = { data: Record<string, unknown>[]; meta: { gaps?: Record<string, unknown>[] } }
  const ask = async (path: string): Promise<Answer> => {
    const answer = await fetch(`${url}${path}&time_format=epoch_us`, { headers: { authorization } })
    return (await answer.json()) as Answer
  }
  return { ask, client: createClient({ url, key: authorization.slice('Bearer '.length) }) }
}

const boundsOf = (gaps: readonly Record<string, unknown>[] = []): Bounds[] =>
  gaps
    .filter(({ reason }) => reason === 'corrupt')
    .map(({ start_time: start, end_time: end }) => [start as number, end as number | null])

async function replayed(source: Replay): Promise<Bounds[]> {
  const found: Bounds[] = []
  for await (const batch of source) {
    for (const event of batch) {
      if (event.kind !== 'gap' || event.edge !== 'close') continue
      if (event.gap.reason !== 'corrupt') continue
      found.push([event.gap.start, event.gap.end ?? null])
    }
  }
  return found
}

async function untilListed(
  ask: Awaited<ReturnType<typeof serve>>['ask'],
  count: number,
): Promise<Bounds[]> {
  for (const end = performance.now() + PATIENCE_MS; ;) {
    const listed = boundsOf((await ask('/v3/gaps?reason=corrupt')).data)
    if (listed.length === count || performance.now() > end) return listed
    await pause(20)
  }
}

test('pages, lists of gaps, coverage and replay give a damaged chunk the same bounds', async () => {
  const folder = await makeTape()
  const chunk = chunkOf(folder)
  const bytes = damage(folder, chunk)
  const store = folder.open()
  const { ask, client } = await serve(store)
  scrub(new Scrubber(store, { stepMs: 1, roundMs: 20 }))
  const listed = await untilListed(ask, 1)
  expect(listed).toHaveLength(1)
  // The book is unknown until the next row that can be read.
  expect(listed[0]![1]).toBeGreaterThan(chunk.last)

  const ofMarket = await ask(`/v3/gaps?market=${MARKET}&reason=corrupt`)
  expect(boundsOf(ofMarket.data)).toEqual(listed)
  const coverage = await ask(`/v3/coverage?market=${MARKET}`)
  expect(coverage.data.flatMap(({ gaps }) => boundsOf(gaps as never))).toEqual(listed)
  const page = await ask(`${PATHS.venuec}/snapshots?limit=1000`)
  expect(boundsOf(page.meta.gaps)).toEqual(listed)
  const asOf = await ask(`${PATHS.venuec}/orderbook?token_id=${key}&at=${listed[0]![0] + 1}`)
  expect(boundsOf(asOf.meta.gaps)).toEqual(listed)
  const range = { start_time: listed[0]![0] - 86_400e6, end_time: listed[0]![1]! + 86_400e6 }
  const family = { venue: 'venuec', market_id: MARKET } as const
  const messages = client.socketReplay({ markets: [family], ...range, number_format: 'string' })
  expect(await replayed(replayMessages(messages))).toEqual(listed)
  const books = { ...family, ...range, dataset: 'books', format: 'tape' } as const
  const platform = createReplayPlatform()
  const sources = [downloadSource(client, books)]
  expect(await replayed(replay({ sources, platform }))).toEqual(listed)

  // When the chunk is whole again, the gap goes.
  folder.sql('UPDATE body SET bytes = ? WHERE id = ?', bytes, chunk.body)
  expect(await untilListed(ask, 0)).toEqual([])
})

test('damage that a reader meets is listed at once', async () => {
  const folder = await makeTape()
  let scrubber: Scrubber | undefined
  const store = folder.open({ onDamage: (ref) => scrubber!.ask(ref) })
  const { ask } = await serve(store)
  scrubber = new Scrubber(store, { stepMs: 1, roundMs: 3_600_000 })
  scrub(scrubber)
  await pause(300)
  expect(await untilListed(ask, 0)).toEqual([])
  damage(folder, chunkOf(folder))
  const page = await ask(`${PATHS.venuec}/snapshots?limit=1000`)
  expect(boundsOf(page.meta.gaps)).toHaveLength(1)
  expect(await untilListed(ask, 1)).toEqual(boundsOf(page.meta.gaps))
})
