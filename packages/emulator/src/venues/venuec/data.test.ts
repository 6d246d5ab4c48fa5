import { describe, expect, it } from 'vitest'
import { createTestVenue, type TestVenue } from './venue.testing.ts'

type Row = { asset: string; conditionId: string; timestamp: number; transactionHash: string }

/** A market with this many trades, 200 ms apart. */
function withTrades(count: number): { venue: TestVenue; market: string } {
  const venue = createTestVenue()
  const open = venue.open()
  for (let trade = 0; trade < count; trade++) {
    venue.world.at += 200
    venue.world.change(open, [{ side: 'bid', price: 4_000, size: trade + 1 }], {
      price: 5_200,
      size: 1_000_000 + trade,
      taker: 'buy',
    })
  }
  const [token] = venue.tokens(open)
  const { value } = venue.get(`/clob/markets-by-token/${token}`)
  return { venue, market: (value as { condition_id: string }).condition_id }
}

function read(venue: TestVenue, market: string, offset: number, limit: number): Row[] {
  const query = { market, offset: String(offset), limit: String(limit) }
  return venue.get('/data/trades', query).value as Row[]
}

describe('the data service', () => {
  it('lists the newest seconds first, and the trades of a second in any order', () => {
    const { venue, market } = withTrades(700)
    const first = read(venue, market, 0, 1000)
    expect(first).toHaveLength(500)
    const seconds = first.map(({ timestamp }) => timestamp)
    expect(seconds).toEqual(seconds.toSorted((a, b) => b - a))
    expect(read(venue, market, 0, 500)).not.toEqual(first)
    expect(read(venue, market, 500, 500)).toHaveLength(200)
    expect(new Set(first.map(({ transactionHash }) => transactionHash)).size).toBe(500)
    expect(first.every(({ conditionId }) => conditionId === market)).toBe(true)
  })

  it('refuses an offset beyond its limit', () => {
    const { venue, market } = withTrades(1)
    const query = { market, offset: '3001', limit: '10' }
    const { status, value } = venue.get('/data/trades', query)
    expect({ status, value }).toEqual({
      status: 400,
      value: { error: 'max historical activity offset of 3000 exceeded' },
    })
    expect(read(venue, '0xnone', 0, 10)).toEqual([])
  })
})
