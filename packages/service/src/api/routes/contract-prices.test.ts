import {
  contractOf,
  type ConsolidatedJson,
  type ContractBooksJson,
  type ContractSnapshotJson,
  type SpreadJson,
} from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import type { RowQuery, StoreReader } from '../../store/store.ts'
import { createTestCaller, createTestGrant, type TestCaller } from '../caller.testing.ts'
import {
  after,
  createContractStore,
  MarketWriter,
  ROUND_ID,
  roundOfA,
  roundOfB,
  roundOfC,
  THREE_ROUNDS,
  type ScriptedMarket,
} from '../contracts/contract-tape.testing.ts'
import { violations } from '../pages/schema.testing.ts'
import { ROUTES } from './index.ts'

const CONTRACT_ROUTES = ROUTES.filter(({ address }) => address.startsWith('/v3/contracts'))
const schemaOf = (id: string) => CONTRACT_ROUTES.find((route) => route.id === id)!.data
const BASE = `/v3/contracts/${ROUND_ID}`

async function caller(markets: readonly ScriptedMarket[] = THREE_ROUNDS): Promise<TestCaller> {
  const store = await createContractStore(markets)
  return createTestCaller(CONTRACT_ROUTES, { store, now: () => after(120) })
}

describe('the books of a contract', () => {
  it('are those of one instant, each with its age or the reason that there is none', async () => {
    const call = await caller()
    const read = async (seconds: string): Promise<ContractBooksJson['members']> => {
      const { body } = await call.get(`${BASE}/books?at=2026-11-17T17:30:${seconds}Z`)
      expect(violations(schemaOf('contract_books'), body.data)).toEqual([])
      return (body.data as ContractBooksJson).members
    }
    const [a, b, c] = await read('20')
    expect(a).toMatchObject({
      venue: 'venuea',
      outcome: 'Up',
      bids: { price: [0.48, 0.47], size: [10.5, 20] },
      asks: { price: [0.52, 0.55], size: [5, 100] },
      row_id: `venuea:${roundOfA().marketId}:1`,
      age_ms: 19_000,
      reason: null,
    })
    expect(b).toMatchObject({ bids: { price: [0.4], size: [10] }, age_ms: 10_000 })
    expect(c).toMatchObject({ row_id: 'venuec:21:1', asks: { price: [0.6], size: [50.123456] } })
    const inGap = await read('35')
    expect(inGap[1]).toMatchObject({
      bids: null,
      asks: null,
      row_id: null,
      age_ms: null,
      reason: { code: 'disconnected', gap: { reason: 'disconnected', after_sequence: 2 } },
    })
    expect(inGap[0]!.reason).toBeNull()
    const early = await read('02')
    expect(early.map(({ reason }) => reason?.code ?? null)).toEqual([
      null,
      'before_capture',
      'before_capture',
    ])
    const { body } = await call.get(`${BASE}/books?at=2026-11-17T17:30:20Z&depth=1`)
    expect((body.data as ContractBooksJson).members[0]!.bids!.price).toEqual([0.48])
  })
})

