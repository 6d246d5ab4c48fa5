import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parsePrice, parseSize, toMicros, VENUES } from '@priorbook/sdk/domain'
import {
  MADE_START,
  makeMarket,
} from '../../packages/service/src/api/bulk/generated-market.testing.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'

const ROOT = join(import.meta.dirname, '../..')

test('the examples of docs/guide/replay.md run and print what they promise', async () => {
  const { server, store, keyOf } = await createTestServer()
  for (const batch of makeMarket(3000)) await store.append(batch)
  const { priceDecimals, sizeDecimals } = VENUES.venueb
  const trade = {
    kind: 'trade',
    instrument: { venue: 'venueb', market: 'KXMADE-1', key: 'KXMADE-1' },
    tradeId: 't1',
    price: parsePrice('0.5', priceDecimals),
    size: parseSize('3', sizeDecimals),
    received: toMicros(MADE_START + 60_000_000),
    journal: 3001,
  } as const
  await store.append({
    venue: 'venueb',
    position: 3001,
    origin: 'emulator',
    recorder: 'r1',
    normalizer: 1,
    trades: [trade],
  })
  await store.seal()
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const key = keyOf('unlimited')
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-replay-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  mkdirSync(join(folder, 'bin'))
  symlinkSync(join(ROOT, 'packages/sdk/bin/priorbook.mjs'), join(folder, 'bin/priorbook'))
  const text = readFileSync(join(ROOT, 'docs/guide/replay.md'), 'utf8')
  const blocksOf = (language: string): string[] =>
    [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
      ([, block]) => block!,
    )
  const env = {
    PATH: [join(folder, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter),
    PRIORBOOK_URL: url,
    PRIORBOOK_KEY: key,
    URL: url,
    KEY: key,
    MARKET: 'KXMADE-1',
    START: new Date(MADE_START / 1000).toISOString(),
  }
  // The files that the examples read are made by the page itself.
  const [download = ''] = blocksOf('sh')
  await run('sh', ['-eu', '-c', download], folder, env)
  const blocks = blocksOf('ts')
  const printed: string[] = []
  for (const [index, block] of blocks.entries()) {
    const file = join(folder, `example-${index}.ts`)
    writeFileSync(file, block)
    printed.push(await run(process.execPath, ['--no-warnings', file], folder, env))
  }
  expect(printed[0]).toMatch(/^3000 books with a bid$/m)
  expect(printed[1]!.split('\n').filter((line) => line.startsWith('book'))).toHaveLength(50)
  expect(printed[2]).toContain('3000 observations of 1 instruments')
  expect(printed[3]).toMatch(/^50 \d+\n100 \d+$/m)
  expect(printed).toHaveLength(4)
})

async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string>,
): Promise<string> {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env } })
  let output = ''
  child.stdout.on('data', (part) => (output += String(part)))
  child.stderr.on('data', (part) => (output += String(part)))
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve)
  })
  expect([code, code === 0 ? '' : output]).toEqual([0, ''])
  return output
}
