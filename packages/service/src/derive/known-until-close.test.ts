import { expect, it } from 'vitest'
import { createTestServer } from '../api/server.testing.ts'
import { createDataFolder, read, record } from '../recorder/scripted.testing.ts'

const ROUND = 'KXBTC15M-26SEP211215-15'
const OTHER = 'KXBTC15M-26SEP211215-30'
const START_MS = 1_790_000_000_000
const CLOSE_MS = START_MS + 60_000

const iso = (ms: number): string => new Date(ms).toISOString()

type PanelRow = {
  readonly offset_s: number
  readonly best_bid: number | null
  readonly age_ms: number | null
  readonly gap: string | null
}

// The quiet book of a decided round is known in its last seconds, through every door that names an instant.
it('a book that stood still is served until its market closed', async () => {
  const data = createDataFolder()
  const market = {
    ticker: ROUND,
    event_ticker: 'KXBTC15M-26SEP211215',
    open_time: iso(CLOSE_MS - 900_000),
    close_time: iso(CLOSE_MS),
  }
  await record(data, 'venueb', (script) => {
    let seq = 0
    const full = (ticker: string): void =>
      script.frame(1, {
        type: 'orderbook_snapshot',
        sid: 1,
        seq: ++seq,
        msg: {
          market_ticker: ticker,
          yes_dollars_fp: [['0.9700', '10.00']],
          no_dollars_fp: [['0.0200', '5.00']],
        },
      })
    script.answer({ kind: 'market' }, { market: { ...market, status: 'active' } })
    script.note({ note: 'connected', slot: 1, url: 'ws://b' })
    full(ROUND)
    script.wait(61_000)
    full(OTHER)
    script.wait(500)
    script.answer({ kind: 'market' }, { market: { ...market, status: 'finalized', result: 'yes' } })
  })
  await read(data, async (store) => {
    const server = await createTestServer({ store })
    const key = server.keyOf('unlimited')
    const ask = async (path: string): Promise<{ data: never; meta: { gaps: unknown[] } }> => {
      const { status, text } = await server.ask(path, { key })
      expect([path, status]).toEqual([path, 200])
      return JSON.parse(text)
    }
    const range = `from=${iso(CLOSE_MS - 1000)}&to=${iso(CLOSE_MS + 1000)}`
    const query = `venue=venueb&asset=btc&window=15m&at=-70s,-10s,-1s,0s&${range}`
    const { data: rows } = await ask(`/v3/panels?${query}`)
    expect(
      (rows as PanelRow[]).map(({ offset_s: at, best_bid: bid, age_ms: age, gap }) => [
        at,
        bid,
        age,
        gap,
      ]),
    ).toEqual([
      [-70, null, null, 'before_capture'],
      [-10, 0.97, 50_000, null],
      [-1, 0.97, 59_000, null],
      [0, 0.97, 60_000, null],
    ])
    const at = (ms: number) => server.ask(`/v3/venueb/${ROUND}/orderbook?at=${iso(ms)}`, { key })
    expect((await at(CLOSE_MS)).text).toContain('0.97')
    expect((await at(CLOSE_MS + 1)).text).toContain('market_closed')
    const { data: gaps } = await ask(`/v3/gaps?venue=venueb&market=${ROUND}&reason=market_closed`)
    expect(gaps).toMatchObject([
      { reason: 'market_closed', start_time: `${iso(CLOSE_MS).slice(0, -1)}000Z` },
    ])
  })
})
