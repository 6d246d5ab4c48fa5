import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { parseScaled, VENUES, type VenueId } from '@priorbook/sdk/domain'
import { urlSource, replay, type Replay } from '@priorbook/sdk/replay'
import { createReplayPlatform, replayFiles } from '@priorbook/sdk/replay/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lineOf } from '../../packages/sdk/src/replay/container.testing.ts'
import { createBulkCaller } from '../../packages/service/src/api/bulk/bulk.testing.ts'
import {
  openScriptedStore,
  type ScriptedStore,
} from '../../packages/service/src/api/bulk/scripted-store.testing.ts'
import { expectLines } from '../../packages/service/src/store/store-answers.testing.ts'

// Downloads of every dataset of every venue of a scripted store.
const DOWNLOADS = [
  'venue=venuea&asset=BTC&dataset=books',
  'venue=venueb&series=KXALL&dataset=books',
  'venue=venuec&asset=BTC&dataset=books',
  'venue=venueb&series=KXALL&dataset=trades',
  'venue=venuec&asset=BTC&dataset=trades',
  'venue=venuea&asset=BTC&dataset=samples&metric=chance',
  'venue=venuea&asset=BTC&dataset=samples&metric=price',
]

let scripted: ScriptedStore
let folder: string
const files: Record<'tape' | 'ndjson' | 'gzip' | 'zstd' | 'strings', string[]> = {
  tape: [],
  ndjson: [],
  gzip: [],
  zstd: [],
  strings: [],
}
const contents = new Map<string, Buffer>()

beforeAll(async () => {
  scripted = await openScriptedStore(5, 120)
  folder = mkdtempSync(join(tmpdir(), 'priorbook-sources-'))
  const caller = createBulkCaller(scripted.store)
  const range = `start_time=${rangeStart()}&end_time=${scripted.end}`
  for (const [index, query] of DOWNLOADS.entries()) {
    const save = (kind: keyof typeof files, name: string, bytes: Buffer): void => {
      const path = join(folder, name)
      writeFileSync(path, bytes)
      files[kind].push(path)
      contents.set(name, bytes)
    }
    save('tape', `${index}.pbx`, await caller.bytes(`${query}&${range}&format=tape`))
    const text = await caller.bytes(`${query}&${range}&format=ndjson`)
    save('ndjson', `${index}.ndjson`, text)
    save('gzip', `${index}.ndjson.gz`, gzipSync(text))
    save('zstd', `${index}.ndjson.zst`, zstdCompressSync(text))
    const style = 'number_format=string&time_format=epoch_us'
    const styled = await caller.bytes(`${query}&${range}&format=ndjson&${style}`)
    save('strings', `${index}.strings.ndjson`, styled)
  }
})

