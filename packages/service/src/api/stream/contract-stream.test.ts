import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MarketRecord } from '@priorbook/sdk/domain'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  after,
  createContractStore,
  MarketWriter,
  ROUND_ID,
  roundOfA,
  roundOfB,
  roundOfC,
  THREE_ROUNDS,
} from '../contracts/contract-tape.testing.ts'
import { readOperatorFile } from '../contracts/operator-file.ts'
import { createTempFolder } from '../../store/embedded/temp-folder.testing.ts'
import type { ApiServerOptions } from '../server.ts'
import { createTestServer } from '../server.testing.ts'
import { StreamClient, type AnyMessage } from './stream.testing.ts'

async function serve(rounds = THREE_ROUNDS, options: Partial<ApiServerOptions> = {}) {
  const store = await createContractStore(rounds)
  const begun = performance.now()
  const now = () => after(120 + (performance.now() - begun) / 1000)
  const test = await createTestServer({ store, now, ...options })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  const { port } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const connect = async (plan = 'unlimited'): Promise<StreamClient> => {
    const url = `ws://127.0.0.1:${port}/v3/stream`
    const client = await new StreamClient(url, { key: test.keyOf(plan) }).open()
    await client.next('welcome')
    return client
  }
  const writerOf = (record: MarketRecord) => new MarketWriter(store, record)
  return { ...test, store, connect, writerOf }
}

const FOLLOW = { op: 'subscribe_contract', id: 'c', contract_id: ROUND_ID } as const

// Messages about rows and gaps, as text, in the order of each instrument or market.
function byInstrument(messages: readonly AnyMessage[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const message of messages) {
    const { type, key, gap, row } = message as unknown as {
      readonly type: string
      readonly key?: string
      readonly gap?: { readonly key: string }
      readonly row?: { readonly market_id: string }
    }
    if (!['snapshot', 'update', 'trade', 'market', 'gap'].includes(type)) continue
    const name = `${key ?? gap?.key ?? row?.market_id ?? ''} ${type === 'trade' ? 'trade' : ''}`
    found.set(name, [...(found.get(name) ?? []), JSON.stringify(message)])
  }
  return found
}

const count = (client: StreamClient, type: string): number =>
  client.messages.filter((message) => message.type === type).length

