import { describe, expect, it } from 'vitest'
import { createTestCaller, type TestCaller } from '../caller.testing.ts'
import {
  A_MARKET,
  A_TOKENS,
  at,
  B_MARKET,
  C_MARKET,
  C_TOKENS,
  createCatalogueStore,
  GAPS,
  NOON,
} from './fixture.testing.ts'
import { CATALOGUE_ROUTES } from '../routes/index.ts'
import { violations } from './schema.testing.ts'

type Row = Readonly<Record<string, unknown>>

async function caller(now = at(400)): Promise<TestCaller> {
  return createTestCaller(CATALOGUE_ROUTES, { store: await createCatalogueStore(), now: () => now })
}

const A = `/v3/venuea-prediction/${A_MARKET}`
const B = `/v3/venueb/${B_MARKET}`
const C = `/v3/btc/markets/${C_MARKET}`
const routeOf = (id: string) => CATALOGUE_ROUTES.find((route) => route.id === id)!

/** Walks all pages and gives every row and every gap in order. */
async function walk(call: TestCaller, url: string): Promise<{ rows: Row[]; gaps: Row[] }> {
  const rows: Row[] = []
  const gaps: Row[] = []
  for (let next = url, page = 0; page < 60; page++) {
    const { body } = await call.get(next)
    rows.push(...(body.data as Row[]))
    gaps.push(...(body.meta['gaps'] as Row[]))
    if (body.pagination.next_cursor === null) return { rows, gaps }
    next = `${url}&cursor=${body.pagination.next_cursor}`
  }
  throw new Error('the walk does not end')
}

