import { VENUES, type MarketRecord, type Micros, type VenueId } from '@priorbook/sdk/domain'
import type { PanelRowJson } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import { readArrow, readParquet } from '../bulk/read-back.testing.ts'
import { createTestServer } from '../server.testing.ts'

const NOON = Date.UTC(2026, 7, 5, 12) * 1000
const MINUTE = 60_000_000
const DAY = 86_400_000_000

type Body = {
  readonly data: readonly PanelRowJson[]
  readonly meta: {
    readonly notice?: Notice | readonly Notice[]
    readonly receipt?: { readonly rows: number }
    readonly range: unknown
  }
  readonly pagination: { readonly next_cursor: string | null }
  readonly code?: string
  readonly param?: string
}
type Notice = { readonly code: string }

function roundOf(venue: VenueId, index: number, more: Partial<MarketRecord> = {}): MarketRecord {
  const closeTime = (NOON + index * MINUTE) as Micros
  return {
    venue,
    marketId: venue === 'venuec' ? `0x${index.toString(16).padStart(64, '0')}` : `M${index}`,
    status: 'resolved',
    openTime: (closeTime - 15 * MINUTE) as Micros,
    closeTime,
    asset: 'BTC',
    window: '15m',
    outcomes: [
      { label: 'Up', index: 0, tokenId: `${index}1` },
      { label: 'Down', index: 1, tokenId: `${index}2` },
    ],
    units: VENUES[venue].units,
    native: {},
    ...more,
  }
}

function withoutClose({ closeTime: _closeTime, ...record }: MarketRecord): MarketRecord {
  return record
}

async function serve(records: readonly MarketRecord[], now = NOON + DAY) {
  const server = await createTestServer({ now: () => now as Micros })
  const { store } = server
  let position = 0
  const add = async (some: readonly MarketRecord[]): Promise<void> => {
    for (const [venue, own] of Map.groupBy(some, (record): VenueId => record.venue)) {
      const revisions = own.map((record) => {
        return { kind: 'market', received: NOON as Micros, journal: ++position, record } as const
      })
      const made = { origin: 'live', recorder: 'r1', normalizer: 1, position } as const
      await store.append({ ...made, venue, revisions })
    }
  }
  await add(records)
  const unlimited = server.keyOf('unlimited')
  const raw = (query: string, plan?: string) =>
    server.ask(`/v3/panels?${query}`, {
      key: plan === undefined ? unlimited : server.keyOf(plan),
    })
  const ask = async (query: string, plan?: string) => {
    const { status, text } = await raw(query, plan)
    const body = JSON.parse(text) as Body
    const notices = [body.meta?.notice ?? []].flat().map(({ code }) => code)
    return { status, body, notices }
  }
  const walk = async (query: string, between?: () => Promise<void>): Promise<PanelRowJson[]> => {
    const rows: PanelRowJson[] = []
    for (let cursor = ''; ;) {
      const { status, body } = await ask(`${query}${cursor}`)
      expect([status, body.code]).toEqual([200, undefined])
      rows.push(...body.data)
      const { next_cursor: next } = body.pagination
      const receipt = next === null ? { rows: rows.length, gaps: 0 } : undefined
      expect(body.meta.receipt).toEqual(receipt)
      if (next === null) return rows
      expect(body.data.length).toBeGreaterThan(0)
      await between?.()
      cursor = `&cursor=${next}`
    }
  }
  return { ask, walk, raw, add }
}

const BTC = 'asset=btc&window=15m'
const nameOf = (row: PanelRowJson): string =>
  `${String(row.close_time).slice(11, 16)} ${row.venue} ${row.market_id.slice(-3)} ${row.offset_s}`