afterAll(async () => {
  await scripted.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The newest month of the script, which is longer than a download may be. */
function rangeStart(): number {
  return scripted.end - 31 * 86_400_000_000
}

async function linesOf(source: Replay): Promise<string[]> {
  const lines: string[] = []
  for await (const batch of source) {
    // Only tape files hold market records.
    for (const event of batch) if (event.kind !== 'market') lines.push(lineOf(event))
  }
  return lines
}

test('tape, NDJSON in every compression and number format, and downloads give the same events', async () => {
  const tape = await linesOf(replayFiles(files.tape))
  expect(tape.length).toBeGreaterThan(800)
  for (const kind of ['book', 'trade', 'sample', 'gap open', 'gap close']) {
    expect(tape.some((line) => line.includes(` ${kind} `))).toBe(true)
  }
  for (const kind of ['ndjson', 'gzip', 'zstd', 'strings'] as const) {
    expectLines(await linesOf(replayFiles(files[kind])), tape)
  }
  // Also in another order, and mixed.
  const mixed = files.tape.map((path, index) => (index % 2 === 0 ? path : files.gzip[index]!))
  expectLines(await linesOf(replayFiles(mixed.toReversed())), tape)
  const server = createServer((request, response) => {
    response.end(contents.get(request.url!.slice(1)))
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => {
    server.once('listening', resolve)
  })
  const { port } = server.address() as AddressInfo
  try {
    for (const ending of ['pbx', 'ndjson', 'ndjson.gz']) {
      const sources = DOWNLOADS.map((_, index) =>
        urlSource(`http://127.0.0.1:${port}/${index}.${ending}`),
      )
      expectLines(await linesOf(replay({ sources, platform: createReplayPlatform() })), tape)
    }
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('a download that is rejected, interrupted or aborted throws and emits nothing', async () => {
  const whole = contents.get('1.pbx')!
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    open.add(response)
    response.once('close', () => open.delete(response))
    if (request.url === '/none') {
      response.writeHead(404, { 'content-type': 'application/problem+json' })
      response.end('{"code":"unknown_market"}')
    } else {
      response.writeHead(200, { 'content-length': String(whole.length) })
      response.write(whole.subarray(0, whole.length >> 1))
      if (request.url === '/broken') setTimeout(() => response.destroy(), 20)
    }
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => {
    server.once('listening', resolve)
  })
  const { port } = server.address() as AddressInfo
  const stop = new AbortController()
  const ask = (path: string): Promise<string[]> => {
    const sources = [urlSource(`http://127.0.0.1:${port}${path}`)]
    const platform = createReplayPlatform()
    return linesOf(replay({ sources, platform, signal: stop.signal }))
  }
  try {
    await expect(ask('/none')).rejects.toThrow(/404 .*unknown_market/)
    await expect(ask('/broken')).rejects.toMatchObject({
      code: 'truncated_file',
      emitted: { events: 0 },
    })
    setTimeout(() => stop.abort(), 50)
    await expect(ask('/waiting')).rejects.toThrow(/abort/i)
    await expect.poll(() => open.size).toBe(0)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('the books equal those that were written, in order of time', async () => {
  const wanted = [...scripted.rows.entries()]
    .flatMap(([key, rows]) =>
      rows.map((row) => ({ ...row, key, venue: row.id.split(':')[0] as VenueId })),
    )
    .filter(({ received }) => received >= rangeStart())
    .sort(
      (a, b) =>
        a.received - b.received ||
        compare(a.venue, b.venue) ||
        compare(a.key, b.key) ||
        a.sequence - b.sequence,
    )
    .map(({ id, received, bids, asks, venue }) => {
      const { priceDecimals, sizeDecimals } = VENUES[venue]
      const side = ({ price, size }: typeof bids): string =>
        price
          .map(
            (each, index) =>
              `${parseScaled(each, priceDecimals)}x${parseScaled(size[index]!, sizeDecimals)}`,
          )
          .join(' ')
      return `${received} ${id} ${side(bids)} | ${side(asks)}`
    })
  const found: string[] = []
  for await (const event of replayFiles(files.tape.slice(0, 3)).events()) {
    if (event.kind !== 'book') continue
    const { venue, key } = event.instrument
    const { priceDecimals } = VENUES[venue]
    const scale = 10 ** (priceDecimals - event.ladder.decimals)
    const side = ({ price, size }: { price: number[]; size: number[] }): string =>
      price.map((ticks, index) => `${ticks * scale}x${size[index]}`).join(' ')
    const book = `${side(event.ladder.bids())} | ${side(event.ladder.asks())}`
    found.push(`${event.at} ${venue}:${key}:${event.sequence} ${book}`)
  }
  expect(found.length).toBeGreaterThan(500)
  expectLines(found, wanted)
})

test('NDJSON that is truncated or changed emits nothing', async () => {
  const whole = contents.get('1.ndjson')!
  const ends = [1, 20, 400, whole.length >> 1, whole.length - 40, whole.length - 1]
  for (const length of ends) {
    const path = join(folder, 'cut.ndjson')
    writeFileSync(path, whole.subarray(0, length))
    await expect(linesOf(replayFiles([path]))).rejects.toMatchObject({ emitted: { events: 0 } })
  }
  for (let at = 0; at < whole.length; at += Math.ceil(whole.length / 150)) {
    const changed = Buffer.from(whole)
    changed[at]! ^= 1
    const path = join(folder, 'changed.ndjson')
    writeFileSync(path, changed)
    await expect(linesOf(replayFiles([path]))).rejects.toHaveProperty('code')
  }
  const packed = contents.get('1.ndjson.zst')!
  const path = join(folder, 'cut.zst')
  writeFileSync(path, packed.subarray(0, packed.length - 9))
  await expect(linesOf(replayFiles([path]))).rejects.toMatchObject({ code: 'truncated_file' })
})

test('rows without ladders are rejected with the remedy', async () => {
  const caller = createBulkCaller(scripted.store)
  const query = `${DOWNLOADS[1]}&include_orderbook=false&start_time=${rangeStart()}&end_time=${scripted.end}`
  const path = join(folder, 'bare.ndjson')
  writeFileSync(path, await caller.bytes(`${query}&format=ndjson`))
  await expect(linesOf(replayFiles([path]))).rejects.toThrow(/include_orderbook=true/)
})

function compare(left: string, right: string): number {
  return left < right ? -1 : +(left > right)
}