describe('trades', () => {
  it('of venue B carry both sides’ words, both times and the venue’s numbers', async () => {
    const call = await caller()
    const { body } = await call.get(`${B}/trades`)
    expect(violations(routeOf('venueb_trades').data, body.data)).toEqual([])
    expect(body.data).toHaveLength(5)
    expect((body.data as Row[])[1]).toEqual({
      id: `venueb:${B_MARKET}/trade:2`,
      venue: 'venueb',
      market_id: B_MARKET,
      condition_id: null,
      event_id: 'KXBTC15M-26AUG051215',
      series_ticker: 'KXBTC15M',
      outcome: 'Yes',
      token_id: null,
      trade_id: 'b2',
      price: 0.45,
      size: 2.5,
      taker_side: 'sell',
      source_time: '2026-08-05T12:00:20.995000Z',
      received_time: '2026-08-05T12:00:21.000000Z',
      sequence: 2,
      flags: [],
      native: { taker_side: 'no', sid: 2, seq: 7 },
    })
    expect(body.meta['gaps']).toMatchObject([{ reason: 'disconnected', key: B_MARKET }])
    expect(body.meta['market']).toMatchObject({ market_id: B_MARKET, liquidity: 7 })
  })

  it('of venue C interleave both tokens, and are filtered by outcome and token', async () => {
    const call = await caller()
    const { body } = await call.get(`${C}/trades`)
    expect((body.data as Row[]).map((row) => row['trade_id'])).toEqual([
      'c1',
      'c3',
      'c2',
      'c4',
      'c5',
    ])
    expect(violations(routeOf('venuec_trades').data, body.data)).toEqual([])
    const down = await call.get(`${C}/trades?outcome=down`)
    expect((down.body.data as Row[]).map((row) => row['trade_id'])).toEqual(['c2', 'c4'])
    const up = await call.get(`${C}/trades?token_id=${C_TOKENS[0]}`)
    expect((up.body.data as Row[]).map((row) => row['outcome'])).toEqual(['Up', 'Up', 'Up'])
    expect((up.body.data as Row[])[2]).toMatchObject({
      taker_side: null,
      native: { taker_side: null },
    })
    const wrong = await call.problem(`${C}/trades?outcome=maybe`)
    expect(wrong.fields).toMatchObject({ param: 'outcome', allowed: ['Up', 'Down'] })
    expect((await call.problem(`${C}/trades?token_id=1`)).fields.param).toBe('token_id')
  })

  it('of venue A are an empty dataset with the reason where its chain was never read; an unknown market is still 404', async () => {
    const call = await caller()
    const { body } = await call.get(`${A}/trades`)
    expect(body.data).toEqual([])
    expect(body.meta['notice']).toEqual({
      code: 'trades_not_reconstructed',
      message:
        'No historical fills: this installation has not reconstructed BNB Smart Chain fills, which needs an endpoint of the chain; earlier off-chain resting orders cannot be recovered.',
    })
    expect((await call.problem('/v3/venuea-prediction/999/trades')).code).toBe('unknown_market')
  })

  it('are walked in both orders with every gap once', async () => {
    const call = await caller()
    for (const limit of [1, 2, 3]) {
      for (const base of [B, C]) {
        const whole = await call.get(`${base}/trades`)
        const up = await walk(call, `${base}/trades?limit=${limit}`)
        expect(up.rows).toEqual(whole.body.data)
        expect(up.gaps).toEqual(whole.body.meta['gaps'])
        expect(up.gaps).toHaveLength(1)
        const down = await walk(call, `${base}/trades?limit=${limit}&order=desc`)
        expect(down.rows.toReversed()).toEqual(up.rows)
        expect(down.gaps).toEqual(up.gaps)
      }
    }
  })

  it('pin the end of a walk that has none', async () => {
    let now = at(45)
    const store = await createCatalogueStore()
    const call = createTestCaller(CATALOGUE_ROUTES, { store, now: () => now })
    const first = await call.get(`${B}/trades?limit=2`)
    now = at(400)
    const second = await call.get(`${B}/trades?limit=9&cursor=${first.body.pagination.next_cursor}`)
    expect((second.body.data as Row[]).map((row) => row['trade_id'])).toEqual(['b3'])
    expect(second.body.meta['range']).toEqual(first.body.meta['range'])
  })

  it('take a range, start inclusive and end exclusive, and explain an empty one', async () => {
    const call = await caller()
    const ids = async (more: string): Promise<unknown[]> => {
      const { body } = await call.get(`${B}/trades?${more}`)
      return (body.data as Row[]).map((row) => row['trade_id'])
    }
    expect(await ids(`start_time=${NOON + 21e6}&end_time=${NOON + 51e6}`)).toEqual(['b2', 'b3'])
    const code = async (more: string): Promise<unknown> => {
      const { body } = await call.get(`${B}/trades?${more}`)
      expect(body.data).toEqual([])
      return (body.meta['notice'] as Row)['code']
    }
    expect(await code('end_time=2026-08-05T10:00:00Z')).toBe('before_capture')
    expect(await code('end_time=2026-08-05T11:59:00Z')).toBe('market_not_open')
    expect(await code('start_time=2026-08-05T12:20:00Z&end_time=2026-08-05T12:30:00Z')).toBe(
      'market_closed',
    )
    expect(await code(`start_time=${NOON + 31e6}&end_time=${NOON + 39e6}`)).toBe('disconnected')
    expect(await code(`start_time=${NOON + 1e6}&end_time=${NOON + 2e6}`)).toBe('no_rows_in_range')
  })

  it('are written as NDJSON with typed lines, gaps among them, and as CSV', async () => {
    const call = await caller()
    const { text } = await call.get(`${B}/trades?format=ndjson`)
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row)
    expect(lines.map((line) => line['type'])).toEqual([
      'trade',
      'trade',
      'gap',
      'trade',
      'trade',
      'trade',
      'receipt',
    ])
    const csv = await call.get(`${B}/trades?format=csv&limit=1`)
    expect(csv.text.split('\n')[1]).toBe(
      `venueb:${B_MARKET}/trade:1,venueb,${B_MARKET},,KXBTC15M-26AUG051215,KXBTC15M,Yes,,b1,0.45,2.5,buy,2026-08-05T12:00:10.995000Z,2026-08-05T12:00:11.000000Z,1,,yes,2,7,"{""taker_side"":""yes""}"`,
    )
    expect(csv.answer.kind === 'text' && csv.answer.nextCursor).toBeTruthy()
  })
})

