import { rmSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { NEG_RISK_CONVERSION } from '../../packages/sdk/src/wire/index.ts'
import { violations } from '../../packages/service/src/api/pages/schema.testing.ts'
import { ROUTES } from '../../packages/service/src/api/routes/index.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'
import { at, conditionOf, ELECTION, MATCH, SHARED_ID, writeEvents } from './events-tape.ts'

type Row = Readonly<Record<string, unknown>>

async function serve() {
  const test = await createTestServer({ now: () => at(400) })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  await writeEvents(test.store)
  const ask = async (url: string, plan = 'unlimited') => {
    const { status, text } = await test.ask(url, { key: test.keyOf(plan) })
    const body = JSON.parse(text) as Row & {
      readonly data: Row[] & Row
      readonly meta: { readonly notice?: unknown }
      readonly pagination: { readonly next_cursor: string | null }
    }
    const notices = [body.meta?.notice ?? []].flat().map((notice) => (notice as Row)['code'])
    return { status, body, notices }
  }
  const names = async (url: string, name: string, plan?: string): Promise<unknown[]> =>
    (await ask(url, plan)).body.data.map((row) => row[name])
  return { ask, names, test }
}

const schemaOf = (id: string) => ROUTES.find((route) => route.id === id)!.data

describe('the list of events', () => {
  it('has the events of all venues, with what their markets add up to', async () => {
    const { ask } = await serve()
    const { body } = await ask('/v3/events?sort=open_time&order=desc')
    expect(violations(schemaOf('events'), body.data)).toEqual([])
    expect(body.data.map((row) => [row['venue'], row['event_id'], row['market_count']])).toEqual([
      ['venuec', MATCH, 3],
      ['venuec', SHARED_ID, 1],
      ['venueb', ELECTION, 5],
      ['venuea', SHARED_ID, 1],
    ])
    expect(body.data[2]).toMatchObject({
      title: 'Who wins the presidential election?',
      address: `/v3/events/${ELECTION}?venue=venueb`,
      category: 'Politics',
      tags: ['US', 'Elections'],
      series: 'KXPRES',
      is_exclusive: true,
      open_market_count: 4,
      first_open_time: '2026-08-05T12:00:00.000000Z',
      last_close_time: '2026-08-06T12:00:00.000000Z',
    })
  })

  it('is filtered, searched and walked page by page', async () => {
    const { ask, names } = await serve()
    const ids = (query: string) => names(`/v3/events?${query}`, 'event_id')
    expect(await ids('category=POLITICS')).toEqual([ELECTION])
    expect(await ids('tag=world%20cup')).toEqual([MATCH])
    expect(await ids('tag=world')).toEqual([])
    expect(await ids('venue=venuec&sort=close_time')).toEqual([SHARED_ID, MATCH])
    expect(await ids('series=KXPRES&status=open')).toEqual([ELECTION])
    expect(await ids('q=reds')).toEqual([MATCH])
    expect(await ids('q=presidental')).toEqual([ELECTION])
    expect((await ask('/v3/events?q=presidental')).notices).toEqual(['search_corrected'])
    expect((await ask('/v3/events?tag=none')).notices).toEqual(['no_events'])
    const walked: unknown[] = []
    for (let url = '/v3/events?limit=1', cursor = ''; ;) {
      const { body } = await ask(`${url}${cursor}`)
      walked.push(...body.data.map((row) => row['event_id']))
      if (body.pagination.next_cursor === null) break
      cursor = `&cursor=${body.pagination.next_cursor}`
    }
    expect(walked).toEqual([SHARED_ID, ELECTION, SHARED_ID, MATCH])
    const { test } = await serve()
    const csv = await test.ask('/v3/events?format=csv', { key: test.keyOf('desk') })
    expect(csv.text.split('\n')[0]).toMatch(/^venue,event_id,address,title,/)
  })

  it('has only what the plan includes, and says so', async () => {
    const { ask, names } = await serve()
    expect(await names('/v3/events', 'event_id', 'explorer')).toEqual([SHARED_ID])
    expect((await ask('/v3/events', 'explorer')).notices).toEqual(['plan_required'])
    expect((await ask(`/v3/events/${ELECTION}`, 'explorer')).status).toBe(403)
    expect((await ask(`/v3/events/${SHARED_ID}`, 'explorer')).body.data).toMatchObject({
      venue: 'venuec',
    })
    expect(await names('/v3/categories', 'category', 'explorer')).toEqual(['Crypto'])
  })
})

describe('an event', () => {
  it('has its markets, and the sum of the prices that are known', async () => {
    const { ask } = await serve()
    const { body, notices } = await ask(`/v3/events/${ELECTION}`)
    expect(violations(schemaOf('event'), body.data)).toEqual([])
    expect(notices).toEqual([])
    const markets = body.data['markets'] as Row[]
    expect(markets.map((row) => [row['outcome'], row['best_bid'], row['best_ask']])).toEqual([
      ['Ann', 0.51, 0.52],
      ['Bob', 0.3, 0.35],
      ['Cid', 0.11, null],
      ['Dee', null, null],
      ['Eve', null, null],
    ])
    expect(markets[0]).toMatchObject({ address: `/v3/venueb/${ELECTION}-ANN`, has_open_gap: false })
    expect(markets[1]).toMatchObject({ has_open_gap: true })
    expect(markets[3]).toMatchObject({ status: 'resolved', winning_outcome: 'No' })
    expect(body.data).toMatchObject({ conversion: null, is_exclusive: true })
    // Bob's price is not known now, so it is in no sum.
    expect(body.data['sums']).toEqual({
      best_bid: 0.62,
      best_ask: 0.52,
      bid_count: 2,
      ask_count: 1,
      left_out: [
        { market_id: `${ELECTION}-BOB`, reason: 'open_gap' },
        { market_id: `${ELECTION}-CID`, reason: 'no_ask' },
        { market_id: `${ELECTION}-DEE`, reason: 'not_open' },
        { market_id: `${ELECTION}-EVE`, reason: 'no_book' },
      ],
    })
  })

  it('of negative risk says how positions convert, and its sums are exact', async () => {
    const { ask } = await serve()
    const { body } = await ask(`/v3/events/${MATCH}?number_format=string`)
    expect(body.data).toMatchObject({
      conversion: NEG_RISK_CONVERSION,
      sums: { best_bid: '0.97', best_ask: '1.01', bid_count: 3, ask_count: 3, left_out: [] },
    })
  })

  it('with many markets comes in pages, without a sum', async () => {
    const { ask } = await serve()
    const found: unknown[] = []
    let cursor = ''
    for (;;) {
      const { body, notices } = await ask(`/v3/events/${ELECTION}?limit=2${cursor}`)
      expect(body.data['sums']).toBeNull()
      expect(notices).toEqual(['sums_left_out'])
      found.push(...(body.data['markets'] as Row[]).map((row) => row['outcome']))
      if (body.pagination.next_cursor === null) break
      cursor = `&cursor=${body.pagination.next_cursor}`
    }
    expect(found).toEqual(['Ann', 'Bob', 'Cid', 'Dee', 'Eve'])
  })

  it('is asked for by venue where two have its id', async () => {
    const { ask } = await serve()
    const both = await ask(`/v3/events/${SHARED_ID}`)
    expect(both.status).toBe(400)
    expect(both.body).toMatchObject({ param: 'venue', allowed: ['venuea', 'venuec'] })
    expect((await ask(`/v3/events/${SHARED_ID}?venue=venuea`)).body.data).toMatchObject({
      venue: 'venuea',
      market_count: 1,
    })
  })

  it('that is not known gets a hint', async () => {
    const { ask } = await serve()
    const hint = async (id: string): Promise<unknown> => {
      const { status, body } = await ask(`/v3/events/${encodeURIComponent(id)}`)
      expect([id, status, body['code']]).toEqual([id, 404, 'unknown_event'])
      return body['hint']
    }
    const address = `/v3/events/${ELECTION}?venue=venueb`
    expect(await hint('kxpres-28')).toBe(`Identifiers are case-sensitive: ${address}`)
    expect(await hint(`${ELECTION}-ANN`)).toBe(`That is a market. Its event: ${address}`)
    expect(await hint('reds-against-blues')).toBe(
      `That is a slug. Its event: /v3/events/${MATCH}?venue=venuec`,
    )
    expect(await hint('nothing')).toContain('/v3/events?q=')
    const elsewhere = await ask(`/v3/events/${MATCH}?venue=venueb`)
    expect(elsewhere.body['hint']).toContain('another venue')
  })
})

describe('categories and tags', () => {
  it('are listed with their markets and events, those with most open markets first', async () => {
    const { ask } = await serve()
    const { body } = await ask('/v3/categories')
    expect(violations(schemaOf('categories'), body.data)).toEqual([])
    expect(body.data.map((row) => Object.values(row))).toEqual([
      ['venueb', 'Politics', 5, 4, 1, 1],
      ['venuec', 'Sports', 3, 3, 1, 1],
      ['venuec', 'Crypto', 1, 1, 1, 1],
    ])
  })

  it('filter every list of markets', async () => {
    const { names } = await serve()
    const ids = (url: string) => names(url, 'market_id')
    expect(await ids('/v3/markets?category=sports')).toEqual([1, 2, 3].map(conditionOf))
    expect(await ids('/v3/markets?tag=ELECTIONS&q=ann')).toEqual([`${ELECTION}-ANN`])
    expect(await ids('/v3/venueb/markets?tag=us&category=politics&status=resolved')).toEqual([
      `${ELECTION}-DEE`,
    ])
    expect(await ids('/v3/btc/markets?tag=5m')).toEqual([conditionOf(4)])
    expect(await ids('/v3/btc/markets?category=sports')).toEqual([])
    expect(await ids(`/v3/markets?event=${MATCH}&sort=volume`)).toHaveLength(3)
  })
})

describe('a market without an asset', () => {
  it('has addresses that do not name one', async () => {
    const { ask, names } = await serve()
    const base = `/v3/venuec/markets/${conditionOf(1)}`
    expect((await ask(base)).body.data).toMatchObject({ asset: null, category: 'Sports' })
    for (const tail of ['/snapshots', '/trades', '/changes', '/revisions', '/orderbook/latest']) {
      expect([tail, (await ask(`${base}${tail}`)).status]).toEqual([tail, 200])
    }
    expect(await names('/v3/venuec/markets', 'market_id')).toEqual([1, 2, 3, 4].map(conditionOf))
    expect(await names('/v3/venuec/markets?asset=btc', 'market_id')).toEqual([conditionOf(4)])
    // Both addresses of a market with an asset have the same rows.
    const round = `markets/${conditionOf(4)}/snapshots`
    expect((await ask(`/v3/btc/${round}`)).body).toEqual((await ask(`/v3/venuec/${round}`)).body)
    const other = await ask(`/v3/eth/markets/${conditionOf(4)}`)
    expect(other.body['hint']).toContain(`/v3/btc/markets/${conditionOf(4)}`)
    const wrong = await ask(`/v3/venueb/${conditionOf(1)}`)
    expect(wrong.body['hint']).toContain(base)
  })
})
