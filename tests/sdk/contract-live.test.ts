import { rmSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { createClient, OrderBook } from '../../packages/sdk/src/client/index.ts'
import {
  after,
  createContractStore,
  MarketWriter,
  ROUND_ID,
  roundOfA,
  roundOfB,
  roundOfC,
} from '../../packages/service/src/api/contracts/contract-tape.testing.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'
import { startCutProxy } from '../live/cut-proxy.ts'

async function serve() {
  const store = await createContractStore()
  const begun = performance.now()
  const now = () => after(120 + (performance.now() - begun) / 1000)
  const test = await createTestServer({ store, now })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  const { port } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const proxy = await startCutProxy(port)
  return { store, proxy, client: createClient({ url: proxy.url, key: test.keyOf('unlimited') }) }
}

it('the client follows a contract on all venues and misses no row where the connection is cut', async () => {
  const { store, proxy, client } = await serve()
  const writers = [roundOfA(), roundOfB(), roundOfC()].map((one) => new MarketWriter(store, one))
  const books = new Map<string, OrderBook>()
  const seen: string[] = []
  const retry = { baseDelayMs: 5, maxDelayMs: 20 }
  let cuts = 0
  let second = 120
  for await (const message of client.live({ contract_id: ROUND_ID, mode: 'changes' }, { retry })) {
    if (message.type === 'disconnected') {
      cuts++
      // Rows that are written while nobody listens.
      for (const [index, writer] of writers.entries()) {
        for (const size of ['7', '8']) {
          await writer.book(++second, [[`0.3${index}`, size]], [['0.7', String(cuts)]])
        }
      }
    }
    if (message.type === 'snapshots_done') {
      if (cuts === 3) break
      proxy.cut()
    }
    if (message.type === 'hole' || message.type === 'resync') throw new Error(message.type)
    if (message.type !== 'snapshot' && message.type !== 'update') continue
    seen.push(`${message.type} ${message.row.venue} ${message.sequence}`)
    const { key, row } = message
    const book = books.get(key) ?? new OrderBook(row.venue)
    books.set(key, book)
    expect(book.apply(message)).toBe(true)
  }
  const snapshots = seen.filter((line) => line.startsWith('snapshot'))
  expect(snapshots).toEqual(['snapshot venuea 1', 'snapshot venueb 3', 'snapshot venuec 2'])
  expect(new Set(seen).size).toBe(seen.length)
  expect(seen).toHaveLength(3 + 3 * writers.length * 2)
  expect([...books.values()].map(({ best }) => best)).toEqual(
    ['0.30', '0.31', '0.32'].map((price) => ({
      bid: { price: String(Number(price)), size: '8' },
      ask: { price: '0.7', size: '3' },
    })),
  )
})

it('the client says which contract is not known', async () => {
  const { client } = await serve()
  const live = client.live({ contract_id: 'btc-15m-up-down-20261117T180000Z' })
  const read = async (): Promise<void> => {
    for await (const message of live) expect(message.type).toBe('welcome')
  }
  await expect(read()).rejects.toMatchObject({
    name: 'PriorbookStreamError',
    reason: 'unknown_contract',
  })
})
