import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { callServer } from '../../packages/service/src/commands/call.testing.ts'

const BIN = join(import.meta.dirname, '../../packages/sdk/bin/priorbook.mjs')
// Clears the screen, sets the title of the window, turns the text around, and a control of one byte.
const HOSTILE = 'x\u001B[2J\u001B]0;owned\u0007\u202Egnp\u009B31mred\u001B[31m\u0000'
const OBEYED = /(?![\n\t])[\p{Cc}\u202A-\u202E]/u

async function call(...args: string[]): Promise<{ out: string; err: string }> {
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { out, err }
}

async function serveHostile(): Promise<string> {
  const market = {
    venue: 'venueb',
    market_id: HOSTILE,
    title: HOSTILE,
    status: 'open',
    outcomes: [],
    open_time: null,
    close_time: null,
  }
  const server = createServer((request, response) => {
    const isList = request.url!.startsWith('/v3/markets')
    const problem = { type: 'x', title: 'x', status: 404, code: 'unknown_market', detail: HOSTILE }
    const notice = { code: 'sample_data', message: HOSTILE }
    const meta = { count: 1, request_id: 'r', notice }
    const pagination = { next_cursor: null, has_more: false }
    response.writeHead(isList ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isList ? { data: [market], meta, pagination } : problem))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('text of a venue reaches the terminal as text: tables, notices and errors', async () => {
  const url = await serveHostile()
  const list = await call('markets', '--url', url, '--key', 'k')
  expect(list.out).toContain('owned')
  expect(list.err).toContain('owned')
  const refused = await call('book', 'venueb:X', '--url', url, '--key', 'k')
  expect(refused.err).toContain('owned')
  const own = await callServer('import', HOSTILE)
  const printed = [list.out, list.err, refused.out, refused.err, own.out]
  for (const one of printed) expect(one).not.toMatch(OBEYED)
})