describe('aligned snapshots', () => {
  it('have the last book of every member in every bucket, and nothing carried over', async () => {
    const call = await caller()
    const range = 'start_time=2026-11-17T17:30:00Z&end_time=2026-11-17T17:31:10Z'
    const { body } = await call.get(`${BASE}/snapshots?interval=10s&${range}`)
    expect(violations(schemaOf('contract_snapshots'), body.data)).toEqual([])
    const rows = body.data as ContractSnapshotJson[]
    expect(rows.map(({ bucket_start: start }) => String(start).slice(14, 19))).toEqual([
      '30:00',
      '30:10',
      '30:20',
      '30:30',
      '30:40',
      '30:50',
      '31:00',
    ])
    const shown = rows.map(({ members }) =>
      members.map(({ best_bid: bid, best_ask: ask, reason }) => reason ?? `${bid}/${ask}`),
    )
    expect(shown).toEqual([
      ['0.48/0.52', 'before_capture', '0.5/0.6'],
      ['no_observation', '0.4/0.45', 'no_observation'],
      ['no_observation', 'no_observation', 'no_observation'],
      // A book was received in this bucket, but at its end nothing is known.
      ['no_observation', 'disconnected', 'no_observation'],
      ['no_observation', '0.41/0.44', 'no_observation'],
      ['no_observation', 'no_observation', 'no_observation'],
      ['no_observation', 'no_observation', '0.4/0.6'],
    ])
    expect(rows[1]!.members[1]).toMatchObject({
      best_bid_size: 10,
      best_ask_size: 20,
      row_id: `venueb:${roundOfB().marketId}:1`,
      age_ms: 10_000,
    })
    expect(body.meta['member_gaps']).toMatchObject([{ venue: 'venueb', reason: 'disconnected' }])
  })

  it('are the same page by page, and one column per value in CSV', async () => {
    const call = await caller()
    const { body } = await call.get(`${BASE}/snapshots?interval=1s&limit=1000`)
    const whole = body.data as ContractSnapshotJson[]
    // The window up to now.
    expect(whole).toHaveLength(120)
    const paged: ContractSnapshotJson[] = []
    let receipt: unknown
    for (let cursor = ''; ;) {
      const page = await call.get(`${BASE}/snapshots?interval=1s&limit=37${cursor}`)
      paged.push(...(page.body.data as ContractSnapshotJson[]))
      receipt = page.body.meta['receipt']
      if (!page.body.pagination.has_more) break
      cursor = `&cursor=${page.body.pagination.next_cursor}`
    }
    expect(paged).toEqual(whole)
    expect(receipt).toEqual({ rows: 120, gaps: 0 })
    const csv = await call.get(`${BASE}/snapshots?interval=10s&format=csv`)
    const [head, , second] = csv.text.split('\n')
    expect(head).toContain('bucket_start,bucket_end,venuea_market_id,venuea_best_bid')
    expect(second).toContain(',0.4,10,0.45,20,')
  })

  it('begin with the first book where a range has no begin', async () => {
    const call = await caller()
    // It ends where the window of the contract begins.
    const early = await call.get(`${BASE}/snapshots?end_time=2026-11-17T17:30:00Z&interval=1m`)
    expect(early.body.data).toEqual([])
    expect(early.body.pagination.has_more).toBe(false)
  })

  it('show nothing of before the plan’s window', async () => {
    const call = await caller()
    const grant = createTestGrant({ windowStart: () => after(20) })
    const range = 'start_time=2026-11-17T17:30:00Z&end_time=2026-11-17T17:30:50Z'
    const { body } = await call.get(`${BASE}/snapshots?interval=10s&${range}`, grant)
    const rows = body.data as ContractSnapshotJson[]
    expect(rows[0]!.bucket_start).toBe('2026-11-17T17:30:20.000000Z')
    expect(body.meta['notice']).toMatchObject({ code: 'plan_window' })
  })
})

