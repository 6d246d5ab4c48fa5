import { describe, expect, it } from 'vitest'
import { ModelStore } from '../../store/store-model.testing.ts'
import { write } from '../../store/store-opened.testing.ts'
import { INSTRUMENTS, Script } from '../../store/store-script.testing.ts'
import { createTestServer, type TestServer } from '../server.testing.ts'
import type { ApiServerOptions } from '../server.ts'
import { StreamClient, type AnyMessage } from './stream.testing.ts'

type Listening = TestServer & {
  readonly script: Script
  readonly url: string
  /** Appends the next batches of the script. */
  add(batches: number): Promise<void>
}

async function start(
  options: Partial<ApiServerOptions> & { path?: string } = {},
): Promise<Listening> {
  const test = await createTestServer(options)
  const { port } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const script = new Script(5)
  const model = new ModelStore(script.books)
  return {
    ...test,
    script,
    url: `ws://127.0.0.1:${port}/v3/stream`,
    add: (batches) => write(test.store, model, script.take(batches)),
  }
}

const { venue, market } = INSTRUMENTS[1]!
const SUBSCRIBE = { op: 'subscribe', id: 's', venue, market_id: market } as const

/** What REST says of an instrument, rows after a sequence. */
async function rowsByRest(test: TestServer, key: string, after = 0): Promise<unknown[]> {
  const path = `/v3/venueb/${market}/snapshots?limit=1000&include_orderbook=true`
  const { data } = (await test.ask(path, { key })).json() as { data: { sequence: number }[] }
  return data.filter(({ sequence }) => sequence > after)
}

function bookRows(messages: readonly AnyMessage[]): unknown[] {
  return messages.flatMap((one) =>
    one.type === 'snapshot' || one.type === 'update' ? [one.row] : [],
  )
}

describe('a subscription', () => {
  it('begins with the present book, goes on with every row, and gaps and trades between', async () => {
    const test = await start()
    await test.add(20)
    const key = test.keyOf('quant')
    const client = await new StreamClient(test.url, { key }).open()
    expect(await client.next('welcome')).toMatchObject({ plan: 'quant', heartbeat_ms: 10_000 })
    client.send(SUBSCRIBE)
    expect(await client.next('subscribed')).toMatchObject({ id: 's', markets: 1, instruments: 1 })
    const first = await client.next('snapshot')
    await client.next('snapshots_done')
    for (let round = 0; round < 10; round++) await test.add(5)
    const wanted = await rowsByRest(test, key, (first['sequence'] as number) - 1)
    await client.until(() => bookRows(client.messages).length >= wanted.length)
    expect(bookRows(client.messages)).toEqual(wanted)
    const rows = client.messages.filter(({ type }) => type === 'update')
    for (const row of rows) expect(row['previous_sequence']).toBe((row['sequence'] as number) - 1)
  })
})
