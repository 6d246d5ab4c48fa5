import { fork, spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import { familyRssMb, stopChild } from './lib/child.ts'
import { FED_MARKET, LiveFeed } from './lib/live-feed.ts'
import { withScratch } from './lib/scratch.ts'
import type { ReadersRequest } from './lib/socket-readers-child.ts'
import {
  monotonicMicros,
  type ReadersJob,
  type ReaderTimes,
  type StalledFate,
} from './lib/socket-readers.ts'

const SERVER = fileURLToPath(
  new URL('../packages/service/bin/priorbook-server.mjs', import.meta.url),
)
const READERS = fileURLToPath(new URL('./lib/socket-readers-child.ts', import.meta.url))
const BARE = fileURLToPath(new URL('./lib/bare-broadcast.ts', import.meta.url))
const SUBSCRIBERS = Number(process.env['BENCH_SUBSCRIBERS'] ?? 500)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 5)
const ROUNDS = 3
const PAIRS = 7
const STALLED_AMONG = 200
// Rows in one commit, and commits on their way: enough to keep the server busy all the time.
const ROWS = 20
const IN_FLIGHT = 3
// Rows a second while waiting times are measured: with 500 subscribers 25,000 messages a second.
const RATE = 50
const STALLED_RATE = 100
// What a stalled reader has missed before the others are measured: more than the 8 MB of its sockets.
const STALLED_ROWS = 6000
const EPOCH_OFFSET = Date.now() * 1000 - monotonicMicros()

/**
 * The live stream over loopback: rows are committed here, the server (one worker) follows the store,
 * readers on bare sockets are a process of their own. Beside it `ws` alone broadcasts the same bytes to
 * as many readers, in turns. Then how long a row takes from its received time to its readers, what a
 * reader that stops reading costs the others, and how fast all of it is replayed.
 */
export function benchLive(): Promise<Record<string, unknown>> {
  return withScratch(async (folder) => {
    const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
    const feed = await LiveFeed.begin(store, EPOCH_OFFSET)
    const key = await createKey(folder)
    const server = startServer(folder)
    const bare = fork(BARE)
    try {
      const [port, barePort] = await Promise.all([portOf(server), said(bare)])
      const at = { port, key }
      const fanOut = await measureFanOut(feed, at, bare, barePort as number)
      const idleRss = familyRssMb(server)
      const times: ReaderTimes[] = []
      for (let round = 0; round < ROUNDS; round++) {
        times.push(await measureTimes(feed, at, SUBSCRIBERS, RATE, 0))
      }
      const stalled = await measureStalled(feed, at)
      const replayed = await measureReplay(feed, at, 'full')
      const changes = await measureReplay(feed, at, 'changes')
      return {
        subscribers: SUBSCRIBERS,
        message_bytes: fanOut.bytes,
        delivered_per_s: Math.round(fanOut.delivered),
        bare_per_s: Math.round(fanOut.bare),
        fanout_ratio: round(fanOut.ratio),
        rows_per_s_timed: RATE,
        p50_ms: round(median(times.map(({ p50Ms }) => p50Ms))),
        p99_ms: round(median(times.map(({ p99Ms }) => p99Ms))),
        stalled_among: STALLED_AMONG,
        stalled_p50_ratio: round(stalled.p50Ratio),
        stalled_p99_ratio: round(stalled.p99Ratio),
        stalled_closed: stalled.fate?.isClosed ?? false,
        stalled_resyncs: stalled.fate?.resyncs ?? 0,
        replay_rows_per_s: Math.round(replayed),
        replay_changes_per_s: Math.round(changes),
        rss_mb: round(familyRssMb(server)),
        rss_after_fanout_mb: round(idleRss),
      }
    } finally {
      bare.kill()
      await stopChild(server)
      await store.close()
    }
  })
}

/** Where the server is, and a key for it. */
type Address = { readonly port: number; readonly key: string }

type FanOut = {
  readonly delivered: number
  readonly bare: number
  readonly ratio: number
  readonly bytes: number
}