describe('the consolidated book', () => {
  const AT = 'at=2026-11-17T17:30:20Z&number_format=string'

  it('has the levels of all venues by their price after fees', async () => {
    const call = await caller()
    const { body } = await call.get(`${BASE}/consolidated?${AT}`)
    expect(violations(schemaOf('contract_consolidated'), body.data)).toEqual([])
    const { asks, bids, members, pair, order } = body.data as ConsolidatedJson
    // B: 0.45 + 0.07 × 0.45 × 0.55. A delivers 1 − 0.02 × min(p, 1 − p) / p of a share:
    // 0.52 / (1 − 0.0096 / 0.52) and 0.55 / (1 − 0.009 / 0.55). C: 0.6 + 0.07 × 0.6 × 0.4.
    expect(asks).toEqual({
      net_price: ['0.467325', '0.529780564264', '0.559149722736', '0.6168'],
      size: ['20', '4.9076923', '98.36363636', '50.123456'],
      venue: ['venueb', 'venuea', 'venuea', 'venuec'],
      member: [1, 0, 0, 2],
      price: ['0.45', '0.52', '0.55', '0.6'],
      native_size: ['20', '5', '100', '50.123456'],
    })
    // 0.5 − 0.0175, 0.48 − 0.0096, 0.47 − 0.0094, 0.4 − 0.0168
    expect(bids).toMatchObject({
      net_price: ['0.4825', '0.4704', '0.4606', '0.3832'],
      venue: ['venuec', 'venuea', 'venuea', 'venueb'],
      size: ['100', '10.5', '20', '10'],
    })
    expect(members[1]).toMatchObject({
      is_included: true,
      best_ask: '0.45',
      net_ask: '0.467325',
      fee: { basis: 'table', formula: expect.stringContaining('0.07 × C × p × (1 − p)') as string },
    })
    // No of C at 0.5 costs 0.5175, and Yes of B 0.467325.
    expect(members.map(({ net_no_ask: cost }) => cost)).toEqual([
      '0.529780564264',
      '0.6168',
      '0.5175',
    ])
    expect(pair).toEqual({ yes: 1, no: 2, edge: '0.015175' })
    expect(order).toBeNull()
    expect(body.meta['notice']).toMatchObject({ code: 'collateral_mixed' })
  })

  it('finds the cheapest way to buy a size, with the fees of every venue', async () => {
    const call = await caller()
    const { body } = await call.get(`${BASE}/consolidated?${AT}&side=buy&size=22`)
    const { order } = body.data as ConsolidatedJson
    // 20 of B at 0.45: fee 0.07 × 20 × 0.45 × 0.55 = 0.3465, balance −9.3465 rounded to −9.35.
    // 2 delivered by A at 0.52: 2 / (1 − 0.0096 / 0.52) = 2.03761756 bought, paid 1.0595611312.
    expect(order).toMatchObject({
      side: 'buy',
      filled_size: '22',
      is_complete: true,
      parts: [
        { venue: 'venueb', size: '20', amount: '9', fee: '0.35', net_amount: '9.35', levels: 1 },
        { venue: 'venuea', size: '2.03761756', delivered: '2', limit_price: '0.52' },
      ],
    })
    const [, a] = order!.parts
    expect(a!.net_amount).toBe('1.05956114')
    expect(order!.net_amount).toBe('10.40956114')
    expect(order!.average_price).toBe('0.47316187')
  })

  it('sells into the best bids, and says how much does not fit', async () => {
    const call = await caller()
    const sold = await call.get(`${BASE}/consolidated?${AT}&side=sell&size=101`)
    // 100 of C at 0.5: fee 1.75; 1 of A at 0.48: fee 0.0096.
    expect((sold.body.data as ConsolidatedJson).order).toMatchObject({
      filled_size: '101',
      net_amount: '48.7204',
      parts: [
        { venue: 'venuec', net_amount: '48.25' },
        { venue: 'venuea', net_amount: '0.4704' },
      ],
    })
    const all = await call.get(`${BASE}/consolidated?${AT}&side=sell&size=1000`)
    expect((all.body.data as ConsolidatedJson).order).toMatchObject({
      filled_size: '140.5',
      is_complete: false,
    })
    expect(all.body.meta['notice']).toMatchObject([{ code: 'insufficient_depth' }, {}])
  })

  it('leaves out members inside a gap, with the reason', async () => {
    const call = await caller()
    const { body } = await call.get(`${BASE}/consolidated?at=2026-11-17T17:30:35Z`)
    const { asks, members } = body.data as ConsolidatedJson
    expect(asks.venue).toEqual(['venuea', 'venuea', 'venuec'])
    expect(members[1]).toMatchObject({ is_included: false, reason: { code: 'disconnected' } })
  })

  it('leaves out members whose fees are not known', async () => {
    // No published page of these weeks of 2026 is known.
    const time = Date.UTC(2026, 2, 10, 12) * 1000
    const when = { openTime: time, closeTime: time + 900_000_000 } as never
    const store = await createContractStore([
      { record: roundOfB(when) },
      { record: roundOfC(when) },
    ])
    const call = createTestCaller(CONTRACT_ROUTES, { store, now: () => after(0) })
    const id = 'btc-15m-up-down-20260310T121500Z'
    const { body } = await call.get(`/v3/contracts/${id}/consolidated?at=2026-03-10T12:05:00Z`)
    const { members } = body.data as ConsolidatedJson
    expect(members[0]!.fee).not.toBeNull()
    expect(members[1]).toMatchObject({ fee: null, is_included: false })
  })

  it('refuses an order that is not one', async () => {
    const call = await caller()
    expect((await call.problem(`${BASE}/consolidated?${AT}&size=5`)).fields.param).toBe('side')
    for (const size of ['0', '-1', 'x', '1.123456789']) {
      const problem = await call.problem(`${BASE}/consolidated?${AT}&side=buy&size=${size}`)
      expect(problem.fields.param).toBe('size')
    }
  })
})