describe('samples', () => {
  it('name their value after their metric, and never another one', async () => {
    const call = await caller()
    for (const [metric, value, rows] of [
      ['chance', 0.501, 10],
      ['price', 0.601, 10],
      ['last_trade', 0.701, 5],
    ] as const) {
      const { body } = await call.get(`${A}/timeseries?metric=${metric}`)
      expect(violations(routeOf('venuea_timeseries').data, body.data)).toEqual([])
      expect(body.data).toHaveLength(rows)
      expect((body.data as Row[])[0]).toEqual({
        id: `venuea:${A_TOKENS[0]}/${metric}:1`,
        venue: 'venuea',
        event_id: '4001',
        market_id: A_MARKET,
        condition_id: `0x${'aa'.repeat(32)}`,
        outcome: 'Up',
        token_id: A_TOKENS[0],
        source_time: null,
        received_time: '2026-08-05T12:00:00.000000Z',
        sequence: 1,
        [metric]: value,
        flags: [],
      })
    }
  })

  it('are filtered by outcome or token and walked in both orders', async () => {
    const call = await caller()
    const down = await call.get(`${A}/timeseries?metric=chance&outcome=Down`)
    expect((down.body.data as Row[]).map((row) => row['token_id'])).toEqual(
      Array(5).fill(A_TOKENS[1]),
    )
    const url = `${A}/timeseries?metric=price&limit=3`
    const up = await walk(call, url)
    expect(up.rows).toHaveLength(10)
    expect((await walk(call, `${url}&order=desc`)).rows.toReversed()).toEqual(up.rows)
    const alias = `/v3/venuea-alias/${A_MARKET}/timeseries?metric=price&limit=3`
    const first = await call.get(url)
    const second = await call.get(`${alias}&cursor=${first.body.pagination.next_cursor}`)
    expect((second.body.data as Row[])[0]).toEqual(up.rows[3])
  })

  it('need exactly one metric of three', async () => {
    const call = await caller()
    for (const query of [
      '',
      '?metric=',
      '?metric=chance,price',
      '?metric=volume',
      '?metric=chance&metric=price',
    ]) {
      const problem = await call.problem(`${A}/timeseries${query}`)
      expect([query, problem.code, problem.fields.param]).toEqual([
        query,
        'invalid_parameter',
        'metric',
      ])
    }
  })

  it('begin with the floor of the document', async () => {
    const call = await caller()
    const { body } = await call.get(`${A}/timeseries?metric=chance&end_time=2026-07-10T00:00:00Z`)
    expect(body.meta['notice']).toMatchObject({ code: 'before_capture' })
  })

  it('are none of venues B and C, which is said', async () => {
    const call = await caller()
    for (const base of [B, C]) {
      const { body } = await call.get(`${base}/timeseries?metric=chance`)
      expect(body.data).toEqual([])
      expect(body.meta['notice']).toMatchObject({ code: 'no_samples_of_venue' })
    }
  })
})

describe('gaps', () => {
  it('are listed by start, filtered and walked', async () => {
    const call = await caller()
    const { body } = await call.get('/v3/gaps')
    expect(violations(routeOf('gaps').data, body.data)).toEqual([])
    expect((body.data as Row[]).map((row) => row['reason'])).toEqual(GAPS.map((gap) => gap.reason))
    expect((body.data as Row[])[2]).toMatchObject({
      end_time: null,
      key: A_MARKET,
      after_sequence: 5,
    })
    expect((body.data as Row[])[1]).toMatchObject({ key: null, scope: 'venue' })
    expect((await walk(call, '/v3/gaps?limit=1')).rows).toEqual(body.data)
    const reasons = async (query: string): Promise<unknown[]> => {
      const answer = await call.get(`/v3/gaps?${query}`)
      return (answer.body.data as Row[]).map((row) => row['reason'])
    }
    expect(await reasons('venue=venueb')).toEqual(['disconnected'])
    expect(await reasons('reason=recorder_down')).toEqual(['recorder_down'])
    expect(await reasons(`key=${A_MARKET}`)).toEqual(['market_closed'])
    expect(await reasons(`market=${C_MARKET}`)).toEqual(['recorder_down'])
    expect(await reasons(`market=${B_MARKET}&limit=1`)).toEqual(['disconnected'])
    expect(await reasons(`start_time=${NOON + 40e6}&end_time=${NOON + 300e6}`)).toEqual([
      'recorder_down',
    ])
    const none = await call.get(`/v3/gaps?end_time=${NOON}`)
    expect(none.body.meta['notice']).toMatchObject({ code: 'no_gaps' })
    expect((await call.problem('/v3/gaps?market=nosuch')).code).toBe('unknown_market')
  })
})

