import { expect, it } from 'vitest'
import {
  after,
  createContractStore,
  MarketWriter,
  roundOfB,
} from '../contracts/contract-tape.testing.ts'
import { createTestServer } from '../server.testing.ts'
import { StreamClient, type AnyMessage } from './stream.testing.ts'

const B = roundOfB()
const MARKET = { venue: 'venueb', market_id: B.marketId } as const
const ASKS: [string, string][] = [['0.6', '1']]
// REST and mode `full` show the best 100 levels of venue B.
const DEEP = 150
const LEFT = 40

type Row = {
  readonly flags: readonly string[]
  readonly bids: { readonly price: number[]; readonly size: number[] }
  readonly changes: { readonly side: string[]; readonly price: number[]; readonly size: number[] }
}

/** Bids in tenths of a cent, of which the best `traded` are gone. */
function bidsWithout(traded: number): [string, string][] {
  const all = Array.from({ length: DEEP }, (_, index): [string, string] => [
    (0.4 - index / 1000).toFixed(3),
    String(index + 1),
  ])
  return all.slice(traded)
}

async function open() {
  const store = await createContractStore([{ record: B }])
  const test = await createTestServer({ store, now: () => after(120) })
  const { port } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const url = `ws://127.0.0.1:${port}/v3/stream`
  const client = await new StreamClient(url, { key: test.keyOf('unlimited') }).open()
  await client.next('welcome')
  return { client, writer: new MarketWriter(store, B) }
}

/** The prices of the bids that a client has after a snapshot and an update in mode `changes`. */
function folded(snapshot: AnyMessage, update: AnyMessage): number[] {
  const [whole, changed] = [snapshot.row, update.row] as unknown as [Row, Row]
  expect(whole.flags).not.toContain('truncated')
  const bids = new Map(whole.bids.price.map((price, index) => [price, whole.bids.size[index]!]))
  const { side, price, size } = changed.changes
  for (const [index, word] of side.entries()) {
    if (word !== 'bid') continue
    if (size[index] === 0) bids.delete(price[index]!)
    else bids.set(price[index]!, size[index]!)
  }
  return [...bids.keys()]
}

const EXPECTED = bidsWithout(DEEP - LEFT).map(([price]) => Number(price))

it('starts live changes of a deep book from all of its levels', async () => {
  const { client, writer } = await open()
  await writer.book(1, bidsWithout(0), ASKS)
  client.send({ op: 'subscribe', id: 's', ...MARKET, mode: 'changes' })
  const snapshot = await client.next('snapshot')
  await writer.book(2, bidsWithout(DEEP - LEFT), ASKS)
  expect(folded(snapshot, await client.next('update'))).toEqual(EXPECTED)
})

it('starts replayed changes of a deep book from all of its levels', async () => {
  const { client, writer } = await open()
  await writer.book(1, bidsWithout(0), ASKS)
  await writer.book(2, bidsWithout(DEEP - LEFT), ASKS)
  const range = { start_time: String(after(0)), end_time: String(after(60)) }
  const request = { op: 'replay', id: 'r', markets: [MARKET], ...range, speed: 'max' }
  client.send({ ...request, mode: 'changes' })
  expect(folded(await client.next('snapshot'), await client.next('update'))).toEqual(EXPECTED)
})

it('cuts whole books of mode full at the limit of the venue', async () => {
  const { client, writer } = await open()
  await writer.book(1, bidsWithout(0), ASKS)
  client.send({ op: 'subscribe', id: 's', ...MARKET })
  const { row } = (await client.next('snapshot')) as unknown as { readonly row: Row }
  expect(row.bids.price).toHaveLength(100)
  expect(row.flags).toContain('truncated')
})