/** Messages a second over all readers, in turns with the bare broadcast of the same bytes. */
async function measureFanOut(
  feed: LiveFeed,
  at: Address,
  bare: ChildProcess,
  barePort: number,
): Promise<FanOut> {
  const ours: number[] = []
  const theirs: number[] = []
  let bytes = 0
  for (let round = 0; round < ROUNDS; round++) {
    let sample = ''
    ours.push(
      await withReaders(subscribeJob(at, SUBSCRIBERS, 0), async (readers) => {
        const rate = await deliver(readers, () => feed.give(ROWS))
        sample = (await readers.ask({ do: 'sample' })) as string
        return rate
      }),
    )
    bytes = Buffer.byteLength(sample)
    bare.send({ payload: sample })
    theirs.push(
      await withReaders(bareJob(barePort), (readers) =>
        deliver(readers, () => {
          bare.send({ times: ROWS })
          return Promise.resolve()
        }),
      ),
    )
  }
  const ratios = ours.map((rate, index) => rate / theirs[index]!)
  return { delivered: median(ours), bare: median(theirs), ratio: median(ratios), bytes }
}

/** Keeps some commits on their way until the time is up; gives messages a second. */
async function deliver(readers: Readers, give: () => Promise<void>): Promise<number> {
  let given = 0
  let begun = 0
  let before = 0
  const warmUp = performance.now() + 1000
  for (let sent = 0; ; sent++) {
    await give()
    given++
    if (given > IN_FLIGHT) {
      await readers.ask({ do: 'reach', total: (given - IN_FLIGHT) * ROWS * SUBSCRIBERS })
    }
    if (begun === 0 && performance.now() > warmUp) {
      begun = performance.now()
      before = given - IN_FLIGHT
    }
    if (begun > 0 && performance.now() - begun > SECONDS * 1000) break
  }
  const passed = (performance.now() - begun) / 1000
  const delivered = (given - IN_FLIGHT - before) * ROWS * SUBSCRIBERS
  await readers.ask({ do: 'reach', total: given * ROWS * SUBSCRIBERS })
  return delivered / passed
}

/** How old rows are when they reach their readers, at a steady rate. */
function measureTimes(
  feed: LiveFeed,
  at: Address,
  count: number,
  rate: number,
  stalled: number,
): Promise<ReaderTimes & { readonly fate: StalledFate | undefined }> {
  return withReaders(subscribeJob(at, count, stalled), async (readers) => {
    let given = 0
    const catchUp = (onTheWay: number): Promise<unknown> =>
      readers.ask({ do: 'reach', total: (given - onTheWay) * (count - stalled) })
    // The sockets of a stalled reader are full before anything is measured; the same without one.
    const before = count === STALLED_AMONG ? STALLED_ROWS : ROWS * 10
    while (given < before) {
      await feed.give(ROWS)
      given += ROWS
      await catchUp(IN_FLIGHT * ROWS)
    }
    await catchUp(0)
    await readers.ask({ do: 'startTiming' })
    const begin = performance.now()
    for (let row = 0; row < rate * SECONDS; row++) {
      const wait = begin + (row * 1000) / rate - performance.now()
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      await feed.give(1)
      given++
    }
    await catchUp(0)
    const times = (await readers.ask({ do: 'stopTiming' })) as ReaderTimes
    if (stalled === 0) return { ...times, fate: undefined }
    const [fate] = (await readers.ask({ do: 'wakeStalled' })) as readonly StalledFate[]
    return { ...times, fate }
  })
}

type Stalled = {
  readonly p50Ratio: number
  readonly p99Ratio: number
  readonly fate: StalledFate | undefined
}

