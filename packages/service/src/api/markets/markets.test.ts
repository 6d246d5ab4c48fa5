import { describe, expect, it } from 'vitest'
import type { Problem } from '@priorbook/sdk/wire'
import { createGrant } from '../auth/grant.ts'
import { DEFAULT_PLANS } from '../auth/plans.ts'
import { createTestCaller, type TestCaller } from '../caller.testing.ts'
import {
  A_MARKET,
  at,
  B_MARKET,
  C_MARKET,
  C_TOKENS,
  createCatalogueStore,
  FULL_A,
  NOON,
  RECORDS,
  SECOND,
} from '../pages/fixture.testing.ts'
import { CATALOGUE_ROUTES } from '../routes/index.ts'
import { violations } from '../pages/schema.testing.ts'

const [EXPLORER, QUANT] = DEFAULT_PLANS.map((plan) => createGrant(plan, DEFAULT_PLANS, undefined))

type Row = Readonly<Record<string, unknown>>

async function caller(now = at(400)): Promise<TestCaller> {
  return createTestCaller(CATALOGUE_ROUTES, { store: await createCatalogueStore(), now: () => now })
}

async function ids(call: TestCaller, url: string, grant = QUANT): Promise<unknown[]> {
  const { body } = await call.get(url, grant)
  return (body.data as Row[]).map((row) => row['market_id'])
}

/** Walks all pages and gives the ids in order. */
async function walk(call: TestCaller, url: string): Promise<unknown[]> {
  const seen: unknown[] = []
  let next = url
  for (let page = 0; page < 50; page++) {
    const { body } = await call.get(next)
    seen.push(...(body.data as Row[]).map((row) => row['market_id']))
    const { next_cursor: cursor } = body.pagination
    if (cursor === null) return seen
    next = `${url}&cursor=${cursor}`
  }
  throw new Error('the walk does not end')
}

const routeOf = (id: string) => CATALOGUE_ROUTES.find((route) => route.id === id)!

