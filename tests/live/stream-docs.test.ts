import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { referenceInstrument, type Micros } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'
import { ModelStore } from '../../packages/service/src/store/store-model.testing.ts'
import { write } from '../../packages/service/src/store/store-opened.testing.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { Script } from '../../packages/service/src/store/store-script.testing.ts'

const FILE = join(import.meta.dirname, '../../docs/reference/stream.md')

it('the examples of the page run against a server', async () => {
  const script = new Script(21)
  const test = await createTestServer({ now: () => script.now as Micros })
  await write(test.store, new ModelStore(script.books), script.take(80))
  await writePrice(test.store, script.now as Micros)
  const { port } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const URL = `ws://127.0.0.1:${port}`
  const blocks = [...readFileSync(FILE, 'utf8').matchAll(/^```js\n([\s\S]*?)^```$/gm)]
  expect(blocks.length).toBe(5)
  const run = async (code: string): Promise<{ code: number | null; output: string }> => {
    const child = spawn(process.execPath, ['-e', code], {
      env: { URL, KEY: test.keyOf('unlimited') },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text: Buffer) => (output += text.toString()))
    }
    return new Promise((resolve) => child.on('close', (ended) => resolve({ code: ended, output })))
  }
  const [connect, subscribe, resume, reference, replay] = await Promise.all(
    blocks.map(([, code]) => run(code!)),
  )
  expect(connect).toEqual({ code: 0, output: 'welcome unlimited\n' })
  expect([subscribe!.code, subscribe!.output.trim().split('\n').length]).toEqual([0, 2])
  expect(resume).toEqual({ code: 0, output: '' })
  expect(reference).toEqual({ code: 0, output: 'reference/chainlink/BTC 64000.5\n' })
  expect([replay!.code, replay!.output]).toEqual([
    0,
    expect.stringMatching(/^[1-9]\d* [0-9a-f]{64}\n$/),
  ])
})

async function writePrice(store: Store, received: Micros): Promise<void> {
  const journal = (await store.appliedPosition('venuec')) + 1
  const instrument = referenceInstrument('venuec', { feed: 'chainlink', asset: 'BTC' })
  const sample = { kind: 'sample', instrument, metric: 'price', value: '64000.5' } as const
  await store.append({
    venue: 'venuec',
    position: journal,
    origin: 'emulator',
    recorder: 'r1',
    normalizer: 1,
    samples: [{ ...sample, received, journal }],
  })
}
