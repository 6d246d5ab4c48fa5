import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  after,
  createContractStore,
  MarketWriter,
  roundOfB,
} from '../../packages/service/src/api/contracts/contract-tape.testing.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'
import { install, type Installed } from './install.ts'

const ROWS = 60
const SCRIPT = 'compressed_stream.py'
const B = roundOfB()

let installed: Installed

beforeAll(async () => {
  installed = await install({ pip: ['websockets==15.0.1'], npm: [] })
  copyFileSync(join(import.meta.dirname, SCRIPT), join(installed.folder, SCRIPT))
}, 180_000)

afterAll(() => installed.remove())

it('is read by the library websockets of Python, whatever compression it asks for', async () => {
  const store = await createContractStore([{ record: B }])
  const writer = new MarketWriter(store, B)
  const side = (best: number): [string, string][] =>
    Array.from({ length: 15 }, (_, index) => [(best + index / 100).toFixed(2), '7'])
  const bids = side(0.25).reverse()
  await writer.book(1, bids, side(0.5))
  const stream = { isCompressed: true }
  const test = await createTestServer({ store, now: () => after(120), stream })
  const { url } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const args = [
    SCRIPT,
    url.replace('http', 'ws'),
    test.keyOf('unlimited'),
    B.marketId,
    String(ROWS),
  ]
  const running = installed.run(installed.python('python'), args)
  const over = new AbortController()
  void running.then(() => over.abort())
  // Rows go on until all of its clients have enough.
  for (let row = 2; !over.signal.aborted; row++) {
    await writer.book(120 + row / 1000, bids, [['0.50', String(row)]])
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const { code, text } = await running
  expect([code, text.includes('Traceback')]).toEqual([0, false])
  const results = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { extensions?: string[]; rows?: string[] })
    .filter(({ rows }) => rows !== undefined)
  const [deflate] = ['permessage-deflate']
  expect(results.map(({ extensions }) => extensions)).toEqual([[], [deflate], [deflate], [deflate]])
  for (const { rows = [] } of results) {
    const sequences = rows.map((id) => Number(id.split(':').at(-1)))
    // Every row after the first one, in order.
    expect(sequences).toEqual(sequences.map((_, index) => sequences[0]! + index))
    expect(sequences).toHaveLength(ROWS)
  }
})