/** Pairs with and without a reader that stops, in turns, so that the machine's mood hits both. */
async function measureStalled(feed: LiveFeed, at: Address): Promise<Stalled> {
  const p50: number[] = []
  const p99: number[] = []
  let fate: StalledFate | undefined
  for (let pair = 0; pair < PAIRS; pair++) {
    const run = (stalled: number) => measureTimes(feed, at, STALLED_AMONG, STALLED_RATE, stalled)
    // Whoever comes second finds a warmer server: they take turns in that too.
    const first = await run(pair % 2)
    const second = await run(1 - (pair % 2))
    const [without, withOne] = pair % 2 === 0 ? [first, second] : [second, first]
    p50.push(withOne.p50Ms / without.p50Ms)
    p99.push(withOne.p99Ms / without.p99Ms)
    fate = withOne.fate
  }
  return { p50Ratio: median(p50), p99Ratio: median(p99), fate }
}

/** Rows a second of a replay of everything that was fed, as fast as one reader reads. */
async function measureReplay(
  feed: LiveFeed,
  at: Address,
  mode: 'full' | 'changes',
): Promise<number> {
  const replay = {
    op: 'replay',
    id: 'r',
    markets: [{ venue: 'venueb', market_id: FED_MARKET }],
    start_time: EPOCH_OFFSET,
    end_time: Date.now(),
    speed: 'max',
    datasets: ['books'],
    mode,
  }
  const job = { ...subscribeJob(at, 1, 0), first: [JSON.stringify(replay)] }
  const { readyText: _readyText, ...bare } = job
  return withReaders(bare, async (readers) => {
    const begin = performance.now()
    await readers.ask({ do: 'reach', total: feed.rows })
    return (feed.rows / (performance.now() - begin)) * 1000
  })
}

function subscribeJob({ port, key }: Address, count: number, stalled: number): ReadersJob {
  const subscribe = { op: 'subscribe', id: 's', venue: 'venueb', market_id: FED_MARKET }
  return {
    port,
    path: '/v3/stream',
    headers: { authorization: `Bearer ${key}` },
    count,
    first: [JSON.stringify({ ...subscribe, datasets: ['books'], time_format: 'epoch_us' })],
    readyText: '"type":"snapshots_done"',
    leastBytes: 300,
    stalled,
    epochOffset: EPOCH_OFFSET,
  }
}

function bareJob(port: number): ReadersJob {
  return {
    port,
    path: '/',
    headers: {},
    count: SUBSCRIBERS,
    first: [],
    leastBytes: 300,
    stalled: 0,
    epochOffset: EPOCH_OFFSET,
  }
}

type Readers = { ask(request: ReadersRequest): Promise<unknown> }

async function withReaders<T>(job: ReadersJob, work: (readers: Readers) => Promise<T>): Promise<T> {
  const child = fork(READERS)
  const readers: Readers = {
    ask(request) {
      child.send(request)
      return new Promise((resolve, reject) => {
        const onExit = (code: number | null): void =>
          reject(new Error(`readers ended with ${code}`))
        child.once('exit', onExit)
        child.once('message', (answer: { result?: unknown; error?: string }) => {
          child.off('exit', onExit)
          if (answer.error === undefined) resolve(answer.result)
          else reject(new Error(answer.error))
        })
      })
    },
  }
  try {
    await readers.ask({ do: 'open', job })
    return await work(readers)
  } finally {
    child.kill()
  }
}

function startServer(folder: string): ChildProcess {
  const args = ['serve', '--data', folder, '--upstream', 'none', '--role', 'api']
  const more = ['--port', '0', '--workers', '1', '--ops-port', '0']
  return start([...args, ...more])
}

async function createKey(folder: string): Promise<string> {
  const child = start(['keys', 'create', '--plan', 'unlimited', '--data', folder, '--json'])
  const line = await new Promise<string>((resolve) => {
    createInterface({ input: child.stdout! }).once('line', resolve)
  })
  return (JSON.parse(line) as { key: string }).key
}

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...process.execArgv, SERVER, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PRIORBOOK_LOG_LEVEL: 'warn' },
  })
}

// The port stands in the first address of the interface that the server prints.
function portOf(server: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
    createInterface({ input: server.stdout! }).on('line', (line) => {
      const port = /http:\/\/[^:]+:(\d+)\/(?:docs|v3)/.exec(line)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
  })
}

function said(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once('message', resolve))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
