import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { writeBacktestFiles } from '../../bench/lib/backtest-files.ts'
import { generateRecordings } from '../../bench/lib/generator.ts'
import { parseFixed } from '../../bench/lib/naive-fold.ts'
import { findRecordings, readLines, type RecordedTicker } from '../../bench/lib/recordings.ts'
import { sweep, type OrderRequest, type Strategy } from '../../packages/sdk/src/backtest/index.ts'
import { replayFiles } from '../../packages/sdk/src/replay/replay-node.ts'
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

const ceil = (value: bigint, step: bigint): bigint =>
  (value >= 0n ? (value + step - 1n) / step : value / step) * step
const floor = (value: bigint, step: bigint): bigint => -ceil(-value, step)

/** The fees of one order by the published rules, in 10^−8 dollars: quadratic, to the cent, cents refunded. */
class NaiveFees {
  private owed = 0n

  charge(price: number, size: number, isBuy: boolean): bigint {
    const cent = 1_000_000n
    // 0.07 × contracts × p × (1 − p); prices count 10^−4, sizes 10^−2.
    const product = 7n * BigInt(size) * BigInt(price) * BigInt(10_000 - price)
    const fee = ceil(product, 10_000n * 10_000n) / 10_000n
    const revenue = BigInt(price) * BigInt(size) * 100n * (isBuy ? -1n : 1n)
    const change = revenue - fee
    const rounding = change - floor(change, cent)
    this.owed += rounding
    const whole = floor(this.owed, cent)
    const most = floor(fee + rounding, cent)
    const refund = whole < most ? whole : most
    this.owed -= refund
    return fee + rounding - refund
  }
}

type Outcome = { readonly fills: string[]; cash: bigint; fees: bigint }

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
    const fees = new NaiveFees()
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

async function engine(files: readonly string[]): Promise<Outcome[]> {
  const outcomes = RULES.map((): Outcome => ({ fills: [], cash: 0n, fees: 0n }))
  const results = await sweep({
    events: replayFiles(files),
    params: RULES.map((_, index) => ({ index })),
    queue: 'pessimistic',
    cash: '10000000',
    latency: { entry: LATENCY },
    strategy({ index }): Strategy {
      const rules = new Map<string, Rule>()
      const { fills } = outcomes[Number(index)]!
      return {
        onBook({ market: { id }, bestBid, bestAsk }, { now, order }) {
          const rule = rules.get(id) ?? RULES[Number(index)]!()
          rules.set(id, rule)
          const wish = rule(now, bestBid ?? 0, bestAsk ?? 10_000)
          if (wish !== undefined) order({ market: id, ...wish })
        },
        onFill: ({ market, at, side, outcome, price, size, fee }) =>
          void fills.push(`${market} ${at} ${side} ${outcome} ${price}x${size} ${units(fee)}`),
      }
    },
  })
  return outcomes.map(({ fills }, index) => {
    const { report } = results[index]!
    if (report.failure !== null) throw new Error(report.failure.message)
    return { fills, cash: units(report.venues[1]!.cash), fees: units(report.headline.fees) }
  })
}

function units(text: string): bigint {
  const [whole = '0', part = ''] = text.split('.')
  return BigInt(whole) * 100_000_000n + BigInt(part.padEnd(8, '0'))
}

async function compare(source: string, target: string): Promise<number> {
  const { files } = writeBacktestFiles(source, target, COPIES, isWanted)
  const got = await engine(files)
  let fills = 0
  for (const [index, create] of RULES.entries()) {
    const expected: Outcome = { fills: [], cash: START, fees: 0n }
    for (const recorded of findRecordings(source)) {
      if (!isWanted(recorded.ticker)) continue
      for (let copy = 0; copy < COPIES; copy++) {
        const name = copy === 0 ? recorded.ticker : `${recorded.ticker}-C${copy}`
        audit(recorded, `venueb:${name}`, copy * DAY, create(), expected)
      }
    }
    const own = got[index]!
    expect(own.fills.toSorted(), `rule ${index}`).toStrictEqual(expected.fills.toSorted())
    expect([own.cash, own.fees], `rule ${index}`).toStrictEqual([expected.cash, expected.fees])
    fills += own.fills.length
  }
  return fills
}

describe('six strategies over ten markets agree with a naive reimplementation in every fill, fee and balance', () => {
  it('of generated markets', async () => {
    const made = join(folder, 'generated')
    generateRecordings(made, 5, 0.02)
    expect(await compare(made, join(folder, 'generated-tape'))).toBeGreaterThan(100)
  })

  it.skipIf(recordings === '')('of the recorded markets (PRIORBOOK_RECORDINGS)', async () => {
    expect(await compare(recordings, join(folder, 'recorded-tape'))).toBeGreaterThan(1000)
  })
})
