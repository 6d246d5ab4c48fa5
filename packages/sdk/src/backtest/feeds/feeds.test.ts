import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Gap, Micros } from '../../domain/index.ts'
import type { ReplayEvent } from '../../replay/index.ts'
import { backtest, type BacktestOptions } from '../run.ts'
import type { Strategy } from '../strategy.ts'
import { recordB, sec, TestTape } from '../tape.testing.ts'
import type { DataFeed, DataRow } from './data-feed.ts'
import { dataFile } from './data-file-node.ts'
import { parseDataTime } from './data-time.ts'

const KEY = 'KX-1-A'

function tapeOf(seconds: readonly number[]): TestTape {
  const tape = new TestTape().market(sec(0), recordB(KEY))
  const own = tape.instrument('venueb', KEY)
  for (const [index, second] of seconds.entries()) {
    tape.book(sec(second), own, [[4800, 1000 + index]], [[5000, 1000]])
  }
  return tape
}

function witness(seen: string[]): Strategy {
  return {
    onBook: ({ sequence }, { now }) => void seen.push(`${(now - sec(0)) / 1e6} book ${sequence}`),
    onData: (feed, { time, values }, { now }) =>
      void seen.push(
        `${(now - sec(0)) / 1e6} ${feed} ${JSON.stringify(values['n'])} of ${(time - sec(0)) / 1e6}`,
      ),
  }
}

const row = (second: number, n: number): DataRow => ({ time: sec(second), values: { n } })

async function play(data: readonly DataFeed[], to?: number) {
  const seen: string[] = []
  const { report } = await backtest({
    events: tapeOf([1, 2, 3]).batches(),
    strategy: witness(seen),
    data,
    queue: 'pessimistic',
    ...(to === undefined ? {} : { to }),
  })
  return { seen, report }
}

