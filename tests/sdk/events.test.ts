import { rmSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../packages/sdk/src/client/index.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'
import { at, conditionOf, ELECTION, MATCH, SHARED_ID, writeEvents } from '../api/events-tape.ts'
import { runCommand } from './run-command.ts'

async function serve() {
  const test = await createTestServer({ now: () => at(400) })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  await writeEvents(test.store)
  const { url } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const key = test.keyOf('unlimited')
  const env = { PRIORBOOK_URL: url, PRIORBOOK_KEY: key }
  const run = (...args: string[]) => runCommand(args, env)
  return { client: createClient({ url, key }), run }
}

async function all<Row>(walk: AsyncIterable<Row>): Promise<Row[]> {
  const rows: Row[] = []
  for await (const row of walk) rows.push(row)
  return rows
}

describe('the client', () => {
  it('walks events, and reads one with all its markets', async () => {
    const { client } = await serve()
    const events = await all(client.events({ sort: 'close_time', limit: 2 }))
    expect(events.map(({ event_id: id }) => id)).toEqual([SHARED_ID, SHARED_ID, MATCH, ELECTION])
    const { data, nextCursor } = await client.event(ELECTION)
    expect([data!.markets.length, nextCursor]).toEqual([5, null])
    const first = await client.event(ELECTION, { limit: 2 })
    const rest = await client.event(ELECTION, { limit: 3, cursor: first.nextCursor! })
    expect([...first.data!.markets, ...rest.data!.markets]).toEqual(data!.markets)
    const { data: categories } = await client.categories({ venue: 'venuec' })
    expect(categories.map(({ category }) => category)).toEqual(['Sports', 'Crypto'])
  })

  it('finds markets without an asset by an address that does not name one', async () => {
    const { client } = await serve()
    const tagged = await all(client.venueMarkets('venuec', { tag: 'World Cup' }))
    expect(tagged.map(({ market_id: id }) => id)).toEqual([1, 2, 3].map(conditionOf))
    const refs = [tagged[0]!, { venue: 'venuec', market_id: conditionOf(1) }] as const
    for (const ref of refs) {
      const { data } = await client.market(ref).latest({ outcome: 'Yes' })
      expect(data.map((book) => book.bids.price)).toEqual([[0.45]])
    }
    const round = client.market({ venue: 'venuec', market_id: conditionOf(4) })
    expect((await round.record()).data).toMatchObject({ asset: 'BTC' })
  })
})

describe('priorbook events', () => {
  it('lists events by words, category and tag', async () => {
    const { run } = await serve()
    const found = await run('events', 'presidential', 'election', '--status', 'open')
    expect(found.out).toMatch(/^EVENT +MARKETS +OPEN +LAST CLOSE/)
    expect(found.out).toContain(`venueb:${ELECTION}`)
    const tagged = await run('events', '--tag', 'world cup', '--json')
    expect(JSON.parse(tagged.out)).toMatchObject({ event_id: MATCH, market_count: 3 })
    expect((await run('events', '--category', 'weather')).status).toBe(7)
    const markets = await run('markets', '--category', 'SPORTS', '--event', MATCH, '--json')
    expect(markets.out.trim().split('\n')).toHaveLength(3)
  })

  it('shows one event with its prices, and what the sums leave out', async () => {
    const { run } = await serve()
    const { out, status } = await run('events', 'show', `venueb:${ELECTION}`)
    expect(status).toBe(0)
    expect(out).toContain('Who wins the presidential election?')
    expect(out).toMatch(/^Ann +open +0\.51 +0\.52 /m)
    expect(out).toMatch(/^Bob +gap +0\.3 +0\.35 /m)
    expect(out).toContain('sum of best bids 0.62 (2 markets), of best asks 0.52 (1 market)')
    expect(out).toContain(`not in the sums: ${ELECTION}-BOB open_gap,`)
    const json = await run('events', 'show', MATCH, '--json')
    expect(JSON.parse(json.out)).toMatchObject({ sums: { best_ask: '1.01' }, is_neg_risk: true })
    expect((await run('events', 'show', SHARED_ID)).status).toBe(2)
    expect((await run('events', 'show', SHARED_ID, '--venue', 'venuea')).status).toBe(0)
    expect((await run('events', 'show', 'nothing')).status).toBe(4)
    expect((await run('events', 'show')).status).toBe(2)
  })
})
