import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { replay, urlSource, type Replay } from '@priorbook/sdk/replay'
import { createReplayPlatform, replayFiles } from '@priorbook/sdk/replay/node'
import { toDataFolder } from '../packages/service/src/lib/data-folder.ts'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import { quantile, rounded, rssMb } from './lib/measure.ts'
import { planSeed } from './lib/plan.ts'
import { withScratch } from './lib/scratch.ts'
import { prepareTape } from './lib/tape.ts'
import {
  loadTardisOrderBook,
  type TardisBookChange,
  type TardisOrderBook,
} from './peers/tardis/order-book.ts'

const SERVER = fileURLToPath(
  new URL('../packages/service/bin/priorbook-server.mjs', import.meta.url),
)
const IMPORT = fileURLToPath(new URL('./import-child.ts', import.meta.url))
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 7)
// NDJSON is 300 times longer than tape: some markets are enough.
const TEXT_ROWS = 300_000
const TARDIS_ROWS = 300_000

/**
 * `npm run bench -- replay`: from files or a server to best bid and ask of every observation, merged
 * over markets; beside it tardis-dev's OrderBook on the same events, which are already in memory for it.
 */
export function benchReplay(): Promise<Record<string, unknown>> {
  return withScratch(async (folder) => {
    const { folder: recordings, source } = prepareTape(folder, planSeed)
    const data = join(folder, 'data')
    run(IMPORT, [recordings, data])
    const markets = await marketsOf(data)
    const { key } = JSON.parse(
      run(SERVER, ['keys', 'create', '--plan', 'unlimited', '--data', data, '--json']),
    ) as { key: string }
    const server = await startServer(data)
    try {
      const addressOf = (market: string, format: string): string =>
        `${server.url}/v3/bulk?venue=venueb&market_id=${market}&format=${format}`
      const headers = { 'accept-encoding': 'identity' }
      const open = (markets: readonly Market[], format: string): Replay =>
        replay({
          platform: createReplayPlatform(),
          sources: markets.map(({ name }) => urlSource(addressOf(name, format), { key, headers })),
        })
      const files: string[] = []
      for (const { name } of markets) {
        const reply = await fetch(addressOf(name, 'tape'), {
          headers: { ...headers, authorization: `Bearer ${key}` },
        })
        const file = join(folder, `${name}.pbx`)
        writeFileSync(file, Buffer.from(await reply.arrayBuffer()))
        files.push(file)
      }
      const few = takeRows(markets, TEXT_ROWS)
      const local = await measure(() => replayFiles(files))
      const localMb = rssMb()
      const http = await measure(() => open(markets, 'tape'))
      const ndjson = await measure(() => open(few, 'ndjson'), Math.min(ROUNDS, 3))
      const tardis = await measureTardis(files)
      const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
      return {
        data: source,
        markets: markets.length,
        observations: local.observations,
        ndjson_observations: ndjson.observations,
        tape_bytes_per_observation: rounded(bytes / local.observations),
        replay_local_per_s: Math.round(local.perSecond),
        replay_http_per_s: Math.round(http.perSecond),
        replay_ndjson_per_s: Math.round(ndjson.perSecond),
        tardis_orderbook_per_s: tardis === undefined ? null : Math.round(tardis),
        replay_local_per_cpu_s: Math.round(local.perCpuSecond),
        replay_http_per_cpu_s: Math.round(http.perCpuSecond),
        replay_ndjson_per_cpu_s: Math.round(ndjson.perCpuSecond),
        local_rss_mb: rounded(localMb),
        rss_mb: rounded(rssMb()),
      }
    } finally {
      await server.stop()
    }
  })
}

type Market = { readonly name: string; readonly rows: number }

async function marketsOf(data: string): Promise<Market[]> {
  const store = openEmbeddedStore({ file: toDataFolder(data).tape, readOnly: true })
  const facts = await store.instruments()
  await store.close()
  return facts.map(({ instrument, lastSequence }) => ({
    name: instrument.market,
    rows: lastSequence,
  }))
}