describe('feeds', () => {
  it('play rows by their received time, after events of the same time; of earlier rows the last one counts', async () => {
    const data = [
      { name: 'b', rows: [row(-9, 1), row(-5, 2), row(2, 3), row(2.5, 4)] },
      { name: 'a', rows: [row(2, 7), row(9, 8)], delay: 500_000 },
    ]
    const { seen, report } = await play(data)
    expect(seen).toEqual([
      '0 b 2 of -5',
      '1 book 1',
      '2 book 2',
      '2 b 3 of 2',
      '2.5 a 7 of 2',
      '2.5 b 4 of 2.5',
      '3 book 3',
    ])
    expect(report.coverage.data).toEqual({ a: 1, b: 3 })
    expect((await play(data.toReversed())).seen).toEqual(seen)
    // With an end, time goes on after the last event.
    expect((await play(data, sec(10))).seen.slice(7)).toEqual(['9.5 a 8 of 9'])
    expect((await play(data, sec(9.5))).seen).toEqual(seen)
  })

  it('read thousands of rows of slow feeds between two events, in order', async () => {
    async function* slow(count: number): AsyncGenerator<DataRow> {
      for (let n = 0; n < count; n++) {
        if (n % 700 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
        yield { time: sec(1) + 1 + n * 100, values: { n } }
      }
    }
    const data = [
      { name: 'x', rows: slow(5000) },
      { name: 'y', rows: slow(3000) },
    ]
    const { seen, report } = await play(data)
    expect(report.coverage.data).toEqual({ x: 5000, y: 3000 })
    const times = seen.map((line) => Number(line.split(' ')[0]))
    expect(times).toEqual(times.toSorted((left, right) => left - right))
    const books = seen.flatMap((line, index) => (line.includes('book') ? [index] : []))
    expect(books).toEqual([0, 8001, 8002])
  })

  it.each([
    [[{ name: 'a', rows: [row(2, 1), row(1, 2)] }], 'row 2 of the feed a is earlier'],
    [[{ name: 'a', rows: [{ time: Number.NaN, values: {} }] }], 'row 1 of the feed a has no time'],
    [[{ name: 'a', rows: [], delay: -1 }], 'the delay -1 of the feed a'],
    [
      [
        { name: 'a', rows: [] },
        { name: 'a', rows: [] },
      ],
      'two feeds have the same name',
    ],
  ])('refuse wrong input: %#', async (data, text) => {
    await expect(play(data)).rejects.toThrow(text)
  })

  it('hand out rows that cannot be changed', async () => {
    const strategy: Strategy = {
      onData(_, { values }) {
        ;(values as { n: number }).n = 9
      },
    }
    const events = tapeOf([1]).batches()
    const data = [{ name: 'a', rows: [row(0, 1)] }]
    const { report } = await backtest({ events, strategy, data, queue: 'pessimistic' })
    expect(report.failure?.hook).toBe('onData')
  })
})

describe('gaps of reference prices', () => {
  const heard = async (latency: BacktestOptions['latency']): Promise<string[]> => {
    const series = { venue: 'venuec', feed: 'chainlink', asset: 'BTC' } as const
    const price = (second: number, sequence: number): ReplayEvent => ({
      kind: 'reference',
      at: sec(second) as Micros,
      ...series,
      sequence,
      source: undefined,
      flags: 0,
      price: `6400${sequence}`,
    })
    const gapOf = (start: number, key: string, scope: Gap['scope']): Gap => ({
      venue: 'venuec',
      scope,
      key,
      reason: 'disconnected',
      start: sec(start) as Micros,
      afterSequence: 1,
      journal: 0,
    })
    const edge = (second: number, which: 'open' | 'close', gap: Gap): ReplayEvent => ({
      kind: 'gap',
      at: sec(second) as Micros,
      edge: which,
      gap,
    })
    const own = gapOf(1.2, 'reference/chainlink/BTC', 'instrument')
    const whole = gapOf(2.2, '', 'venue')
    const added = [
      price(1.1, 1),
      edge(1.2, 'open', own),
      edge(1.5, 'close', own),
      price(1.6, 2),
      edge(2.2, 'open', whole),
      edge(2.5, 'close', whole),
    ]
    // Rows of a test tape are read where they stand, so the others go between its batches.
    function* batches() {
      for (const batch of tapeOf([1, 2, 3]).batches()) {
        yield (function* () {
          for (const event of batch) {
            while (added[0] !== undefined && added[0].at < event.at) yield added.shift()!
            yield event
          }
        })()
      }
    }
    const seen: string[] = []
    const { report } = await backtest({
      events: batches(),
      queue: 'pessimistic',
      ...(latency === undefined ? {} : { latency }),
      strategy: {
        onStart: ({ timerAt }) => [1.25, 1.35, 1.65, 1.75].forEach((at) => timerAt(sec(at))),
        onTimer: (_, { now, reference }) =>
          void seen.push(`${(now - sec(0)) / 1e6} ${reference('BTC')?.exact}`),
        onReferenceGap: ({ asset, feed, edge: which, reason }, { now, reference }) =>
          void seen.push(
            `${(now - sec(0)) / 1e6} ${feed} ${asset} ${which} ${reason} ${reference('BTC')?.exact}`,
          ),
      },
    })
    expect(report.failure).toBeNull()
    return seen
  }

  it('are delivered with their begin and end', async () => {
    expect(await heard(undefined)).toEqual([
      '1.2 chainlink BTC open disconnected undefined',
      '1.25 undefined',
      '1.35 undefined',
      '1.5 chainlink BTC close disconnected undefined',
      '1.65 64002',
      '1.75 64002',
      '2.2 chainlink BTC open disconnected undefined',
      '2.5 chainlink BTC close disconnected undefined',
    ])
  })

  it('are heard as late as everything else where the feed is delayed', async () => {
    expect(await heard({ feed: 100_000 })).toEqual([
      '1.25 64001',
      '1.3 chainlink BTC open disconnected undefined',
      '1.35 undefined',
      '1.6 chainlink BTC close disconnected undefined',
      '1.65 undefined',
      '1.75 64002',
      '2.3 chainlink BTC open disconnected undefined',
      '2.6 chainlink BTC close disconnected undefined',
    ])
  })
})

async function readAll(rows: AsyncIterable<DataRow>): Promise<DataRow[]> {
  const list: DataRow[] = []
  for await (const each of rows) list.push(each)
  return list
}

describe('files of rows', () => {
  function fileOf(name: string, text: string): string {
    const folder = mkdtempSync(join(tmpdir(), 'priorbook-feed-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }

  it('are CSV with a header, or NDJSON, with the received time in a known or named column', async () => {
    const csv = fileOf(
      'a.csv',
      '\uFEFFtime,price,note\n2026-11-17T10:00:00Z,1.25,"a ""b"", c"\n2026-11-17 10:00:01.5,,x\n',
    )
    const expected = [
      { time: 1_794_909_600_000_000, values: { price: 1.25, note: 'a "b", c' } },
      { time: 1_794_909_601_500_000, values: { price: null, note: 'x' } },
    ]
    expect(await readAll(dataFile(csv))).toEqual(expected)
    const json = fileOf(
      'a.ndjson',
      '{"seen":1794909600,"price":1.25,"note":"a \\"b\\", c"}\n\n{"seen":1794909601.5,"price":null,"note":"x"}\n',
    )
    expect(await readAll(dataFile(json, 'seen'))).toEqual(expected)
  })

  it.each([
    ['a.csv', 'price\n1\n', undefined, 'has none of the columns received_time'],
    ['a.csv', 'time,price\n1\n', undefined, 'line 2 of'],
    ['a.csv', 'time,price\nnever,1\n', undefined, 'row 1 of'],
    ['a.csv', 'time,price\n1794909600,1\n', 'seen', 'has no column seen'],
    ['a.ndjson', '[]\n', undefined, 'line 1 of'],
    ['a.txt', '', undefined, 'is neither .csv'],
  ])('are refused: %s %j', async (name, text, column, message) => {
    await expect(readAll(dataFile(fileOf(name, text), column))).rejects.toThrow(message)
  })

  it.each([
    [1_794_909_600, 1_794_909_600_000_000],
    [1_794_909_600_123, 1_794_909_600_123_000],
    ['1794909600.5', 1_794_909_600_500_000],
    [1_794_909_600_123_456n, 1_794_909_600_123_456],
    [1_794_909_600_123_456_789n, 1_794_909_600_123_456],
    ['2026-11-17T12:00:00+02:00', 1_794_909_600_000_000],
    ['2026-11-17T10:00:00.000001', 1_794_909_600_000_001],
    [5, undefined],
    ['17:00', undefined],
    [null, undefined],
  ])('read the time %s', (value, micros) => {
    expect(parseDataTime(value)).toBe(micros)
  })
})
