import { describe, expect, it } from 'vitest'
import type { LiveMessage } from '../client/index.ts'
import { printMicros, type Micros } from '../domain/index.ts'
import { toMarketJson } from '../wire/index.ts'
import { paper } from './paper.ts'
import type { Strategy } from './strategy.ts'
import { recordB, sec } from './tape.testing.ts'

const KEY = 'KX-1-A'
const time = (at: number): string => printMicros(sec(at) as Micros)

function book(at: number, sequence: number, ask: number): LiveMessage {
  const row = {
    id: `venueb:${KEY}:${sequence}`,
    venue: 'venueb',
    market_id: KEY,
    token_id: null,
    received_time: time(at),
    source_time: null,
    sequence,
    flags: [],
    bids: { price: ['0.48'], size: ['30'] },
    asks: { price: ['0.5'], size: [String(ask)] },
  } as const
  const common = { key: KEY, sequence, row }
  const place =
    sequence === 1
      ? { type: 'snapshot', previous_sequence: null }
      : { type: 'update', previous_sequence: sequence - 1 }
  return { ...place, ...common } as unknown as LiveMessage
}

const market = (at: number, more = {}): LiveMessage => ({
  type: 'market',
  row: toMarketJson({ record: recordB(KEY, more), knownAt: sec(at) }),
})

async function* stream(messages: readonly LiveMessage[]): AsyncGenerator<LiveMessage> {
  yield* messages
}

const MISSED_PRICES: LiveMessage = {
  type: 'hole',
  venue: 'venuec',
  market_id: 'BTC',
  key: 'reference/chainlink/BTC',
  kind: 'reference',
  after_sequence: 8,
  sequence: 12,
}

describe('paper trading', () => {
  it('runs a strategy on live messages; heartbeats move the clock, lost connections are gaps', async () => {
    const seen: string[] = []
    const strategy: Strategy = {
      onBook(each, { buy }) {
        seen.push(`book ${each.sequence}`)
        buy({ market: each.market.id, price: 5000, size: 2, timeInForce: 'IOC' })
      },
      onFill: ({ size, at }) => void seen.push(`fill ${size} ${(at - sec(0)) / 1e6}`),
      onGap: ({ edge, reason }) => void seen.push(`gap ${edge} ${reason}`),
      onOrder: ({ reason }) => void (reason === 'in_gap' && seen.push('refused')),
    }
    const results: string[] = []
    const { report } = await paper({
      messages: stream([
        market(0),
        book(1, 1, 10),
        { type: 'heartbeat', server_time: time(1.5), sent: 2 },
        MISSED_PRICES,
        book(2, 2, 10),
        { type: 'disconnected', code: 1006, reason: 'broken', retry_ms: 100 },
        { type: 'heartbeat', server_time: time(3), sent: 0 },
        book(4, 3, 10),
        market(9, { status: 'resolved', resolution: { state: 'final', payouts: ['1', '0'] } }),
      ]),
      strategy,
      queue: 'pessimistic',
      reportEvery: 1,
      onResult: ({ report: now }) => results.push(now.headline.pnl),
    })
    expect(seen).toStrictEqual([
      'book 1',
      'fill 2 1.05',
      'book 2',
      'gap open disconnected',
      'refused',
      'gap close disconnected',
      'book 3',
      'fill 2 4.05',
    ])
    expect(report.headline.pnl_settled).toBe('1.92')
    expect(results).toHaveLength(3)
  })
})
