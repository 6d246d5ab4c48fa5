import { expect, it } from 'vitest'
import type { ReplayMessage } from '../client/index.ts'
import { replayMessages, type ReplayEvent } from './index.ts'

async function eventsOf(price: unknown): Promise<ReplayEvent[]> {
  const row = {
    id: 'venuec:reference/chainlink/BTC/price:8',
    venue: 'venuec',
    feed: 'chainlink',
    asset: 'BTC',
    unit: 'USD',
    source_time: null,
    received_time: 1_790_000_000_000_000,
    sequence: 8,
    price,
    flags: [],
  }
  async function* messages(): AsyncGenerator<ReplayMessage> {
    const message = { type: 'reference', key: 'reference/chainlink/BTC', sequence: 8, row }
    yield message as unknown as ReplayMessage
  }
  const events: ReplayEvent[] = []
  for await (const event of replayMessages(messages()).events()) events.push(event)
  return events
}

it('gives a reference price with every digit', async () => {
  const price = '79697.500000000000000001'
  expect(await eventsOf(price)).toMatchObject([{ kind: 'reference', price }])
})

it.each([Number('79697.500000000000000001'), 4.3e-7, 64_000])(
  'refuses the reference price %d, whose digits a JSON number may have lost',
  async (price) => {
    await expect(eventsOf(price)).rejects.toMatchObject({ code: 'unrepresentable' })
  },
)
