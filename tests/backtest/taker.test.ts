import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { writeBacktestFiles } from '../../bench/lib/backtest-files.ts'
import { generateRecordings } from '../../bench/lib/generator.ts'
import { parseFixed } from '../../bench/lib/naive-fold.ts'
import { createRandom } from '../../bench/lib/random.ts'
import { findRecordings, readLines, type RecordedTicker } from '../../bench/lib/recordings.ts'
import { take, toMap, type RecordedEvent, type TestOrder } from './naive-taker.ts'
import { backtest, type Strategy } from '../../packages/sdk/src/backtest/index.ts'
import { replayFiles } from '../../packages/sdk/src/replay/replay-node.ts'

const folder = mkdtempSync(join(tmpdir(), 'priorbook-taker-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const recordings = process.env['PRIORBOOK_RECORDINGS'] ?? ''
const ORDERS = 10_000
// One market has more messages than the other five together; only full runs include it.
const isWanted = (ticker: string): boolean =>
  process.env['PRIORBOOK_FULL'] === '1' || !ticker.endsWith('102130-30')

describe('taker fills agree with a naive reimplementation', () => {
  it(`on ${ORDERS} random orders over generated markets`, async () => {
    const made = join(folder, 'generated')
    generateRecordings(made, 3, 0.03)
    expect(await differences(made, join(folder, 'generated-tape'))).toStrictEqual([])
  })

  it.skipIf(recordings === '')(
    `on ${ORDERS} random orders over the recorded markets (PRIORBOOK_RECORDINGS)`,
    async () => {
      expect(await differences(recordings, join(folder, 'recorded-tape'))).toStrictEqual([])
    },
  )
})

async function differences(source: string, target: string): Promise<string[]> {
  const tickers = findRecordings(source).filter(({ ticker }) => isWanted(ticker))
  const { files } = writeBacktestFiles(source, target, 1, isWanted)
  const orders = drawOrders(tickers)
  const naive = new Map<number, string>()
  for (const ticker of tickers) naiveFills(ticker, orders, naive)
  const engine = await engineFills(files, orders)
  const filled = [...naive.values()].filter((fills) => fills !== '').length
  if (filled < ORDERS / 10) throw new Error(`only ${filled} orders were filled at all`)
  return orders.flatMap((order, index) => {
    const expected = naive.get(index) ?? ''
    const got = engine.get(index) ?? ''
    return got === expected ? [] : [`${JSON.stringify(order)}: ${got}, not ${expected}`]
  })
}

function drawOrders(tickers: readonly RecordedTicker[]): TestOrder[] {
  const random = createRandom(99)
  const spans = tickers.map((ticker) => {
    let first = Infinity
    let last = 0
    for (const line of readLines(ticker)) {
      const ms = Number(/"recv_ms":\s*(\d+)/.exec(line)![1])
      first = Math.min(first, ms)
      last = Math.max(last, ms)
    }
    return { ticker: ticker.ticker, first, last }
  })
  return Array.from({ length: ORDERS }, () => {
    const { ticker, first, last } = random.pick(spans)
    return {
      at: random.integer(first * 1000, last * 1000),
      ticker,
      isYes: random.chance(0.5),
      isBuy: random.chance(0.5),
      limit: random.chance(0.5) ? undefined : random.integer(1, 99) * 100,
      size: random.chance(0.9) ? random.integer(1, 20_000) : random.integer(20_000, 500_000),
    }
  }).sort((left, right) => left.at - right.at)
}

/** Matches orders against maps of levels by sorting, without code of the product. */
function naiveFills(
  recorded: RecordedTicker,
  orders: readonly TestOrder[],
  into: Map<number, string>,
): void {
  const own = [...orders.entries()].filter(([, { ticker }]) => ticker === recorded.ticker)
  let yes = new Map<number, number>()
  let no = new Map<number, number>()
  let taken = new Map<string, number>()
  let isOpen = false
  let last = 0
  let next = 0
  const meet = (until: number, inGap: boolean): void => {
    while (next < own.length && own[next]![1].at < until) {
      const [index, order] = own[next++]!
      if (isOpen && !inGap) into.set(index, take(order, yes, no, taken))
    }
  }
  for (const line of readLines(recorded)) {
    const { recv_ms: ms, event } = JSON.parse(line) as { recv_ms: number; event: RecordedEvent }
    const at = ms * 1000
    if (event.type === 'trade') continue
    if (event.type === 'orderbook_snapshot') {
      const isEmpty =
        event.msg.yes_dollars_fp === undefined && event.msg.no_dollars_fp === undefined
      // A full book in the middle means a new connection, so the time before it is a gap.
      const isNew = isOpen && !isEmpty && at - last < 5_000_000
      meet(last, false)
      meet(at, isNew)
      yes = toMap(event.msg.yes_dollars_fp)
      no = toMap(event.msg.no_dollars_fp)
      if (isNew) taken = new Map()
      for (const [name, amount] of taken) {
        const [side, price] = name.split(' ')
        const size = (side === 'yes' ? yes : no).get(Number(price)) ?? 0
        if (size < amount) taken.set(name, size)
      }
      isOpen = true
    } else {
      if (!isOpen) continue
      meet(at, false)
      const side = event.msg.side === 'yes' ? yes : no
      const price = parseFixed(event.msg.price_dollars!, 4)
      const size = (side.get(price) ?? 0) + parseFixed(event.msg.delta_fp!, 2)
      if (size === 0) side.delete(price)
      else side.set(price, size)
      const name = `${event.msg.side} ${price}`
      if (size < (taken.get(name) ?? 0)) taken.set(name, size)
    }
    last = at
  }
  meet(Infinity, false)
}

async function engineFills(
  files: readonly string[],
  orders: readonly TestOrder[],
): Promise<Map<number, string>> {
  const fills = new Map<number, string>()
  const strategy: Strategy = {
    onStart({ timerAt }) {
      for (const [index, { at }] of orders.entries()) timerAt(at, String(index))
    },
    onTimer({ tag }, { order }) {
      const { ticker, isYes, isBuy, limit, size } = orders[Number(tag)]!
      order({
        market: `venueb:${ticker}`,
        side: isBuy ? 'buy' : 'sell',
        outcome: isYes ? 0 : 1,
        size: size / 100,
        timeInForce: 'IOC',
        ...(limit === undefined ? {} : { price: limit }),
        tag,
      })
    },
    onFill({ tag, price, size }) {
      const before = fills.get(Number(tag))
      fills.set(Number(tag), `${before === undefined ? '' : `${before} `}${price}x${size}`)
    },
  }
  const { report } = await backtest({
    events: replayFiles(files),
    strategy,
    queue: 'pessimistic',
    cash: '50000000',
    latency: { entry: 0 },
  })
  if (report.failure !== null) throw new Error(report.failure.message)
  return fills
}