describe('lists of markets', () => {
  it('give venue A on both base paths, by (open_time, market_id), with every attribute', async () => {
    const call = await caller()
    const main = await call.get('/v3/venuea-prediction/markets')
    expect((await call.get('/v3/venuea-alias/markets')).text).toBe(main.text)
    expect((main.body.data as Row[]).map((row) => row['market_id'])).toEqual([
      '5001',
      '5003',
      '5004',
      '5005',
      '5002',
    ])
    expect(violations(routeOf('venuea_markets').data, main.body.data)).toEqual([])
    // 16 digits and more: a double could not hold them.
    expect(main.text).toContain('"volume":12345.678901234567891')
    expect(main.body.meta['count']).toBe(5)
    expect(main.body.meta['range']).toEqual({ start_time: null, end_time: null })
  })

  it('carry what the venue said only where it is asked for', async () => {
    const call = await caller()
    const lists = [
      ['markets', '/v3/markets?venue=venuea'],
      ['venuea_markets', '/v3/venuea-prediction/markets?limit=50'],
      ['venueb_markets', '/v3/venueb/markets?limit=50'],
      ['venuec_markets', '/v3/btc/markets?limit=50'],
    ] as const
    for (const [route, url] of lists) {
      const lean = (await call.get(url)).body.data as Row[]
      const whole = (await call.get(`${url}&include=native`)).body.data as Row[]
      expect(lean.length).toBeGreaterThan(0)
      expect(whole.map(({ native: _native, ...row }) => row)).toEqual(lean)
      expect(whole.every(({ native }) => typeof native === 'object')).toBe(true)
      expect(violations(routeOf(route).data, lean)).toEqual([])
      expect(violations(routeOf(route).data, whole)).toEqual([])
      for (const [more, isThere] of [
        ['', false],
        ['&include=native', true],
      ] as const) {
        const csv = (await call.get(`${url}&format=csv${more}`)).text.split('\n')[0]!.split(',')
        expect([url, more, csv.includes('native')]).toEqual([url, more, isThere])
        const ndjson = (await call.get(`${url}&format=ndjson${more}`)).text
        expect([url, more, ndjson.includes('"native":')]).toEqual([url, more, isThere])
      }
    }
    expect((await call.problem('/v3/markets?include=everything')).fields.param).toBe('include')
  })

  it('filter venue A by coin, window and status', async () => {
    const call = await caller()
    const base = '/v3/venuea-prediction/markets'
    expect(await ids(call, `${base}?coin=ETH`)).toEqual(['5004'])
    expect(await ids(call, `${base}?coin=btc&window=15m`)).toEqual(['5003'])
    expect(await ids(call, `${base}?status=scheduled`)).toEqual(['5002'])
    expect(await ids(call, `${base}?window=5m&coin=BNB&status=resolved`)).toEqual(['5005'])
  })

  it('match a market when [open, close) meets the range', async () => {
    const call = await caller()
    const base = '/v3/venuea-prediction/markets?coin=BTC&window=5m'
    const time = (seconds: number): string => String(NOON + seconds * SECOND)
    expect(await ids(call, `${base}&start_time=${time(300)}`)).toEqual(['5002'])
    expect(await ids(call, `${base}&start_time=${time(299)}`)).toEqual(['5001', '5002'])
    expect(await ids(call, `${base}&end_time=${time(300)}`)).toEqual(['5001'])
    expect(await ids(call, `${base}&end_time=${time(301)}`)).toEqual(['5001', '5002'])
    const early = await call.get(`${base}&end_time=2026-05-01T00:00:00Z`)
    expect(early.body.data).toEqual([])
    expect(early.body.meta['notice']).toMatchObject({ code: 'before_capture' })
    const none = await call.get(`${base}&end_time=2026-08-01T00:00:00Z`)
    expect(none.body.meta['notice']).toMatchObject({ code: 'no_markets' })
  })

  it('give venue B by series and event, with native tickers', async () => {
    const call = await caller()
    const { body } = await call.get('/v3/venueb/markets?series=KXBTC15M&limit=1')
    const [row] = body.data as Row[]
    expect(row).toMatchObject({
      series_ticker: 'KXBTC15M',
      event_ticker: 'KXBTC15M-26AUG051215',
      market_ticker: B_MARKET,
      settlement: {
        result: null,
        value: null,
        determined_time: null,
        settled_time: null,
        expiration_value: null,
      },
    })
    expect(violations(routeOf('venueb_markets').data, body.data)).toEqual([])
    expect(await ids(call, '/v3/venueb/markets?event=KXETH15M-26AUG051215')).toEqual([
      'KXETH15M-26AUG051215-15',
    ])
  })

  it('give venue C by asset, and name the recorded assets for an unknown one', async () => {
    const call = await caller()
    const { body } = await call.get('/v3/btc/markets?limit=10')
    expect((body.data as Row[]).map((row) => row['condition_id'])).toEqual([
      C_MARKET,
      `0x${'c2'.repeat(32)}`,
    ])
    expect(violations(routeOf('venuec_markets').data, body.data)).toEqual([])
    expect(await ids(call, '/v3/BTC/markets?window=5m&status=scheduled')).toHaveLength(1)
    const problem = await call.problem('/v3/sol/markets')
    expect(problem).toMatchObject({ code: 'unknown_asset', fields: { allowed: ['btc', 'eth'] } })
  })

  it('are walked by cursor in both orders, without loss or repetition', async () => {
    const call = await caller()
    const lists = [
      '/v3/venuea-prediction/markets?limit=2',
      '/v3/venueb/markets?limit=1',
      '/v3/btc/markets?limit=1',
      '/v3/markets?limit=2',
      '/v3/markets?limit=3&sort=volume',
      '/v3/markets?limit=4&sort=close_time&venue=venueb',
    ]
    for (const url of lists) {
      const up = await walk(call, url)
      const whole = await ids(call, url.replace(/limit=\d/, 'limit=100'))
      expect([url, ...up]).toEqual([url, ...whole])
      const down = await walk(call, `${url}&order=desc`)
      // Ties of equal values are broken by id in the same direction.
      expect(down.toReversed()).toEqual(up)
    }
  })

  it('refuse a cursor with other filters, another order or another route', async () => {
    const call = await caller()
    const url = '/v3/venuea-prediction/markets?limit=2'
    const { body } = await call.get(url)
    const cursor = body.pagination.next_cursor!
    for (const other of ['&coin=BTC', '&order=desc', '&window=5m', '&status=open']) {
      const problem = await call.problem(`${url}${other}&cursor=${cursor}`)
      expect(problem.code).toBe('invalid_cursor')
    }
    expect((await call.problem(`/v3/venueb/markets?cursor=${cursor}`)).code).toBe('invalid_cursor')
    // Another page size and the alias are the same walk.
    const more = await call.get(`/v3/venuea-alias/markets?limit=5&cursor=${cursor}`)
    expect((more.body.data as Row[]).map((row) => row['market_id'])).toEqual([
      '5004',
      '5005',
      '5002',
    ])
  })

  it('are written as NDJSON and CSV too', async () => {
    const call = await caller()
    const lines = (await call.get('/v3/venuea-prediction/markets?format=ndjson&limit=2')).text
      .trim()
      .split('\n')
    expect(lines.map((line) => (JSON.parse(line) as Row)['type'])).toEqual(['market', 'market'])
    const csv = await call.get('/v3/venueb/markets?format=csv')
    const [head, first] = csv.text.split('\n')
    expect(head).toContain('venue,market_id,title')
    expect(first).toContain(`venueb,${B_MARKET},"BTC above 114,000?"`)
    expect(csv.answer).toMatchObject({ kind: 'text', contentType: 'text/csv; charset=utf-8' })
  })

  it('write numbers and times as asked', async () => {
    const call = await caller()
    const url = '/v3/venuea-prediction/markets?coin=BTC&number_format=string&time_format=epoch_us'
    const { body } = await call.get(url)
    expect((body.data as Row[])[0]).toMatchObject({
      volume: '12345.678901234567891',
      open_time: NOON,
      resolution: { payouts: ['1', '0'], reference: { start_price: '114000.5' } },
    })
  })
})

