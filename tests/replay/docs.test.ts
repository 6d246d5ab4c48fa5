import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  MADE_START,
  makeMarket,
} from '../../packages/service/src/api/bulk/generated-market.testing.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'

const ROOT = join(import.meta.dirname, '../..')

test('the examples of docs/guide/replay.md run and print what they promise', async () => {
  const { server, store, keyOf } = await createTestServer()
  for (const batch of makeMarket(3000)) await store.append(batch)
  await store.seal()
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const key = keyOf('unlimited')
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-replay-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  mkdirSync(join(folder, 'downloads'))
  for (const dataset of ['books', 'trades']) {
    const query = `venue=venueb&market_id=KXMADE-1&dataset=${dataset}&format=tape`
    const range = `start_time=${MADE_START}&end_time=${MADE_START + 86_400_000_000}`
    const reply = await fetch(`${url}/v3/bulk?${query}&${range}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(reply.status).toBe(200)
    const bytes = Buffer.from(await reply.arrayBuffer())
    writeFileSync(join(folder, 'downloads', `${dataset}.pbx`), bytes)
  }
  const text = readFileSync(join(ROOT, 'docs/guide/replay.md'), 'utf8')
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block]) => block!)
  const printed: string[] = []
  for (const [index, block] of blocks.entries()) {
    const file = join(folder, `example-${index}.ts`)
    writeFileSync(file, block)
    printed.push(await run(file, folder, { URL: url, KEY: key, MARKET: 'KXMADE-1' }))
  }
  expect(printed[0]).toMatch(/^3000 books with a bid$/m)
  expect(printed[1]!.split('\n').filter((line) => line.startsWith('book'))).toHaveLength(50)
  expect(printed[2]).toContain('3000 observations of 1 instruments')
  expect(printed[3]).toMatch(/^50 \d+\n100 \d+$/m)
  expect(printed).toHaveLength(4)
})

async function run(file: string, cwd: string, env: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, ['--no-warnings', file], {
    cwd,
    env: { ...process.env, ...env },
  })
  let output = ''
  child.stdout.on('data', (part) => (output += String(part)))
  child.stderr.on('data', (part) => (output += String(part)))
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve)
  })
  expect([code, code === 0 ? '' : output]).toEqual([0, ''])
  return output
}
