import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, it, onTestFinished } from 'vitest'
import { ROUND, serveRound } from './served-round.ts'

const BIN = join(import.meta.dirname, '../../packages/sdk/bin/priorbook.mjs')
const SLOW_MS = 60_000

const STRATEGY = `export const strategy = () => ({
  name: 'one share',
  onStart() {
    this.done = false
  },
  onBook(book, { buy }) {
    if (this.done) return
    this.done = true
    buy({ market: book.market.id, outcome: 0, price: book.bestAsk, size: 1, timeInForce: 'IOC' })
  },
})
`

async function connect(folder: string) {
  const { url, keyOf } = await serveRound()
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'mcp'],
    cwd: folder,
    env: { ...process.env, PRIORBOOK_URL: url, PRIORBOOK_KEY: keyOf('unlimited') },
  })
  const client = new Client({ name: 'stdio', version: '1.0.0' })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return client
}

it(
  'offers the same tools over standard streams, and backtests of the files below the folder',
  async () => {
    const home = mkdtempSync(join(tmpdir(), 'priorbook-mcp-'))
    onTestFinished(() => rmSync(home, { recursive: true, force: true }))
    const folder = join(home, 'work')
    mkdirSync(folder)
    writeFileSync(join(folder, 'strategy.mjs'), STRATEGY)
    writeFileSync(join(home, 'outside.mjs'), STRATEGY)
    const client = await connect(folder)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('run_backtest')
    const book = await client.callTool({
      name: 'book_at',
      arguments: { ...ROUND.a, at: '2026-11-17T17:30:20Z' },
    })
    expect(book.structuredContent).toMatchObject({ books: [{ row_id: 'venuea:8691520:1' }] })
    const { venue, market_id } = ROUND.b
    const run = (strategy: string) =>
      client.callTool({
        name: 'run_backtest',
        arguments: { strategy, markets: `${venue}:${market_id}` },
      })
    const done = await run('strategy.mjs')
    expect(done.structuredContent).toMatchObject({ is_done: true })
    expect((done.structuredContent as { summary: string }).summary).toMatch(/orders +1 sent/)
    const outside = await run('../outside.mjs')
    expect(outside.structuredContent).toMatchObject({
      is_done: false,
      summary: expect.stringContaining('outside of the working folder'),
    })
    const missing = await run('nothing.mjs')
    expect(missing.structuredContent).toMatchObject({
      is_done: false,
      summary: expect.stringContaining('there is no file'),
    })
  },
  SLOW_MS,
)
