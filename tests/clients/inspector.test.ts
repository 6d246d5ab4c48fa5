import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serveRound, ROUND } from '../mcp/served-round.ts'
import { install, type Installed } from './install.ts'

// The inspector of the Model Context Protocol, as a stranger would try our tools with it.
const PACKAGES = { pip: [], npm: ['@modelcontextprotocol/inspector@2.12.0'] }
const INSTALL_MS = 300_000
const LAUNCHER = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'
const BIN = join(import.meta.dirname, '../../packages/sdk/bin/priorbook.mjs')

let installed: Installed

beforeAll(async () => {
  installed = await install(PACKAGES)
}, INSTALL_MS)

afterAll(() => installed.remove())

async function inspect(target: readonly string[], ...args: readonly string[]) {
  return installed.run(process.execPath, [LAUNCHER, '--cli', ...target, ...args])
}

it('finds no fault with the schemas of the tools, over HTTP and over standard streams', async () => {
  const { url, keyOf } = await serveRound()
  const key = keyOf('unlimited')
  const http = [`${url}/mcp`, '--header', `Authorization: Bearer ${key}`]
  const stdio = ['-e', `PRIORBOOK_URL=${url}`, '-e', `PRIORBOOK_KEY=${key}`]
  const command = [process.execPath, BIN, 'mcp']
  for (const target of [http, [...stdio, ...command]]) {
    const { code, text } = await inspect(target, '--method', 'tools/list', '--strict')
    expect(text).toContain('"compare_venues"')
    expect(text).not.toMatch(/^(Warning|Error):/m)
    expect(code).toBe(0)
  }
})

it('calls a tool', async () => {
  const { url, keyOf } = await serveRound()
  const target = [`${url}/mcp`, '--header', `Authorization: Bearer ${keyOf('unlimited')}`]
  const { venue, market_id } = ROUND.b
  const values = [`venue=${venue}`, `market_id=${market_id}`, 'at=2026-11-17T17:30:35Z']
  const pairs = values.flatMap((value) => ['--tool-arg', value])
  const { code, text } = await inspect(
    target,
    '--method',
    'tools/call',
    '--tool-name',
    'book_at',
    ...pairs,
  )
  expect(code).toBe(0)
  expect(JSON.parse(text)).toMatchObject({
    structuredContent: { books: [], missing: 'The connection was lost.' },
  })
})
