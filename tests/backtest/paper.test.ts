import { describe, expect, it } from 'vitest'
import { paper, type Strategy } from '../../packages/sdk/src/backtest/index.ts'
import { recordB, sec } from '../../packages/sdk/src/backtest/tape.testing.ts'
import type { LiveMessage } from '../../packages/sdk/src/client/index.ts'
import { printMicros, type Micros } from '../../packages/sdk/src/domain/index.ts'
import { toMarketJson } from '../../packages/sdk/src/wire/index.ts'

const KEY = 'KX-1-A'
const time = (at: number): string => printMicros(sec(at) as Micros)

function book(sequence: number): LiveMessage {
  const row = {
    id: `venueb:${KEY}:${sequence}`,
    venue: 'venueb',
    market_id: KEY,
    token_id: null,
    received_time: time(sequence),
    source_time: null,
    sequence,
    flags: [],
    bids: { price: ['0.48'], size: ['30'] },
    asks: { price: ['0.5'], size: ['10'] },
  } as const
  const place =
    sequence === 1
      ? { type: 'snapshot', previous_sequence: null }
      : { type: 'update', previous_sequence: sequence - 1 }
  return { ...place, key: KEY, sequence, row } as unknown as LiveMessage
}

/** A stream without an end: books, or after some of them only heartbeats. */
function openStream(books = Infinity) {
  let read = 0
  let isClosed = false
  async function* messages(): AsyncGenerator<LiveMessage> {
    try {
      yield { type: 'market', row: toMarketJson({ record: recordB(KEY), knownAt: sec(0) }) }
      // A run that reads on for ever fails with this instead.
      for (read = 1; read < 1000; read++) {
        if (read <= books) yield book(read)
        else yield { type: 'heartbeat', server_time: time(read), sent: read }
      }
    } finally {
      isClosed = true
    }
  }
  return { messages: messages(), read: () => read, isClosed: () => isClosed }
}

const fail = (): never => {
  throw new Error('no idea')
}

describe('paper trading with a strategy that fails', () => {
  it('stops reading the stream there', async () => {
    const stream = openStream()
    let books = 0
    const strategy: Strategy = { onBook: () => void (++books === 3 && fail()) }
    const { report } = await paper({ messages: stream.messages, strategy, queue: 'pessimistic' })
    expect(report).toMatchObject({ status: 'failed', failure: { hook: 'onBook', at: sec(3) } })
    expect([stream.read(), stream.isClosed()]).toEqual([3, true])
  })

  it('stops where a heartbeat lets a timer fail', async () => {
    const stream = openStream(2)
    const strategy: Strategy = {
      onStart: ({ timerAt }) => timerAt(sec(5)),
      onTimer: fail,
    }
    const { report } = await paper({ messages: stream.messages, strategy, queue: 'pessimistic' })
    expect(report.failure).toMatchObject({ hook: 'onTimer' })
    expect([stream.read(), stream.isClosed()]).toEqual([6, true])
  })

  it('goes on for the queue models whose strategy still runs', async () => {
    const stream = openStream()
    let made = 0
    const strategy = (): Strategy => {
      const last = ++made * 10
      return { onBook: ({ sequence }) => void (sequence === last && fail()) }
    }
    const { reports } = await paper({ messages: stream.messages, strategy })
    expect(reports.map(({ failure }) => failure?.at)).toEqual([sec(10), sec(20), sec(30)])
    expect(stream.read()).toBe(30)
  })
})