describe('the search across venues', () => {
  it('finds text in ids, titles and tickers, and joins price, spread and coverage', async () => {
    const call = await caller()
    const { body } = await call.get('/v3/markets?q=btc15m')
    expect((body.data as Row[]).map((row) => row['market_id'])).toEqual([
      B_MARKET,
      'KXBTC15M-26AUG051230-30',
    ])
    expect((body.data as Row[])[0]).toMatchObject({
      last_price: 0.45,
      best_bid: 0.41,
      best_ask: 0.44,
      spread: 0.03,
      coverage: { observations: 5, gaps: 1 },
    })
    expect(violations(routeOf('markets').data, body.data)).toEqual([])
    const all = await call.get('/v3/markets')
    expect(all.body.data).toHaveLength(RECORDS.length)
    expect(violations(routeOf('markets').data, all.body.data)).toEqual([])
    // Words in another order than theirs, an asset with a window, and a word that is mistyped.
    const names = async (q: string) => {
      const found = await call.get(`/v3/markets?q=${encodeURIComponent(q)}`)
      return (found.body.data as Row[]).map(
        (row) => `${row['asset'] as string} ${row['window'] as string}`,
      )
    }
    // Records of venue B without an asset are found by their tickers.
    expect(new Set(await names('15m btc'))).toEqual(new Set(['BTC 15m', 'null null']))
    const typed = await call.get('/v3/markets?q=bitcion')
    expect(typed.body.meta['notice']).toMatchObject({ code: 'search_corrected' })
    expect(typed.body.data).toEqual((await call.get('/v3/markets?q=bitcoin')).body.data)
    const nothing = await call.get('/v3/markets?q=nosuch')
    expect(nothing.body.meta['notice']).toMatchObject({ code: 'no_markets' })
  })

  it('takes the last trade of venue A from its own series', async () => {
    const call = await caller()
    const { body } = await call.get('/v3/markets?venue=venuea&asset=btc&q=5001')
    expect((body.data as Row[])[0]).toMatchObject({ last_price: 0.741, best_bid: 0.48 })
  })

  it('sorts by volume, with markets without one last', async () => {
    const call = await caller()
    expect(await ids(call, '/v3/markets?venue=venueb&sort=volume&order=desc')).toEqual([
      'KXBTC15M-26AUG051230-30',
      'KXETH15M-26AUG051215-15',
      B_MARKET,
    ])
  })
})