describe('a contract on the stream', () => {
  it('gives what subscriptions to every member give, byte for byte', async () => {
    const { connect, writerOf } = await serve()
    const [one, many] = [await connect(), await connect()]
    const style = { mode: 'changes', number_format: 'string' } as const
    one.send({ ...FOLLOW, ...style })
    for (const { venue, marketId } of [roundOfA(), roundOfB(), roundOfC()]) {
      many.send({ op: 'subscribe', id: venue, venue, market_id: marketId, ...style })
    }
    await one.until(() => count(one, 'snapshots_done') === 1)
    await many.until(() => count(many, 'snapshots_done') === 3)
    const [a, b, c] = [writerOf(roundOfA()), writerOf(roundOfB()), writerOf(roundOfC())]
    await a.book(121, [['0.47', '1']], [['0.53', '1']])
    await b.book(122, [['0.42', '3']], [['0.46', '1']])
    await c.book(123, [['0.41', '10']], [['0.6', '5']])
    await b.trade(124, '0.46', '2')
    await b.gap('instrument', 124, undefined, 4)
    await c.book(125, [['0.43', '10']], [['0.6', '5']])
    await c.gap('venue', 125, undefined, 0)
    const both = async (type: string, most: number): Promise<void> => {
      for (const client of [one, many]) await client.until(() => count(client, type) === most)
    }
    await both('gap', 2)
    await c.gap('venue', 125, 130, 0)
    await a.book(131, [['0.48', '1']], [['0.53', '1']])
    await both('gap', 3)
    await both('update', 5)
    await both('trade', 1)
    const own = byInstrument(one.messages)
    expect(own).toEqual(byInstrument(many.messages))
    // Three markets, three books with five more rows, a gap of one, a trade, and two messages about a venue.
    expect([...own.values()].flat()).toHaveLength(15)
  })

  it('says members, terms and differences when it begins, as REST does', async () => {
    const { connect, ask, keyOf } = await serve()
    const client = await connect()
    client.send(FOLLOW)
    const begun = await client.next('subscribed')
    const rest = (await ask(`/v3/contracts/${ROUND_ID}`, { key: keyOf('unlimited') })).json()
    expect(begun).toMatchObject({ id: 'c', markets: 3, instruments: 4 })
    expect(begun['contract']).toEqual((rest as { data: unknown }).data)
    expect(begun).not.toHaveProperty('venue')
    expect(begun).not.toHaveProperty('notice')
  })

  it('sends only the datasets that are asked for', async () => {
    const { connect, writerOf } = await serve()
    const client = await connect()
    client.send({ ...FOLLOW, datasets: ['trades'] })
    await client.next('snapshots_done')
    const b = writerOf(roundOfB())
    await b.book(122, [['0.42', '3']], [['0.46', '1']])
    await b.trade(123, '0.46', '2')
    expect(await client.next('trade')).toMatchObject({ row: { venue: 'venueb', price: 0.46 } })
    expect([count(client, 'snapshot'), count(client, 'update'), count(client, 'market')]).toEqual([
      0, 0, 0,
    ])
  })

  it('resumes every member after its last row, with the gap in between', async () => {
    const { connect, writerOf } = await serve()
    const first = await connect()
    first.send({ ...FOLLOW, mode: 'changes' })
    await first.next('snapshots_done')
    const resume = Object.fromEntries(
      first.messages
        .filter(({ type }) => type === 'snapshot')
        .map((m) => [m['key'], m['sequence']]),
    )
    expect(resume).toEqual({ '8691520': 1, 'KXBTC15M-26NOV171245-45': 3, '21': 2 })
    first.socket.terminate()
    const [b, c] = [writerOf(roundOfB()), writerOf(roundOfC())]
    await b.book(122, [['0.42', '3']], [['0.46', '1']])
    await b.gap('instrument', 122, 125, 4)
    await b.book(125, [['0.44', '3']], [['0.46', '1']])
    await c.book(126, [['0.41', '10']], [['0.6', '5']])
    const second = await connect()
    second.send({ ...FOLLOW, mode: 'changes', resume })
    await second.next('snapshots_done')
    const shown = second.messages.flatMap((message) => {
      const { type, key, sequence, gap } = message as unknown as Record<string, unknown>
      if (type === 'gap') return [['gap', (gap as { key: string }).key]]
      return key === undefined ? [] : [[type, key, sequence]]
    })
    expect(shown).toEqual([
      ['update', 'KXBTC15M-26NOV171245-45', 4],
      ['gap', 'KXBTC15M-26NOV171245-45'],
      ['update', 'KXBTC15M-26NOV171245-45', 5],
      ['update', '21', 3],
    ])
  })

  it('announces a market that becomes a member later, before its first row', async () => {
    const { connect, writerOf } = await serve(THREE_ROUNDS.slice(1))
    const client = await connect()
    client.send(FOLLOW)
    expect(await client.next('subscribed')).toMatchObject({ markets: 2, instruments: 3 })
    await client.next('snapshots_done')
    const a = writerOf(roundOfA())
    await a.gap('venue', 100, undefined, 0)
    await a.record({ ...roundOfA(), marketId: '8691521', closeTime: after(1800) }, 121)
    await a.record(roundOfA(), 122)
    await a.book(123, [['0.47', '1']], [['0.53', '1']])
    const joined = await client.next('contract')
    expect(joined).toMatchObject({ id: 'c', row: { id: ROUND_ID } })
    const { members } = joined['row'] as { members: { venue: string }[] }
    expect(members.map(({ venue }) => venue)).toEqual(['venuea', 'venueb', 'venuec'])
    await client.next('snapshot')
    const kinds = client.messages.slice(
      client.messages.findIndex((m) => m.type === 'snapshots_done'),
    )
    expect(kinds.map(({ type }) => type)).toEqual([
      'snapshots_done',
      'market',
      'gap',
      'contract',
      'snapshot',
    ])
    expect(JSON.stringify(kinds)).not.toContain('8691521')
    await a.book(124, [['0.46', '1']], [['0.53', '1']])
    await client.next('update')
    expect(count(client, 'contract')).toBe(1)
  })

  it('follows members that an operator names, and leaves out those that are refused', async () => {
    const id = 'x-two'
    const file = {
      contracts: [
        {
          id,
          title: 'Two venues',
          members: [
            { venue: 'venueb', market_id: roundOfB().marketId, yes: 'Yes' },
            { venue: 'venuec', market_id: roundOfC().marketId, yes: 'Up' },
          ],
        },
      ],
      refuse: [{ venue: 'venuea', asset: 'BTC', window: '15m', why: 'another price' }],
    }
    const path = join(createTempFolder(), 'contracts.json')
    writeFileSync(path, JSON.stringify(file))
    const operator = readOperatorFile(path)
    const { connect } = await serve(THREE_ROUNDS, { contracts: () => operator })
    const client = await connect()
    client.send({ ...FOLLOW, contract_id: id })
    expect(await client.next('subscribed')).toMatchObject({
      markets: 2,
      contract: { title: 'Two venues' },
    })
    await client.next('snapshots_done')
    client.send({ op: 'unsubscribe', id: 'c' })
    await client.next('unsubscribed')
    client.send(FOLLOW)
    expect(await client.next('subscribed')).toMatchObject({ markets: 2 })
  })

  it('leaves out members that the plan does not include, and says so', async () => {
    const { connect, writerOf } = await serve()
    const client = await connect('explorer')
    client.send(FOLLOW)
    expect(await client.next('subscribed')).toMatchObject({
      markets: 2,
      contract: { withheld: ['venuea'] },
      notice: { code: 'members_withheld', withheld: ['venuea'] },
    })
    await client.next('snapshots_done')
    const [a, b] = [writerOf(roundOfA()), writerOf(roundOfB())]
    await a.gap('venue', 120, undefined, 0)
    await a.book(121, [['0.47', '1']], [['0.53', '1']])
    await b.book(122, [['0.42', '3']], [['0.46', '1']])
    await client.next('update')
    expect(JSON.stringify(client.messages.slice(2))).not.toContain('8691520')
    expect(count(client, 'gap')).toBe(0)
  })

  it('is refused with a code that tells why', async () => {
    const { connect } = await serve(THREE_ROUNDS.slice(0, 1))
    const client = await connect('explorer')
    const refusal = async (request: object): Promise<AnyMessage> => {
      const known = count(client, 'error')
      client.send(request)
      await client.until(() => count(client, 'error') > known)
      return client.messages.at(-1)!
    }
    expect(
      await refusal({ ...FOLLOW, contract_id: 'btc-15m-up-down-20261117T180000Z' }),
    ).toMatchObject({
      code: 'unknown_contract',
      id: 'c',
      param: 'contract_id',
      hint: expect.stringContaining('/v3/contracts') as unknown,
    })
    expect(await refusal({ ...FOLLOW, contract_id: 7 })).toMatchObject({
      code: 'invalid_parameter',
    })
    expect(await refusal({ ...FOLLOW, venue: 'venuea' })).toMatchObject({
      code: 'unknown_parameter',
      param: 'venue',
    })
    // Its only member is on a venue that the plan does not include.
    expect(await refusal(FOLLOW)).toMatchObject({ code: 'plan_required' })
  })

  it('does not follow an instrument twice on one connection', async () => {
    const { connect } = await serve()
    const client = await connect()
    client.send({ op: 'subscribe', id: 'b', venue: 'venueb' })
    await client.next('snapshots_done')
    client.send(FOLLOW)
    await client.until(() => count(client, 'error') === 1)
    expect(client.messages.at(-1)).toMatchObject({ code: 'already_subscribed', id: 'c' })
  })
})