function takeRows(markets: readonly Market[], rows: number): Market[] {
  const taken: Market[] = []
  let sum = 0
  for (const market of markets) {
    if (sum >= rows) break
    taken.push(market)
    sum += market.rows
  }
  return taken
}

// The first round warms up and is thrown away; the median of the others counts.
async function measure(
  create: () => Replay,
  rounds = ROUNDS,
): Promise<{ perSecond: number; perCpuSecond: number; observations: number }> {
  const rates: number[] = []
  const cpuRates: number[] = []
  let observations = 0
  let sum = 0
  for (let round = 0; round <= rounds; round++) {
    observations = 0
    const start = performance.now()
    const before = process.cpuUsage()
    for await (const batch of create()) {
      for (const event of batch) {
        if (event.kind !== 'book') continue
        observations++
        sum += event.ladder.bestBid + event.ladder.bestAsk
      }
    }
    if (round === 0) continue
    rates.push((observations * 1000) / (performance.now() - start))
    const { user, system } = process.cpuUsage(before)
    cpuRates.push((observations * 1e6) / (user + system))
  }
  if (sum === 0) throw new Error('nothing was replayed')
  return {
    perSecond: quantile(rates, 0.5),
    perCpuSecond: quantile(cpuRates, 0.5),
    observations,
  }
}

/** tardis-dev's OrderBook on the same changes in the same order, each a message in its own shape. */
async function measureTardis(files: readonly string[]): Promise<number | undefined> {
  const OrderBook = loadTardisOrderBook()
  if (OrderBook === undefined) return undefined
  const messages: TardisBookChange[] = []
  for await (const batch of replayFiles(files)) {
    for (const event of batch) {
      if (event.kind !== 'book' || messages.length >= TARDIS_ROWS) continue
      const { columns, row, ladder, instrument } = event
      const bids: { price: number; amount: number }[] = []
      const asks: { price: number; amount: number }[] = []
      const end = columns.changeEnd[row]!
      for (let index = columns.changeStart(row); index < end; index++) {
        const key = columns.key[index]!
        const level = { price: (key >> 1) / ladder.one, amount: columns.size[index]! / 100 }
        if ((key & 1) === 0) bids.push(level)
        else asks.push(level)
      }
      messages.push({
        type: 'book_change',
        symbol: instrument.key,
        exchange: instrument.venue,
        isSnapshot: (event.flags & 64) !== 0,
        bids,
        asks,
        timestamp: new Date(event.at / 1000),
        localTimestamp: new Date(event.at / 1000),
      })
    }
    if (messages.length >= TARDIS_ROWS) break
  }
  const rates: number[] = []
  let sum = 0
  for (let round = 0; round <= ROUNDS; round++) {
    const books = new Map<string, TardisOrderBook>()
    const start = performance.now()
    for (const message of messages) {
      let book = books.get(message.symbol)
      if (book === undefined) books.set(message.symbol, (book = new OrderBook()))
      book.update(message)
      sum += (book.bestBid()?.price ?? 0) + (book.bestAsk()?.price ?? 0)
    }
    if (round > 0) rates.push((messages.length * 1000) / (performance.now() - start))
  }
  if (sum === 0) throw new Error('nothing was folded')
  return quantile(rates, 0.5)
}

function run(script: string, args: readonly string[]): string {
  const { stdout, status } = spawnSync(process.execPath, [...process.execArgv, script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${script} failed`)
  return stdout
}

async function startServer(data: string): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const args = ['serve', '--data', data, '--upstream', 'none', '--role', 'api']
  const child: ChildProcess = spawn(
    process.execPath,
    [...process.execArgv, SERVER, ...args, '--port', '0', '--ops-port', '0', '--workers', '1'],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, PRIORBOOK_LOG_LEVEL: 'warn' } },
  )
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the server ended')))
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const found = /(http:\/\/\S+)\/docs/.exec(line)
      if (found !== null) resolve(found[1]!)
    })
  })
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