describe('plans', () => {
  it('refuse venue A and other assets to the cheapest plan on every route', async () => {
    const call = await caller()
    const routes = [
      '/v3/venuea-prediction/markets',
      `/v3/venuea-alias/${A_MARKET}`,
      `/v3/venuea-prediction/${A_MARKET}/revisions`,
      `/v3/venuea-prediction/${A_MARKET}/trades`,
      `/v3/venuea-prediction/${A_MARKET}/timeseries?metric=chance`,
      `/v3/venuea-prediction/${A_MARKET}/execution?side=buy&size=1`,
      // A key learns nothing of what it may not see.
      '/v3/venuea-prediction/nosuch',
      '/v3/markets?venue=venuea',
      '/v3/gaps?venue=venuea',
      '/v3/coverage?venue=venuea',
      '/v3/eth/markets',
      '/v3/sol/markets',
      '/v3/venueb/KXETH15M-26AUG051215-15',
      `/v3/eth/markets/0x${'e1'.repeat(32)}`,
    ]
    for (const url of routes) {
      const problem = await call.problem(url, EXPLORER)
      expect([url, problem.code, problem.fields.plan]).toEqual([url, 'plan_required', 'quant'])
    }
    const audit = await call.problem(
      `/v3/venueb/${B_MARKET}/audit?id=venueb:${B_MARKET}:1`,
      EXPLORER,
    )
    expect(audit).toMatchObject({ code: 'plan_required', fields: { plan: 'quant' } })
  })

  it('show btc of B and C to the cheapest plan, without a hint at venue A', async () => {
    const call = await caller()
    expect(await ids(call, '/v3/venueb/markets', EXPLORER)).toEqual([
      B_MARKET,
      'KXBTC15M-26AUG051230-30',
    ])
    expect(await ids(call, '/v3/markets', EXPLORER)).toEqual([
      B_MARKET,
      C_MARKET,
      `0x${'c2'.repeat(32)}`,
      'KXBTC15M-26AUG051230-30',
    ])
    const problem = await call.problem(`/v3/venueb/${A_MARKET}`, EXPLORER)
    expect(problem.code).toBe('unknown_market')
    expect(problem.fields.hint).not.toContain('venuea')
    const slug = `/v3/btc/markets/eth-updown-5m-${NOON / SECOND}`
    expect((await call.problem(slug)).fields.hint).toContain('/v3/eth/markets/')
    expect((await call.problem(slug, EXPLORER)).fields.hint).not.toContain('/v3/eth/markets/')
  })

  it('end at the window, and say so', async () => {
    const call = await caller(at(8 * 86_400))
    for (const url of [
      '/v3/venueb/markets?start_time=2026-08-05T00:00:00Z&end_time=2026-08-06T00:00:00Z',
      `/v3/venueb/${B_MARKET}/trades?end_time=2026-08-05T13:00:00Z`,
    ]) {
      const { body } = await call.get(url, EXPLORER)
      expect(body.data).toEqual([])
      expect(body.meta['notice']).toMatchObject({ code: 'plan_window' })
    }
    const { body } = await call.get(`/v3/venueb/${B_MARKET}`, EXPLORER)
    expect(body.data).toBeNull()
    expect(body.meta['notice']).toMatchObject({ code: 'plan_window' })
  })
})