describe('coverage', () => {
  it('names every dataset with its floor, and where the year is ours', async () => {
    const call = await caller()
    const { body } = await call.get('/v3/coverage')
    expect(violations(routeOf('coverage').data, body.data)).toEqual([])
    const floors = (body.data as Row[])
      .filter((row) => row['venue'] === 'venuea')
      .map((row) => [
        row['dataset'],
        row['assets'],
        row['windows'],
        row['venue_floor'],
        row['year_inferred'],
      ])
    expect(floors).toEqual([
      ['catalogue', ['BTC'], null, '2026-05-05T00:00:00.000000Z', false],
      ['catalogue', ['ETH', 'BNB'], null, '2026-06-29T00:00:00.000000Z', false],
      ['metrics', ['BTC', 'ETH', 'BNB'], null, '2026-07-17T00:00:00.000000Z', true],
      ['books', ['BTC'], ['15m'], '2026-06-26T00:00:00.000000Z', true],
      ['books', ['BTC', 'ETH', 'BNB'], null, '2026-07-26T00:00:00.000000Z', true],
      ['trades', ['BTC', 'ETH', 'BNB'], null, null, false],
    ])
    const trades = (body.data as Row[]).find(
      (row) => row['venue'] === 'venueb' && row['dataset'] === 'trades',
    )
    expect(trades).toMatchObject({
      venue_floor: null,
      first_time: '2026-08-05T12:00:11.000000Z',
      first_day: '2026-08-05',
      capture_started_time: '2026-08-05T11:00:00.000000Z',
    })
  })

  it('of a market tells its days, cadence and gaps', async () => {
    const call = await caller(at(2 * 86_400))
    const b = await call.get(`/v3/coverage?venue=venueb&market=${B_MARKET}`)
    expect(violations(routeOf('coverage').data, b.body.data)).toEqual([])
    expect(b.body.data).toMatchObject([
      {
        kind: 'instrument',
        key: B_MARKET,
        observations: 5,
        first_day: '2026-08-05',
        first_complete_day: null,
        days: [{ day: '2026-08-05', condition: 'degraded', observations: 5, gap_ms: 10_000 }],
        gaps: [{ reason: 'disconnected' }],
      },
    ])
    // That the market closed is no hole; the realized cadence is one book a minute.
    const a = await call.get(`/v3/coverage?market=${A_MARKET}`)
    expect(a.body.data).toMatchObject([
      {
        first_complete_day: '2026-08-05',
        mean_spacing_ms: 60_000,
        days: [{ condition: 'available' }],
      },
    ])
    const c = await call.get(`/v3/coverage?market=${C_MARKET}`)
    expect(c.body.data).toMatchObject(C_TOKENS.map((key) => ({ key, days: [{ observations: 3 }] })))
    const never = await call.get('/v3/coverage?market=5004')
    expect(never.body.data).toMatchObject([
      { first_time: null, observations: 0, days: [{ condition: 'missing', gap_ms: 300_000 }] },
    ])
  })
})

