import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WINDOW_MS } from '../../packages/emulator/src/world/families.ts'
import { openAccess, type Access } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer, type ApiServer } from '../../packages/service/src/api/server.ts'
import { calmSpeed } from '../capture/emulated-speed.ts'
import { pause, start, type Running } from '../capture/harness.ts'
import { hasEnough } from './enough.ts'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'priorbook-browser-'))
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
)

let run: Running
let access: Access
let server: ApiServer
let pages: Server
let browser: ChildProcess | undefined
let origin: string
let page = ''
let report: (text: string) => void = () => {}

// What a page does with the built SDK: no bundler, no Node, the key as a subprotocol.
const program = (url: string, key: string): string => `
import { createClient, OrderBook } from '/sdk/lib/index.js'
const result = {}
try {
  const client = createClient({ url: '${url}', key: '${key}', number_format: 'string' })
  const open = (await client.markets({ venue: 'venueb', status: 'open' }).page()).data
  const rowsOf = ({ coverage }) => coverage?.observations ?? 0
  const [market] = open.sort((one, other) => rowsOf(other) - rowsOf(one))
  result.rows = (await client.market(market).snapshots({ limit: 20 }).toArray()).length
  result.error = await client.market({ venue: 'venueb', market_id: 'NONE' }).record().catch((e) => e.code)
  const books = new Map()
  let live = 0
  for await (const message of client.live({ venue: 'venueb', mode: 'changes' })) {
    if (message.type !== 'snapshot' && message.type !== 'update') continue
    const book = books.get(message.key) ?? new OrderBook('venueb')
    books.set(message.key, book)
    if (book.apply(message)) live++
    if (live >= 30) break
  }
  result.live = live
  result.stale = [...books.values()].filter((book) => book.isStale).length
  const end = Date.now()
  let state = ''
  const markets = [{ venue: 'venueb', market_id: market.market_id }]
  for await (const message of client.socketReplay({ markets, start_time: end - 60000, end_time: end })) {
    if (message.type === 'replay_state') state = message.state
  }
  result.replay = state
  let bytes = 0
  const file = await client.download({ venue: 'venueb', market_id: market.market_id, format: 'tape' })
  for await (const piece of file.body) bytes += piece.length
  result.bytes = bytes
} catch (error) {
  result.failed = String(error && error.stack)
}
await fetch('/report', { method: 'POST', body: JSON.stringify(result) })
`

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  execFileSync(process.execPath, [
    join(root, 'scripts/build-package.mjs'),
    'sdk',
    '--out',
    join(folder, 'sdk'),
  ])
  pages = createServer((request, response) => {
    const { url = '/' } = request
    if (url === '/report') {
      let body = ''
      request.on('data', (piece: Buffer) => (body += piece.toString()))
      request.on('end', () => {
        response.end()
        report(body)
      })
    } else if (url.startsWith('/sdk/')) {
      const file = join(folder, url)
      response.setHeader('content-type', 'text/javascript')
      response.end(existsSync(file) ? readFileSync(file) : '')
    } else if (url === '/page.js') {
      response.setHeader('content-type', 'text/javascript')
      response.end(page)
    } else {
      response.setHeader('content-type', 'text/html')
      response.end('<!doctype html><title>x</title><script type="module" src="/page.js"></script>')
    }
  })
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`
  run = await start({ seed: 9, speed: calmSpeed(10, Object.values(WINDOW_MS)) })
  const home = join(dirname(run.data.tape), 'access')
  mkdirSync(home)
  access = openAccess(home)
  server = createApiServer({ store: run.store, access, corsOrigin: origin })
  while (!(await hasEnough(run.store))) await pause(100)
}, 180_000)

afterAll(async () => {
  browser?.kill('SIGKILL')
  if (CHROMIUM !== undefined) {
    pages.closeAllConnections()
    pages.close()
    await server.close(500)
    access.close()
    await run.destroy()
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

describe('the SDK in a browser', () => {
  it.skipIf(CHROMIUM === undefined)(
    'walks, follows, replays and downloads',
    async () => {
      const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
      const { key } = access.keys.create({ plan: 'unlimited', name: 'page' })
      page = program(url, key)
      const told = new Promise<string>((resolve) => (report = resolve))
      browser = spawn(
        CHROMIUM!,
        [
          '--headless=new',
          '--no-sandbox',
          '--disable-gpu',
          '--disable-dev-shm-usage',
          '--no-first-run',
          `--user-data-dir=${join(folder, 'profile')}`,
          origin,
        ],
        { stdio: 'ignore' },
      )
      const result = JSON.parse(await told) as Record<string, unknown>
      expect(result).toEqual({
        rows: expect.any(Number),
        error: 'unknown_market',
        live: 30,
        stale: 0,
        replay: 'finished',
        bytes: expect.any(Number),
      })
      expect(result['rows']).toBeGreaterThan(10)
      expect(result['bytes']).toBeGreaterThan(1000)
    },
    180_000,
  )
})