describe('a market record', () => {
  it('has every attribute of the document for venue A', async () => {
    const call = await caller()
    const { body } = await call.get(`/v3/venuea-prediction/${A_MARKET}`)
    expect(body.data).toEqual({
      venue: 'venuea',
      market_id: A_MARKET,
      title: FULL_A.title,
      status: 'resolved',
      status_native: 'RESOLVED',
      open_time: '2026-08-05T12:00:00.000000Z',
      close_time: '2026-08-05T12:05:00.000000Z',
      resolved_time: '2026-08-05T12:05:10.000000Z',
      created_time: '2026-08-05T11:50:00.000000Z',
      resolution: {
        state: 'final',
        source: 'CHAINLINK',
        reference: { feed: 'BTCUSD', start_price: 114000.5, end_price: 114001.25 },
        payouts: [1, 0],
        times: {
          determined: '2026-08-05T12:05:05.000000Z',
          settled: '2026-08-05T12:05:10.000000Z',
        },
      },
      winning_outcome: 'Up',
      volume: Number('12345.678901234567891'),
      liquidity: 999.5,
      outcomes: [
        { label: 'Up', index: 0, token_id: '9001', external_id: '77' },
        { label: 'Down', index: 1, token_id: '9002', external_id: '77' },
      ],
      units: {
        price_unit: 'USDT per share',
        size_unit: 'shares',
        volume_unit: 'USDT',
        collateral: 'USDT',
      },
      native: FULL_A.native,
      revision_time: '2026-08-05T12:05:20.000000Z',
      strike: 114_000.5,
      last_anomaly: null,
      topic_id: '4001',
      condition: {
        id: FULL_A.conditionId,
        question_id: FULL_A.questionId,
        question: FULL_A.question,
      },
      asset: 'BTC',
      window: '5m',
      participant_count: 42,
      chain: '56',
      exchange_contract: FULL_A.exchangeContract,
      event: {
        id: '4001',
        title: null,
        slug: null,
        outcome: null,
        is_exclusive: null,
        is_neg_risk: null,
      },
      category: null,
      tags: [],
      capture: null,
    })
  })

  it('is the version known at a time, and null before the first one', async () => {
    const call = await caller()
    const url = `/v3/venuea-prediction/${A_MARKET}?known_at=`
    const early = await call.get(`${url}2026-08-05T11:59:10Z`)
    expect(early.body.data).toMatchObject({ status: 'open', volume: 1 })
    const later = await call.get(`${url}2026-08-05T12:00:20Z`)
    expect(later.body.data).toMatchObject({ liquidity: 7 })
    const before = await call.get(`${url}2026-08-05T11:00:00Z`)
    expect(before.body.data).toBeNull()
    expect(before.body.meta['notice']).toMatchObject({
      code: 'not_known_yet',
      known_from: '2026-08-05T11:59:00.000000Z',
    })
  })

  it('has a history that is paged and cut by range and known_at', async () => {
    const call = await caller()
    const url = `/v3/venuea-prediction/${A_MARKET}/revisions?limit=2`
    const revisions: unknown[] = []
    for (let next = url; ;) {
      const { body } = await call.get(next)
      expect(violations(routeOf('venuea_revisions').data, body.data)).toEqual([])
      revisions.push(...(body.data as Row[]).map((row) => row['revision']))
      if (body.pagination.next_cursor === null) break
      next = `${url}&cursor=${body.pagination.next_cursor}`
    }
    expect(revisions).toEqual([1, 2, 3, 4])
    const numbers = async (more: string): Promise<unknown[]> => {
      const { body } = await call.get(`${url}&limit=9${more}`.replace('limit=2&', ''))
      return (body.data as Row[]).map((row) => row['revision'])
    }
    expect(await numbers('&start_time=2026-08-05T11:59:30Z')).toEqual([2, 3, 4])
    expect(await numbers('&end_time=2026-08-05T11:59:30Z')).toEqual([1])
    expect(await numbers('&known_at=2026-08-05T11:59:30Z')).toEqual([1, 2])
    const none = await call.get(`${url}&end_time=2026-08-01T00:00:00Z`)
    expect(none.body.meta['notice']).toMatchObject({ code: 'no_rows_in_range' })
  })

  it('is not found by a wrong kind of id, but its right one is named', async () => {
    const call = await caller()
    const hints: readonly (readonly [url: string, hint: string])[] = [
      ['/v3/venuea-prediction/4004', '/v3/venuea-prediction/5004'],
      [`/v3/venuea-prediction/${FULL_A.conditionId}`, 'condition id'],
      [`/v3/venuea-prediction/${FULL_A.slug}`, 'slug'],
      [`/v3/venuea-prediction/${B_MARKET}`, `/v3/venueb/${B_MARKET}`],
      [`/v3/venueb/${B_MARKET.toLowerCase()}`, B_MARKET],
      ['/v3/venueb/KXBTC15M', 'series=KXBTC15M'],
      ['/v3/venueb/KXBTC15M-26AUG051215', B_MARKET],
      [`/v3/btc/markets/${C_TOKENS[0]}`, C_MARKET],
      [`/v3/btc/markets/btc-updown-5m-${NOON / SECOND}`, C_MARKET],
      ['/v3/btc/markets/31001', C_MARKET],
      ['/v3/btc/markets/510001', 'condition id'],
      [`/v3/eth/markets/${C_MARKET}`, `/v3/btc/markets/${C_MARKET}`],
    ]
    for (const [url, hint] of hints) {
      const problem: Problem = await call.problem(url)
      expect([url, problem.code]).toEqual([url, 'unknown_market'])
      expect(problem.fields.hint).toContain(hint)
    }
    expect((await call.problem(`/v3/sol/markets/${A_MARKET}`)).code).toBe('unknown_asset')
    // Without a venue, the hint is that of the venue whose id it is, and never what another one takes.
    const anywhere: readonly (readonly [id: string, hint: string])[] = [
      [C_TOKENS[0], C_MARKET],
      [B_MARKET.toLowerCase(), B_MARKET],
      ['nope', '/v3/markets'],
      [`venueb:${B_MARKET}`, `venue=venueb&market=${B_MARKET}`],
    ]
    for (const [id, hint] of anywhere) {
      for (const route of ['gaps', 'coverage', 'parity']) {
        const problem: Problem = await call.problem(`/v3/${route}?market=${id}`)
        expect([route, id, problem.fields.hint]).toEqual([route, id, expect.stringContaining(hint)])
        expect(problem.fields.hint).not.toContain('The path takes')
      }
    }
  })
})