describe('bad parameters', () => {
  it('are refused with their name, on every route', async () => {
    const call = await caller()
    const cases: readonly (readonly [url: string, code: string, param: string])[] = [
      ['/v3/venuea-prediction/markets?coin=DOGE', 'invalid_parameter', 'coin'],
      ['/v3/venuea-prediction/markets?window=1h', 'invalid_parameter', 'window'],
      ['/v3/venuea-prediction/markets?status=won', 'invalid_parameter', 'status'],
      ['/v3/venuea-prediction/markets?limit=0', 'invalid_parameter', 'limit'],
      ['/v3/venuea-prediction/markets?limit=1001', 'invalid_parameter', 'limit'],
      ['/v3/venuea-prediction/markets?order=up', 'invalid_parameter', 'order'],
      ['/v3/venuea-prediction/markets?cursor=abc', 'invalid_cursor', 'cursor'],
      ['/v3/venuea-prediction/markets?asset=btc', 'unknown_parameter', 'asset'],
      ['/v3/venueb/markets?start_time=yesterday', 'invalid_parameter', 'start_time'],
      ['/v3/venueb/markets?start_time=178641091', 'invalid_parameter', 'start_time'],
      ['/v3/venueb/markets?end_time=9999999999999999', 'invalid_parameter', 'end_time'],
      ['/v3/venueb/markets?series=', 'invalid_parameter', 'series'],
      ['/v3/btc/markets?window=7m', 'invalid_parameter', 'window'],
      ['/v3/btc/markets?format=xml', 'invalid_parameter', 'format'],
      ['/v3/markets?venue=venuex', 'invalid_parameter', 'venue'],
      ['/v3/markets?sort=beauty', 'invalid_parameter', 'sort'],
      [`${A}?known_at=never`, 'invalid_parameter', 'known_at'],
      [`${A}?number_format=float`, 'invalid_parameter', 'number_format'],
      [`${A}/revisions?time_format=unix`, 'invalid_parameter', 'time_format'],
      [
        `${B}/trades?start_time=2026-08-05T12:00:00Z&end_time=2026-08-05T12:00:00Z`,
        'invalid_range',
        'end_time',
      ],
      ['/v3/gaps?reason=boredom', 'invalid_parameter', 'reason'],
      ['/v3/gaps?limit=1e3', 'invalid_parameter', 'limit'],
      ['/v3/coverage?market=', 'invalid_parameter', 'market'],
      [`${B}/execution?size=1`, 'invalid_parameter', 'side'],
      [`${B}/execution?side=hold&size=1`, 'invalid_parameter', 'side'],
      [`${B}/execution?side=buy`, 'invalid_parameter', 'size'],
      [`${B}/execution?side=buy&size=0`, 'invalid_parameter', 'size'],
      [`${B}/execution?side=buy&size=-1`, 'invalid_parameter', 'size'],
      [`${B}/execution?side=buy&size=0.001`, 'invalid_parameter', 'size'],
      [`${B}/execution?side=buy&size=NaN`, 'invalid_parameter', 'size'],
      [`${B}/execution?side=buy&size=99999999999999999999`, 'invalid_parameter', 'size'],
      [`${B}/execution?side=buy&size=1&outcome=maybe`, 'invalid_parameter', 'outcome'],
      [`${C}/execution?side=buy&size=1`, 'invalid_parameter', 'outcome'],
      [`${C}/execution?side=buy&size=1&at=soon`, 'invalid_parameter', 'at'],
      [`${B}/audit`, 'invalid_parameter', 'id'],
      [`${B}/audit?id=1`, 'invalid_parameter', 'id'],
      [`${B}/audit?id=venuec:1:1`, 'invalid_parameter', 'id'],
      [`${B}/audit?id=venueb:OTHER:1`, 'unknown_row', 'id'],
    ]
    for (const [url, code, param] of cases) {
      const problem = await call.problem(url)
      expect([url, problem.code, problem.fields.param]).toEqual([url, code, param])
    }
  })

  it('break schemas that are checked here', () => {
    expect(violations(routeOf('gaps').data, [{ venue: 'venuea' }])).not.toEqual([])
    expect(violations(routeOf('venuea_markets').data, [{}])).not.toEqual([])
  })
})
