import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { signedHeaders } from './venues/venueb/client.testing.ts'

// Run: npx node packages/emulator/src/breadth.bench.ts [RATE] [SECONDS]
// The emulator in a process of its own, with 20,000 + 10,000 markets; here 20 sockets of venue B with up to
// 2,000 tickers and 100 of venue C with 200 tokens, which only count what comes. Linux only.

const RATE = Number(process.argv[2] ?? 15_000)
const SECONDS = Number(process.argv[3] ?? 15)
const B_MARKETS = 20_000
const C_MARKETS = 10_000
const SOCKETS = { venueb: { count: 20, each: 2_000 }, venuec: { count: 100, each: 200 } } as const
const TICKS_PER_SECOND = 100

type Addresses = {
  readonly venueb: { rest: string; ws: string; keyId: string; privateKey: string }
  readonly venuec: { gamma: string; clob: string; ws: string }
}

const heard = { frames: 0, bytes: 0 }
const begun = performance.now()
const bin = join(import.meta.dirname, '../bin/priorbook-emulator.mjs')
const flags = ['--json', '--until-stdin-ends', '--venues', 'venueb,venuec']
flags.push('--breadth', `venueb:${B_MARKETS},venuec:${C_MARKETS}`, '--breadth-rate', String(RATE))
// The quotas are those of the venues: at speed 1 a list takes its time.
const child = spawn(process.execPath, [bin, ...flags], { stdio: ['pipe', 'pipe', 'inherit'] })
const line = await new Promise<string>((resolve) => {
  createInterface({ input: child.stdout }).once('line', resolve)
})
const addresses = JSON.parse(line) as Addresses
console.log(`started in ${((performance.now() - begun) / 1000).toFixed(1)} s, ${rss()} MB`)
console.log(`idle without clients: ${await share(5)} % of a core at ${RATE} orders per second`)
const tickers = await listTickers()
const tokens = await listTokens()
console.log(`${tickers.length} tickers and ${tokens.length} tokens listed, ${rss()} MB`)
const sockets = [...(await connectB(tickers)), ...(await connectC(tokens))]
await pause(5_000)
Object.assign(heard, { frames: 0, bytes: 0 })
const cpu = await share(SECONDS)
console.log(
  `${sockets.length} sockets: ${(heard.frames / SECONDS).toFixed(0)} frames and ` +
    `${(heard.bytes / SECONDS / 1e6).toFixed(1)} MB per second take ${cpu} % of a core, ${rss()} MB`,
)
for (const socket of sockets) socket.terminate()
child.stdin.end()

async function listTickers(): Promise<string[]> {
  const all: string[] = []
  for (let cursor = ''; ;) {
    const query = `status=open&limit=1000&mve_filter=exclude&cursor=${cursor}`
    const page = (await read(`${addresses.venueb.rest}/markets?${query}`)) as {
      cursor: string
      markets: { ticker: string }[]
    }
    all.push(...page.markets.map(({ ticker }) => ticker))
    cursor = page.cursor
    if (cursor === '') return all
    await pause(60)
  }
}

async function listTokens(): Promise<string[]> {
  const all: string[] = []
  for (let offset = 0; offset <= 10_000; offset += 100) {
    const url = `${addresses.venuec.gamma}/markets?limit=100&offset=${offset}`
    const page = (await read(url)) as { clobTokenIds: string }[]
    all.push(...page.flatMap(({ clobTokenIds }) => JSON.parse(clobTokenIds) as string[]))
    await pause(35)
  }
  return all
}

async function read(url: string): Promise<unknown> {
  const answer = await fetch(url)
  if (answer.status !== 200) throw new Error(`${answer.status} of ${url}`)
  return answer.json()
}

async function connectB(all: readonly string[]): Promise<WebSocket[]> {
  const { count, each } = SOCKETS.venueb
  return Promise.all(
    Array.from({ length: count }, (_, at) => {
      const from = Math.floor((at * all.length) / count)
      const own = all.slice(
        from,
        Math.min(from + each, Math.floor(((at + 1) * all.length) / count)),
      )
      const params = { channels: ['orderbook_delta', 'trade'], market_tickers: own }
      const headers = signedHeaders(addresses.venueb, '/trade-api/ws/v2')
      return open(addresses.venueb.ws, { id: 1, cmd: 'subscribe', params }, headers)
    }),
  )
}

async function connectC(all: readonly string[]): Promise<WebSocket[]> {
  const { count, each } = SOCKETS.venuec
  return Promise.all(
    Array.from({ length: count }, (_, at) => {
      const assets_ids = all.slice(at * each, (at + 1) * each)
      return open(addresses.venuec.ws, { assets_ids, type: 'market' }, {})
    }),
  )
}

async function open(
  url: string,
  first: object,
  headers: Record<string, string>,
): Promise<WebSocket> {
  const socket = new WebSocket(url, { headers, perMessageDeflate: false, maxPayload: 1 << 28 })
  await new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  socket.on('message', (data: Buffer) => {
    heard.frames++
    heard.bytes += data.length
  })
  socket.send(JSON.stringify(first))
  return socket
}

/** The part of one core that the emulator uses in the next seconds, in percent. */
async function share(seconds: number): Promise<string> {
  const ticks = (): number => {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return Number(fields[11]) + Number(fields[12])
  }
  const before = ticks()
  await pause(seconds * 1000)
  return ((100 * (ticks() - before)) / TICKS_PER_SECOND / seconds).toFixed(0)
}

function rss(): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024)
}