describe('spreads', () => {
  it('are the spans in which Yes here and No there cost less than 1, never over a gap', async () => {
    const call = await caller()
    const { body } = await call.get(`${BASE}/spreads?number_format=string`)
    expect(violations(schemaOf('contract_spreads'), body.data)).toEqual([])
    const rows = body.data as SpreadJson[]
    const seconds = (time: string | number): string => String(time).slice(14, 19)
    const shown = rows.map((row) => [
      `${row.yes.venue}/${row.no.venue}`,
      seconds(row.start_time),
      seconds(row.end_time),
      row.ended_by,
      row.best_edge,
      row.fillable_size,
    ])
    // Yes of B at 0.45 costs 0.467325, at 0.44 0.457248, at 0.46 0.477388. No of C at 0.5 costs 0.5175.
    // No of A at 0.52 costs 0.529780564264 and delivers 10.30615384 of 10.5.
    // The range ends with the present, two minutes after the round began.
    expect(shown).toEqual([
      ['venueb/venuea', '30:10', '30:30', 'gap', '0.002894435736', '10.30615384'],
      ['venueb/venuec', '30:10', '30:30', 'gap', '0.015175', '20'],
      ['venueb/venuea', '30:40', '32:00', 'range', '0.012971435736', '3'],
      ['venueb/venuec', '30:40', '31:00', 'edge', '0.025252', '6.33'],
    ])
    const b = `venueb:${roundOfB().marketId}`
    expect(rows[3]).toMatchObject({
      yes: { outcome: 'Yes', price: '0.44', net_price: '0.457248' },
      no: { outcome: 'Down', price: '0.5', net_price: '0.5175' },
      duration_ms: '20000',
      rows: {
        start: { yes: `${b}:3`, no: 'venuec:21:1' },
        best: { yes: `${b}:3`, no: 'venuec:21:1' },
        end: { yes: `${b}:3`, no: 'venuec:21:2' },
      },
    })
    expect(rows[0]!.rows.end).toBeNull()
  })

  it('begin where the range does, and walk by cursor', async () => {
    const call = await caller()
    const range = 'start_time=2026-11-17T17:30:15Z&end_time=2026-11-17T17:30:20Z'
    const { body } = await call.get(`${BASE}/spreads?${range}&min_edge=0.01`)
    expect(body.data).toMatchObject([
      {
        yes: { venue: 'venueb' },
        no: { venue: 'venuec' },
        start_time: '2026-11-17T17:30:15.000000Z',
        end_time: '2026-11-17T17:30:20.000000Z',
        ended_by: 'range',
      },
    ])
    const whole = (await call.get(`${BASE}/spreads`)).body.data as SpreadJson[]
    const paged: SpreadJson[] = []
    for (let cursor = ''; ;) {
      const page = await call.get(`${BASE}/spreads?limit=1${cursor}`)
      paged.push(...(page.body.data as SpreadJson[]))
      if (!page.body.pagination.has_more) break
      cursor = `&cursor=${page.body.pagination.next_cursor}`
    }
    expect(paged).toEqual(whole)
    const inside = 'start_time=2026-11-17T17:30:31Z&end_time=2026-11-17T17:30:39Z'
    const none = await call.get(`${BASE}/spreads?${inside}`)
    expect(none.body.data).toEqual([])
    expect(none.body.meta['notice']).toMatchObject({ code: 'no_spreads' })
  })

  it('are judged by the last book of a time, also at the begin of the range', async () => {
    const [a, b, c] = THREE_ROUNDS
    const books = [
      { seconds: 10, bids: [['0.40', '10']], asks: [['0.42', '20']] },
      { seconds: 20, bids: [['0.40', '10']], asks: [['0.41', '5']] },
      { seconds: 20, bids: [['0.40', '10']], asks: [['0.45', '7']] },
    ] as const
    const call = await caller([a!, { ...b!, books, gaps: [] }, c!])
    const end = 'end_time=2026-11-17T17:30:25Z&number_format=string&min_edge=0.01'
    const best = async (start: string): Promise<unknown[]> => {
      const { body } = await call.get(
        `${BASE}/spreads?start_time=2026-11-17T17:30:${start}Z&${end}`,
      )
      return (body.data as SpreadJson[]).map(({ yes, best_time: time, fillable_size: size }) => [
        yes.price,
        String(time).slice(14, 19),
        size,
      ])
    }
    // Yes at 0.42 costs 0.437052, No of C 0.5175; at 0.41 it was offered for no time at all.
    expect(await best('15')).toContainEqual(['0.42', '30:15', '20'])
    expect(JSON.stringify(await best('15'))).not.toContain('0.41')
    expect(await best('20')).toEqual([['0.45', '30:20', '7']])
  })

  it('follow fees that a new version of a record changes within a day', async () => {
    const store = await createContractStore()
    const c = new MarketWriter(store, roundOfC())
    const { native } = roundOfC()
    const gamma = native['gamma'] as object
    await c.record(roundOfC({ native: { gamma: { ...gamma, feesEnabled: false } } }), 50)
    const call = createTestCaller(CONTRACT_ROUTES, { store, now: () => after(120) })
    const { body } = await call.get(`${BASE}/spreads?number_format=string`)
    const [, , , last] = body.data as SpreadJson[]
    // Yes of B at 0.44 costs 0.457248; No of C at 0.5 costs 0.5175, and without a fee 0.5.
    expect(last).toMatchObject({
      start_time: '2026-11-17T17:30:40.000000Z',
      end_time: '2026-11-17T17:31:00.000000Z',
      best_time: '2026-11-17T17:30:50.000000Z',
      best_edge: '0.042752',
      no: { venue: 'venuec', net_price: '0.5' },
    })
    // Up to the new version nothing has changed.
    const before = await call.get(`${BASE}/spreads?number_format=string&end_time=${after(50)}`)
    expect((before.body.data as SpreadJson[]).at(-1)).toMatchObject({ best_edge: '0.025252' })
  })

  it('end where retention removed rows while they were read', async () => {
    const [, b, c] = THREE_ROUNDS
    const quiet = { bids: [['0.40', '10']], asks: [['0.45', '20']] } as const
    const books = Array.from({ length: 3000 }, (_, index) => ({
      seconds: 10 + index / 50,
      ...quiet,
    }))
    const other = { bids: [['0.5', '100']], asks: [] } as const
    const store = await createContractStore([
      { ...b!, books, gaps: [] },
      { ...c!, books: [5, 110].map((seconds) => ({ seconds, ...other })) },
    ])
    await store.seal()
    // The first page has 1,024 rows, as a chunk has; then the first two chunks are removed.
    let pages = 0
    const cutting: StoreReader = new Proxy(store, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown
        if (typeof value !== 'function') return value
        if (name !== 'books') return value.bind(target) as unknown
        return async (query: RowQuery) => {
          if (query.key === roundOfB().marketId && ++pages === 2) await target.retain(after(51))
          return target.books(query)
        }
      },
    })
    const call = createTestCaller(CONTRACT_ROUTES, { store: cutting, now: () => after(120) })
    const { body } = await call.get(`${BASE}/spreads?end_time=${after(70)}`)
    const spans = (body.data as SpreadJson[]).map((row) => [
      String(row.start_time).slice(17, 26),
      String(row.end_time).slice(17, 26),
      row.ended_by,
    ])
    expect(spans).toEqual([
      ['10.000000', '30.460000', 'gap'],
      ['50.960000', '10.000000', 'range'],
    ])
  })

  it('show no book of before the plan’s window', async () => {
    const [a, b, c] = THREE_ROUNDS
    const call = await caller([a!, b!, c!])
    const grant = createTestGrant({ windowStart: () => after(15) })
    const { body } = await call.get(`${BASE}/spreads?end_time=2026-11-17T17:30:25Z`, grant)
    expect(body.data).toEqual([])
  })

  it('end with a venue that is silent until now', async () => {
    const [a, b, c] = THREE_ROUNDS
    const call = await caller([a!, { ...b!, gaps: [{ from: 30, to: 40 }, { from: 50 }] }, c!])
    const { body } = await call.get(`${BASE}/spreads?start_time=2026-11-17T17:30:40Z`)
    expect(body.data).toMatchObject([
      { end_time: '2026-11-17T17:30:50.000000Z', ended_by: 'gap' },
      { end_time: '2026-11-17T17:30:50.000000Z', ended_by: 'gap' },
    ])
  })

  it('take the edges that the pattern of the parameter allows', async () => {
    const call = await caller()
    const pattern = new RegExp(
      contractOf('contract_spreads').query.min_edge.schema['pattern'] as string,
    )
    const good = ['0', '1', '0.5', '1.000', '00.25', '01', '0.000000000001', '0.0000000000010000']
    const bad = ['1.1', '2', '10', '1.0000000000001', '0.0000000000001', '1.', '0.', 'x']
    for (const edge of good) {
      expect(edge).toMatch(pattern)
      expect((await call.get(`${BASE}/spreads?min_edge=${edge}`)).body.data).toBeInstanceOf(Array)
    }
    for (const edge of bad) {
      expect(edge).not.toMatch(pattern)
      const problem = await call.problem(`${BASE}/spreads?min_edge=${edge}`)
      expect(problem.fields.param).toBe('min_edge')
    }
  })

  it('refuse an edge and a range that are none', async () => {
    const call = await caller()
    for (const edge of ['x', '-1', '2']) {
      const problem = await call.problem(`${BASE}/spreads?min_edge=${edge}`)
      expect(problem.fields.param).toBe('min_edge')
    }
    const long = await call.problem(`${BASE}/spreads?start_time=2026-11-01T00:00:00Z`)
    expect(long.code).toBe('invalid_range')
    // After the close nothing can be traded.
    const late = await call.get(`${BASE}/spreads?start_time=${roundOfC().closeTime}`)
    expect(late.body.data).toEqual([])
  })
})