describe('panels', () => {
  const records = [
    ...[1, 2, 3, 5].map((index) => roundOf('venueb', index)),
    ...[2, 3, 4].map((index) => roundOf('venuec', index)),
    roundOf('venuea', 3, { marketId: '3' }),
    // Two strikes of one event close together.
    roundOf('venueb', 3, { marketId: 'M3-2', strike: '61000' }),
    // Other rounds.
    roundOf('venueb', 3, { marketId: 'ETH3', asset: 'ETH' }),
    roundOf('venueb', 3, { marketId: 'FIVE3', window: '5m' }),
    withoutClose(roundOf('venueb', 3, { marketId: 'ENDLESS' })),
    roundOf('venueb', 3 * 1440, { marketId: 'LATER' }),
  ]

  it('come by close time, venue, market and instant, in pages of any size and both orders', async () => {
    const { walk } = await serve(records)
    const all = await walk(`${BTC}&limit=1000`)
    expect(all.map(nameOf)).toEqual(
      [
        '12:01 venueb M1',
        '12:02 venueb M2',
        '12:02 venuec 002',
        '12:03 venuea 3',
        '12:03 venueb M3',
        '12:03 venueb 3-2',
        '12:03 venuec 003',
        '12:04 venuec 004',
        '12:05 venueb M5',
      ].flatMap((round) => [-60, -30, -10].map((offset) => `${round} ${offset}`)),
    )
    for (const limit of [1, 2, 3, 4, 7, 27, 28]) {
      expect(await walk(`${BTC}&limit=${limit}`)).toEqual(all)
      expect(await walk(`${BTC}&limit=${limit}&order=desc`)).toEqual(all.toReversed())
    }
    const at = all.map(({ close_time, at, offset_s }) => [
      Date.parse(String(at)) - Date.parse(String(close_time)),
      offset_s * 1000,
    ])
    for (const [difference, offset] of at) expect(difference).toBe(offset)
  })

  it('are bounded by the close time: from is inclusive, to exclusive', async () => {
    const { walk } = await serve(records)
    for (const order of ['asc', 'desc']) {
      const closes = async (from: number, to: number): Promise<string[]> => {
        const range = `from=${NOON + from * MINUTE}&to=${NOON + to * MINUTE}`
        const rows = await walk(`${BTC}&${range}&at=0s&limit=2&order=${order}`)
        return [...new Set(rows.map((row) => nameOf(row).slice(0, 5)))].sort()
      }
      expect(await closes(2, 4)).toEqual(['12:02', '12:03'])
      expect(await closes(3, 4)).toEqual(['12:03'])
      expect(await closes(5, 100)).toEqual(['12:05'])
      expect(await closes(-100, 2)).toEqual(['12:01'])
      expect(await closes(6, 100)).toEqual([])
    }
  })

  it('leave out rounds that have not closed, also with a later bound', async () => {
    const { walk } = await serve(records, NOON + 4 * MINUTE)
    const rows = await walk(`${BTC}&at=0s&to=${NOON + DAY}&limit=3`)
    expect(rows.map(nameOf).at(-1)).toBe('12:03 venuec 003 0')
  })

  it('are of the venues that are asked for', async () => {
    const { walk } = await serve(records)
    const venues = async (list: string): Promise<string[]> =>
      (await walk(`${BTC}&at=0s&limit=2&venue=${list}`)).map(({ venue }) => venue)
    expect(await venues('venuea')).toEqual(['venuea'])
    expect(new Set(await venues('venuec,venuea'))).toEqual(new Set(['venuea', 'venuec']))
    expect(await venues('venuea,venueb,venuec')).toHaveLength(9)
  })

  it('stay exact while rounds are appended', async () => {
    const { walk, add } = await serve(records)
    const before = await walk(`${BTC}&at=-60s,0s`)
    let index = 100
    const append = (): Promise<void> => add([roundOf('venueb', index++)])
    const during = await walk(`${BTC}&at=-60s,0s&limit=3`, append)
    expect(during.slice(0, before.length)).toEqual(before)
    expect(new Set(during.map(nameOf)).size).toBe(during.length)
  })

  it('say why there is no book, and which feed the venue settles on', async () => {
    const averages = Date.UTC(2026, 7, 7) * 1000
    const opened = (micros: number): Partial<MarketRecord> => ({
      openTime: micros as Micros,
      closeTime: (micros + 15 * MINUTE) as Micros,
    })
    const { walk } = await serve(
      [
        roundOf('venuec', 1, opened(averages - 1)),
        roundOf('venuec', 2, opened(averages)),
        roundOf('venuec', 3, { ...opened(averages), window: '5m' }),
        roundOf('venueb', 4, opened(averages)),
      ],
      averages + DAY,
    )
    const rows = [
      ...(await walk(`${BTC}&at=-1h,-10s`)),
      ...(await walk('asset=BTC&window=5m&at=-10s')),
    ]
    expect(
      rows.map(({ venue, offset_s, gap, reference_feed, reference_gap }) =>
        [venue, offset_s, gap, reference_feed, reference_gap].join(' '),
      ),
    ).toEqual([
      'venuec -3600 market_not_open chainlink before_capture',
      'venuec -10 before_capture chainlink before_capture',
      'venueb -3600 market_not_open  no_feed',
      'venueb -10 before_capture  no_feed',
      'venuec -3600 market_not_open twap60 before_capture',
      'venuec -10 before_capture twap60 before_capture',
      'venuec -10 before_capture twap30 before_capture',
    ])
  })

  it('show how a round ended once it is resolved, and nothing before', async () => {
    const reference = { startPrice: '61000.10', endPrice: '61000.2' }
    const { walk } = await serve([
      roundOf('venueb', 1, { resolution: { state: 'none', reference, payouts: ['1', '0'] } }),
      roundOf('venueb', 2, {
        winningOutcome: 'Down',
        resolution: { state: 'final', payouts: ['0', '1'], reference },
      }),
      roundOf('venueb', 3, { resolution: { state: 'final', payouts: ['0.5', '0.5'] } }),
    ])
    const rows = await walk(`${BTC}&at=0s&number_format=string`)
    expect(rows).toMatchObject([
      {
        strike: '61000.1',
        resolution_state: 'none',
        winning_outcome: null,
        settlement_value: null,
      },
      { winning_outcome: 'Down', settlement_value: '0', end_price: '61000.2' },
      { strike: null, winning_outcome: null, settlement_value: '0.5', end_price: null },
    ])
  })

  it('refuse bad input with the name of the parameter', async () => {
    const { ask } = await serve([])
    const bad: readonly (readonly [string, string, string])[] = [
      ['window=15m', 'invalid_parameter', 'asset'],
      ['asset=btc', 'invalid_parameter', 'window'],
      [`${BTC}&venue=venued`, 'invalid_parameter', 'venue'],
      [`${BTC}&venue=venuea,venuea`, 'invalid_parameter', 'venue'],
      [`${BTC}&venue=`, 'invalid_parameter', 'venue'],
      [`${BTC}&at=60s`, 'invalid_parameter', 'at'],
      [`${BTC}&at=`, 'invalid_parameter', 'at'],
      [`${BTC}&at=-1s,-1s`, 'invalid_parameter', 'at'],
      [`${BTC}&from=yesterday`, 'invalid_parameter', 'from'],
      [`${BTC}&to=1`, 'invalid_parameter', 'to'],
      [`${BTC}&from=2026-08-02&to=2026-08-02`, 'invalid_range', 'to'],
      [`${BTC}&from=2026-08-03&to=2026-08-02`, 'invalid_range', 'to'],
      [`${BTC}&limit=0`, 'invalid_parameter', 'limit'],
      [`${BTC}&limit=1001`, 'invalid_parameter', 'limit'],
      [`${BTC}&order=up`, 'invalid_parameter', 'order'],
      [`${BTC}&format=tape`, 'invalid_parameter', 'format'],
      [`${BTC}&format=arrow&limit=10`, 'invalid_parameter', 'limit'],
      [`${BTC}&format=parquet&cursor=abc`, 'invalid_parameter', 'cursor'],
      [`${BTC}&format=parquet&number_format=string`, 'invalid_parameter', 'number_format'],
      [`${BTC}&format=arrow&time_format=iso`, 'invalid_parameter', 'time_format'],
      [`${BTC}&start_time=2026-08-02`, 'unknown_parameter', 'start_time'],
    ]
    for (const [query, code, param] of bad) {
      const { status, body } = await ask(query)
      expect([query, status, body.code, body.param]).toEqual([query, 400, code, param])
    }
    expect((await ask(`${BTC}&cursor=nonsense`)).body.code).toBe('invalid_cursor')
  })

  it('bind cursors to everything but the limit', async () => {
    const { ask } = await serve(records)
    const { body } = await ask(`${BTC}&limit=1`)
    const cursor = `cursor=${body.pagination.next_cursor}`
    expect((await ask(`${BTC}&limit=5&${cursor}`)).status).toBe(200)
    for (const other of [
      'at=-60s',
      'venue=venueb',
      `to=${NOON + DAY}`,
      'from=0000000000000001',
      'order=desc',
    ]) {
      const { body: refused } = await ask(`${BTC}&${other}&limit=1&${cursor}`)
      expect([other, refused.code]).toEqual([other, 'invalid_cursor'])
    }
  })

  it('are gated by plan as other lists are', async () => {
    const now = NOON + 10 * DAY
    const recent = (now - NOON) / MINUTE - 10
    const { ask, raw } = await serve(
      [
        ...records.slice(0, 9),
        roundOf('venueb', recent),
        roundOf('venuea', recent, { marketId: '9' }),
      ],
      now,
    )
    const { body, notices } = await ask(`${BTC}&at=-30s`, 'explorer')
    expect(body.data.map(({ venue }) => venue)).toEqual(['venueb'])
    expect(notices).toContain('plan_required')
    expect((await ask(`${BTC}&from=2026-08-01`, 'explorer')).notices).toContain('plan_window')
    const refused = async (query: string, plan: string): Promise<unknown> => {
      const { status, text } = await raw(query, plan)
      return [status, (JSON.parse(text) as Body).code]
    }
    expect(await refused(`${BTC}&venue=venuea`, 'explorer')).toEqual([403, 'plan_required'])
    expect(await refused('asset=eth&window=15m', 'explorer')).toEqual([403, 'plan_required'])
    expect(await refused(`${BTC}&format=parquet`, 'quant')).toEqual([403, 'plan_required'])
    const month = `from=${now - 31 * DAY}`
    expect((await raw(`${BTC}&format=parquet&${month}`, 'quant')).status).toBe(200)
    // A cursor of another plan opens nothing.
    const whole = await ask(`${BTC}&from=${now - DAY}&limit=1`, 'unlimited')
    expect(whole.body.data.map(({ venue }) => venue)).toEqual(['venuea'])
    const taken = `cursor=${whole.body.pagination.next_cursor}`
    const rest = await ask(`${BTC}&from=${now - DAY}&limit=9&${taken}`, 'explorer')
    expect(rest.body.data.map(({ venue }) => venue)).not.toContain('venuea')
    // The instant before the window of the plan is not shown, though the round closed in it.
    const edge = roundOf('venueb', (now - NOON - 7 * DAY) / MINUTE + 1, { marketId: 'EDGE' })
    const at = await (await serve([edge], now)).ask(`${BTC}&at=-90s,-30s`, 'explorer')
    expect(at.body.data.map(({ gap }) => gap)).toEqual(['plan_window', 'before_capture'])
  })

  it('say that nothing was found', async () => {
    const { ask } = await serve(records)
    expect(await ask('asset=doge&window=15m')).toMatchObject({
      status: 200,
      notices: ['no_rounds'],
    })
    expect(await ask('asset=btc&window=3m')).toMatchObject({ status: 200, notices: ['no_rounds'] })
  })

  it('give files of all rows, empty ones included', async () => {
    const many = Array.from({ length: 700 }, (_, index) => roundOf('venueb', index))
    const { raw, walk } = await serve(many)
    const rows = await walk(`${BTC}&number_format=string&time_format=epoch_us&limit=1000`)
    expect(rows).toHaveLength(2100)
    for (const order of ['asc', 'desc']) {
      const arrow = readArrow((await raw(`${BTC}&format=arrow&order=${order}`)).bytes)
      const parquet = await readParquet((await raw(`${BTC}&format=parquet&order=${order}`)).bytes)
      const wanted = order === 'asc' ? rows : rows.toReversed()
      expect(arrow.rows).toEqual(wanted)
      expect(parquet.rows).toEqual(wanted)
    }
    const none = 'asset=doge&window=15m'
    expect(readArrow((await raw(`${none}&format=arrow`)).bytes).rows).toEqual([])
    expect((await readParquet((await raw(`${none}&format=parquet`)).bytes)).rows).toEqual([])
  })
})
