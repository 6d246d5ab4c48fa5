import { describe, expect, it } from 'vitest'
import type { Gap, MarketRecord, Micros } from '../domain/index.ts'
import { isFullRun } from '../domain/run-counts.testing.ts'
import type { ReplayBatch, ReplayEvent } from '../replay/index.ts'
import { BookColumns, Ladder } from '../tape/index.ts'
import type { DataFeed, DataRow } from './feeds/data-feed.ts'
import { createRandom } from './random.ts'
import { randomStrategy, randomTape } from './random-tape.testing.ts'
import { backtest } from './run.ts'
import type { Strategy } from './strategy.ts'

const rounds = isFullRun ? 1000 : 30

/** Notes everything that a strategy sees and does, as text, with its time. */
function witness(lines: [at: number, line: string][]): Strategy {
  const inner = randomStrategy()
  const say = (at: number, ...words: unknown[]): void =>
    void lines.push([at, JSON.stringify(words)])
  return {
    ...inner,
    onBook(book, context) {
      const { now } = context
      say(now, 'reference', context.reference('BTC'))
      say(now, 'book', book.market.id, book.sequence, book.bids(), book.asks(), book.market.status)
      const order = (request: Parameters<typeof context.order>[0]): number => {
        const id = context.order(request)
        say(now, 'order', id, request)
        return id
      }
      inner.onBook!(book, { ...context, now, order })
      say(now, context.position(book.market.id), context.cash('venueb'), context.cash('venuec'))
    },
    onQuote: (book, { now, exposure }) =>
      say(now, 'quote', book.microprice, exposure(book.market.id)),
    onReference: (price, { now }) => say(now, 'price', price),
    onReferenceGap: (gap, { now }) => say(now, 'price gap', gap),
    onData: (feed, row, { now }) => say(now, 'data', feed, row),
    onTrade: (trade, { now }) => say(now, 'trade', trade),
    onGap: (gap, { now }) => say(now, 'gap', gap),
    onFill: (fill, { now }) => say(now, 'fill', fill),
    onOrder: (order, { now }) => say(now, 'told', order),
    onMarket: (market, { now }) => say(now, 'market', market.id, market.status, market.native),
    onSettle: (paid, { now }) => say(now, 'settle', paid),
  }
}

async function linesOf(
  events: Iterable<ReplayBatch>,
  data: readonly DataFeed[],
  seed: number,
  until: number,
): Promise<string> {
  const lines: [number, string][] = []
  // Every second run has a feed and answers that travel.
  const travel = { kind: 'jitter', base: 0, spread: 900_000 } as const
  const latency = seed % 2 === 0 ? {} : { feed: travel, acknowledge: travel }
  await backtest({ events, data, strategy: witness(lines), seed, queue: 'proportional', latency })
  return lines
    .filter(([at]) => at < until)
    .map(([at, line]) => `${at} ${line}`)
    .join('\n')
}

/** The same tape up to T; after it rows, trades, records and gaps are garbage, ends of gaps too. */
function* poisoned(
  batches: Iterable<ReplayBatch>,
  until: number,
  seed: number,
): Generator<ReplayBatch> {
  const random = createRandom(seed, 'poison')
  const ladder = new Ladder(4)
  function* garbage(batch: ReplayBatch): Generator<ReplayEvent> {
    for (const event of batch) {
      if (event.at < until) {
        // What an open gap's record knows of its end lies in the future.
        if (event.kind === 'gap' && event.gap.end !== undefined && event.gap.end >= until) {
          yield { ...event, gap: { ...event.gap, end: (until + 7) as Micros } }
        } else yield event
        continue
      }
      switch (event.kind) {
        case 'book': {
          ladder.clear()
          const columns = new BookColumns(4)
          const keys = Array.from({ length: 3 }, () => 2 + random.below(19_990))
          const sizes = keys.map(() => 1 + random.below(1e9))
          for (const [index, key] of keys.entries()) ladder.apply(key, sizes[index]!)
          const head = { received: event.at, source: -1, venueSeq: -1, channel: -1, journal: 0 }
          columns.push({ ...head, flags: 65 }, keys, sizes)
          yield { ...event, ladder, columns, row: 0, flags: 65, sequence: 1 + random.below(1e6) }
          break
        }
        case 'trade':
          yield { ...event, price: (1 + random.below(9998)) as never, size: 1e9 as never }
          break
        case 'market': {
          const resolution = { state: 'final', payouts: ['0.123', '0.877'] } as const
          const record: MarketRecord = { ...event.record, status: 'voided', resolution, native: {} }
          yield { ...event, record }
          break
        }
        case 'gap': {
          const gap: Gap = { ...event.gap, reason: 'corrupt', start: until as Micros }
          yield { ...event, gap }
          break
        }
        case 'reference':
          yield { ...event, price: String(1 + random.below(1e9)) }
          break
        case 'sample':
          yield event
      }
    }
  }
  for (const batch of batches) yield garbage(batch)
}

/** The same tape with a reference price after every third event. */
function* priced(batches: Iterable<ReplayBatch>): Generator<ReplayBatch> {
  let sequence = 0
  function* withPrices(batch: ReplayBatch): Generator<ReplayEvent> {
    for (const event of batch) {
      yield event
      if (++sequence % 3 !== 0) continue
      const series = { venue: 'venuec', feed: 'chainlink', asset: 'BTC' } as const
      const price = `${64_000 + sequence}.5`
      const row = { sequence, source: undefined, flags: 0, price }
      yield { kind: 'reference', at: event.at, ...series, ...row }
    }
  }
  for (const batch of batches) yield withPrices(batch)
}

/** Two feeds with rows at the times of every fifth event and between events; one comes later than its time. */
function feedsOf(times: readonly number[]): DataFeed[] {
  const rows = times.flatMap((time, index) =>
    index % 5 === 0 ? [time, time + 1].map((at) => ({ time: at, values: { index } })) : [],
  )
  return [
    { name: 'volatility', rows },
    { name: 'funding', rows, delay: 250_000 },
  ]
}

/** The same feeds; what a strategy receives from a time on is garbage, and more of it. */
function poisonedFeeds(feeds: readonly DataFeed[], until: number): DataFeed[] {
  return feeds.map((feed) => {
    const { delay = 0 } = feed
    const rows = [...(feed.rows as Iterable<DataRow>)].flatMap((row) =>
      row.time + delay < until
        ? [row]
        : [row, row].map(({ time }) => ({ time: time + 3, values: { poison: 'x', index: -1 } })),
    )
    return { ...feed, rows }
  })
}

describe('the future', () => {
  it(`changes no byte of the views and orders before it, at ${rounds} random times`, async () => {
    const random = createRandom(1, 'times')
    let compared = 0
    for (let round = 0; round < rounds; round++) {
      const seed = round % 25
      const tape = randomTape(seed, 120)
      const times: number[] = []
      for (const batch of tape.batches()) for (const { at } of batch) times.push(at)
      const until = times[random.below(times.length)]! + random.below(2)
      const feeds = feedsOf(times)
      const honest = await linesOf(priced(tape.batches()), feeds, seed, until)
      expect(honest.includes('"volatility"')).toBe(until > times[1]!)
      const bad = poisonedFeeds(feeds, until)
      const other = await linesOf(poisoned(priced(tape.batches()), until, round), bad, seed, until)
      expect(other === honest, `round ${round}`).toBe(true)
      compared += honest.length
    }
    expect(compared).toBeGreaterThan(rounds * 1000)
  })
})
