import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeBacktestFiles } from '../../bench/lib/backtest-files.ts'
import { generateRecordings } from '../../bench/lib/generator.ts'
import { parseFixed } from '../../bench/lib/naive-fold.ts'
import { findRecordings, readLines, type RecordedTicker } from '../../bench/lib/recordings.ts'
import { sweep, type OrderRequest, type Strategy } from '../../packages/sdk/src/backtest/index.ts'
import { replayFiles } from '../../packages/sdk/src/replay/replay-node.ts'
import { NaiveFees } from './naive-fees.ts'
import { NaiveMaker, type MakerRule, type Outcome, type Quote } from './naive-maker.ts'
import { take, toMap, type RecordedEvent } from './naive-taker.ts'

const folder = mkdtempSync(join(tmpdir(), 'priorbook-audit-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const recordings = process.env['PRIORBOOK_RECORDINGS'] ?? ''
const COPIES = 2
const DAY = 86_400_000_000
const LATENCY = 50_000
const SECOND = 1_000_000
const START = 10_000_000n * 100_000_000n
// Five recorded markets and their copies are ten; the sixth is larger than all others together.
const isWanted = (ticker: string): boolean =>
  process.env['PRIORBOOK_FULL'] === '1' || !ticker.endsWith('102130-30')

type Wish = Pick<OrderRequest, 'side' | 'outcome' | 'size' | 'timeInForce'> & { price?: number }

/** Decides by best prices and time alone; one per market and run. 0 and 10,000 are sides without levels. */
type Rule = (now: number, bid: number, ask: number) => Wish | undefined

function everyMove(least: number, wish: (isUp: boolean, bid: number, ask: number) => Wish): Rule {
  let last = -1
  return (_now, bid, ask) => {
    if (bid === 0 || ask === 10_000) return undefined
    const sum = bid + ask
    const moved = sum - last
    if (last >= 0 && Math.abs(moved) <= least * 2) return undefined
    const isFirst = last < 0
    last = sum
    return isFirst ? undefined : wish(moved > 0, bid, ask)
  }
}

function everySeconds(
  seconds: number,
  wish: (count: number, bid: number, ask: number) => Wish | undefined,
): Rule {
  let next = 0
  let count = 0
  return (now, bid, ask) => {
    if (now < next || bid === 0 || ask === 10_000) return undefined
    const made = wish(count, bid, ask)
    if (made === undefined) return undefined
    next = now + seconds * SECOND
    count++
    return made
  }
}

const RULES: readonly (() => Rule)[] = [
  () => everyMove(600, (isUp) => ({ side: isUp ? 'buy' : 'sell', size: 2 })),
  () =>
    everyMove(1000, (isUp, bid, ask) =>
      isUp
        ? { side: 'sell', size: 30, price: Math.max(100, bid - 100), timeInForce: 'IOC' }
        : { side: 'buy', size: 30, price: Math.min(9900, ask + 100), timeInForce: 'IOC' },
    ),
  () =>
    everySeconds(10, (_count, _bid, ask) =>
      ask <= 2000 ? { side: 'buy', size: 10, price: ask, timeInForce: 'IOC' } : undefined,
    ),
  () =>
    everySeconds(10, (_count, bid) =>
      bid >= 8000 ? { side: 'buy', outcome: 1, size: 5 } : undefined,
    ),
  () => everySeconds(60, (count) => ({ side: count % 2 === 0 ? 'buy' : 'sell', size: 500 })),
  () =>
    everySeconds(30, (_count, _bid, ask) => ({
      side: 'buy',
      size: 50,
      price: ask,
      timeInForce: 'FOK',
    })),
]

/** Makers: at the best prices, inside the spread with fractions of contracts, and in contracts of No. */
const MAKERS: readonly (() => MakerRule)[] = [
  () =>
    quoting(20, 1, (bid, ask) => [
      { side: 'buy', outcome: 0, price: bid, size: 10 },
      { side: 'sell', outcome: 0, price: ask, size: 10 },
    ]),
  () =>
    quoting(5, 12, (bid, ask) => [
      { side: 'buy', outcome: 0, price: ask - bid > 200 ? bid + 100 : bid, size: 3.37 },
      { side: 'sell', outcome: 0, price: Math.min(9900, ask + 100), size: 40.5 },
    ]),
  () =>
    quoting(45, 3, (bid, ask) => [
      { side: 'buy', outcome: 1, price: 10_000 - ask, size: 7 },
      { side: 'sell', outcome: 1, price: Math.min(9900, 10_000 - bid + 100), size: 25 },
    ]),
]

/** Quotes every few seconds, and cancels what is left with every nth time. */
function quoting(
  seconds: number,
  every: number,
  quotes: (bid: number, ask: number) => readonly Quote[],
): MakerRule {
  let next = 0
  let count = 0
  return (now, bid, ask) => {
    if (now < next || bid === 0 || ask === 10_000) return undefined
    next = now + seconds * SECOND
    return { cancels: count++ % every === 0, quotes: quotes(bid, ask) }
  }
}

/** Runs a rule over one recorded market, `shift` later, with maps and sorting only. */
function audit(
  recorded: RecordedTicker,
  market: string,
  shift: number,
  rule: Rule,
  out: Outcome,
): void {
  let yes = new Map<number, number>()
  let no = new Map<number, number>()
  let taken = new Map<string, number>()
  const waiting: { at: number; wish: Wish }[] = []
  let isOpen = false
  let last = 0
  let net = 0n
  const fill = (at: number, { side, outcome = 0, size, price, timeInForce }: Wish): void => {
    const isBuy = side === 'buy'
    const isYes = outcome === 0
    const order = { at, ticker: market, isYes, isBuy, limit: price, size: Number(size) * 100 }
    const before = new Map(taken)
    const text = take(order, yes, no, taken)
    const levels = text === '' ? [] : text.split(' ').map((each) => each.split('x').map(Number))
    const got = levels.reduce((sum, [, units]) => sum + Math.round(units! * 100), 0)
    if (timeInForce === 'FOK' && got < order.size) {
      taken = before
      return
    }
    const fees = new NaiveFees(7n)
    for (const [paid, shares] of levels) {
      const units = Math.round(shares! * 100)
      const fee = fees.charge(paid!, units, isBuy)
      out.fills.push(`${market} ${at} ${side} ${String(outcome)} ${paid}x${shares} ${fee}`)
      out.fees += fee
      // A purchase of No is a sale of Yes at the complement.
      const yesPrice = BigInt(isYes ? paid! : 10_000 - paid!)
      const sign = isBuy === isYes ? 1n : -1n
      out.cash -= sign * yesPrice * BigInt(units) * 100n + fee
      net += sign * BigInt(units)
    }
  }
  const meet = (until: number, inGap: boolean): void => {
    while (waiting.length > 0 && waiting[0]!.at < until) {
      const { at, wish } = waiting.shift()!
      if (isOpen && !inGap) fill(at, wish)
    }
  }
  for (const line of readLines(recorded)) {
    const { recv_ms: ms, event } = JSON.parse(line) as { recv_ms: number; event: RecordedEvent }
    const at = ms * 1000 + shift
    if (event.type === 'trade') continue
    if (event.type === 'orderbook_snapshot') {
      const { yes_dollars_fp: bids, no_dollars_fp: asks } = event.msg
      const isNew = isOpen && (bids !== undefined || asks !== undefined) && at - last < 5 * SECOND
      meet(last, false)
      meet(at, isNew)
      yes = toMap(bids)
      no = toMap(asks)
      if (isNew) taken = new Map()
      for (const [name, amount] of taken) {
        const [side, price] = name.split(' ')
        taken.set(name, Math.min(amount, (side === 'yes' ? yes : no).get(Number(price)) ?? 0))
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
    const bid = Math.max(0, ...yes.keys())
    const ask = 10_000 - Math.max(0, ...no.keys())
    const wish = rule(at, bid, ask)
    if (wish !== undefined) waiting.push({ at: at + LATENCY, wish })
  }
  // A run ends with its last row: what arrives later meets nothing.
  meet(last + 1, false)
  // Contracts that are short are No, each bought for what Yes lacks to a dollar.
  if (net < 0n) out.cash += net * 1_000_000n
}

async function takers(files: readonly string[]): Promise<Outcome[]> {
  return engine(files, RULES.length, (index, fills) => {
    const rules = new Map<string, Rule>()
    return {
      onBook({ market: { id }, bestBid, bestAsk }, { now, order }) {
        const rule = rules.get(id) ?? RULES[index]!()
        rules.set(id, rule)
        const wish = rule(now, bestBid ?? 0, bestAsk ?? 10_000)
        if (wish !== undefined) order({ market: id, ...wish })
      },
      onFill: ({ market, at, side, outcome, price, size, fee }) =>
        void fills.push(`${market} ${at} ${side} ${outcome} ${price}x${size} ${units(fee)}`),
    }
  })
}

async function makers(files: readonly string[]): Promise<Outcome[]> {
  return engine(files, MAKERS.length, (index, fills) => {
    const rules = new Map<string, MakerRule>()
    return {
      onBook({ market: { id: market }, bestBid, bestAsk }, { now, order, cancelAll }) {
        const rule = rules.get(market) ?? MAKERS[index]!()
        rules.set(market, rule)
        const step = rule(now, bestBid ?? 0, bestAsk ?? 10_000)
        if (step?.cancels === true) cancelAll(market)
        for (const quote of step?.quotes ?? []) order({ market, ...quote, postOnly: true })
      },
      onFill: ({ market, at, side, outcome, price, size, fee, evidence }) =>
        void fills.push(
          `${market} ${at} ${side} ${outcome} ${price}x${size} ${units(fee)} ${evidence}`,
        ),
    }
  })
}

async function engine(
  files: readonly string[],
  count: number,
  create: (index: number, fills: string[]) => Strategy,
): Promise<Outcome[]> {
  const all = Array.from({ length: count }, (): string[] => [])
  const results = await sweep({
    events: replayFiles(files),
    params: all.map((_, index) => ({ index })),
    queue: 'pessimistic',
    cash: '10000000',
    latency: { entry: LATENCY, cancel: LATENCY },
    strategy: ({ index }) => create(Number(index), all[Number(index)]!),
  })
  return all.map((fills, index) => {
    const { report } = results[index]!
    if (report.failure !== null) throw new Error(report.failure.message)
    return { fills, cash: units(report.venues[1]!.cash), fees: units(report.headline.fees) }
  })
}

function units(text: string): bigint {
  const [whole = '0', part = ''] = text.split('.')
  return BigInt(whole) * 100_000_000n + BigInt(part.padEnd(8, '0'))
}

type NaiveRun = (
  recorded: RecordedTicker,
  market: string,
  shift: number,
  index: number,
  out: Outcome,
) => void

/** Compares every run with the naive one, market by market; gives the number of fills. */
function compare(source: string, got: readonly Outcome[], naive: NaiveRun): number {
  let fills = 0
  for (const [index, own] of got.entries()) {
    const expected: Outcome = { fills: [], cash: START, fees: 0n }
    for (const recorded of findRecordings(source)) {
      if (!isWanted(recorded.ticker)) continue
      for (let copy = 0; copy < COPIES; copy++) {
        const name = copy === 0 ? recorded.ticker : `${recorded.ticker}-C${copy}`
        naive(recorded, `venueb:${name}`, copy * DAY, index, expected)
      }
    }
    expect(own.fills.toSorted(), `rule ${index}`).toStrictEqual(expected.fills.toSorted())
    expect([own.cash, own.fees], `rule ${index}`).toStrictEqual([expected.cash, expected.fees])
    fills += own.fills.length
  }
  return fills
}

const naiveTaker: NaiveRun = (recorded, market, shift, index, out) =>
  audit(recorded, market, shift, RULES[index]!(), out)
const naiveMaker: NaiveRun = (recorded, market, shift, index, out) =>
  new NaiveMaker(market, MAKERS[index]!(), out).run(recorded, shift)

describe.each([
  ['generated', ''],
  ['recorded (PRIORBOOK_RECORDINGS)', recordings],
])(
  'over ten %s markets a naive reimplementation has every fill, fee and balance',
  (name, given) => {
    const isGenerated = name === 'generated'
    const isSkipped = !isGenerated && given === ''
    const source = isGenerated ? join(folder, 'generated') : given
    let files: readonly string[] = []

    beforeAll(() => {
      if (isSkipped) return
      if (isGenerated) generateRecordings(source, 5, 0.02)
      files = writeBacktestFiles(source, join(folder, `${name}-tape`), COPIES, isWanted).files
    })

    it.skipIf(isSkipped)('of six strategies that take', async () => {
      const fills = compare(source, await takers(files), naiveTaker)
      expect(fills).toBeGreaterThan(isGenerated ? 100 : 1000)
    })

    it.skipIf(isSkipped)('of three that rest, in the pessimistic queue', async () => {
      const got = await makers(files)
      expect(compare(source, got, naiveMaker)).toBeGreaterThan(isGenerated ? 50 : 500)
      // Every kind of evidence that streamed books give is among them.
      for (const evidence of ['book_cross', 'print_at_level', 'print_through']) {
        expect(got.some(({ fills }) => fills.some((fill) => fill.endsWith(evidence)))).toBe(true)
      }
    })
  },
)
