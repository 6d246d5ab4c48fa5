import { describe, expect, it } from 'vitest'
import { VENUE_IDS, type VenueId } from '../domain/index.ts'
import { isFullRun } from '../domain/run-counts.testing.ts'
import type { ReplayBatch } from '../replay/index.ts'
import { MONEY_ONE, payoutOf } from './money.ts'
import { QUEUE_MODELS } from './queue.ts'
import { randomStrategy, randomTape } from './random-tape.testing.ts'
import { backtest } from './run.ts'
import { StrategyRun } from './strategy-run.ts'
import { World } from './world.ts'

const NO_CASH = Object.fromEntries(VENUE_IDS.map((id) => [id, 0])) as Record<VenueId, number>
const rounds = isFullRun ? 2000 : 60

// Few and many: limits of the cash are where accounts go wrong.
const CASH = [3, 20, 60, 200]

function runOf(world: World, seed: number): StrategyRun {
  const cash = CASH[seed % CASH.length]! * MONEY_ONE
  return new StrategyRun(world, {
    strategy: randomStrategy(),
    params: {},
    seed,
    queue: QUEUE_MODELS[seed % 3]!,
    isBracketed: true,
    isOnlyModel: false,
    latency: { entry: { kind: 'jitter', base: 0, spread: 300_000 }, cancel: 50_000 },
    gapPolicy: seed % 2 === 0 ? 'cancel' : 'freeze',
    cash: { ...NO_CASH, venuea: cash, venueb: cash, venuec: cash },
    printLag: 800_000,
    nearGap: 10_000_000,
    keep: 10_000,
    explain: 10,
  })
}

describe('under random orders', () => {
  it('cash and positions are conserved to the unit', () => {
    let fills = 0
    for (let seed = 0; seed < rounds; seed++) {
      const world = new World()
      const run = runOf(world, seed)
      world.attach([run])
      let problem: string | undefined
      for (const batch of randomTape(seed, 200, true, 'all').batches()) {
        for (const event of batch) {
          world.apply(event)
          problem ??= problemOf(run)
        }
      }
      world.finish(world.now)
      expect(problem ?? problemOf(run), `seed ${seed}`).toBeUndefined()
      expect(run.hooks.failure, `seed ${seed}`).toBeUndefined()
      fills += run.engine.fillCount
      // Results by evidence add up to the total, except for rounding to the venue's amounts.
      const start = VENUE_IDS.reduce((sum, venue) => sum + run.ledger.accounts[venue].start, 0)
      let parts = 0
      for (const own of run.active) {
        const units: [number, number] = [0, 0]
        for (const sums of own.statistics.classes) {
          parts += sums?.cash ?? 0
          units[0] += sums?.units[0] ?? 0
          units[1] += sums?.units[1] ?? 0
        }
        const net = units[0] - units[1]
        for (const outcome of [0, 1] as const) {
          const value = own.state.valueOf(outcome, net)
          const each = payoutOf(own.state.venue, value, Math.abs(units[outcome]))
          parts += units[outcome] < 0 ? -each : each
        }
      }
      expect(Math.abs(run.ledger.equity() - start - parts), `seed ${seed}`).toBeLessThan(
        MONEY_ONE / 50,
      )
    }
    expect(fills).toBeGreaterThan(rounds * 5)
  })

  it('no order fills better than the recorded book or in a gap', async () => {
    for (let seed = 0; seed < rounds; seed++) {
      const tape = randomTape(seed)
      const gaps: [string, number, number][] = []
      // The best prices after every row, by row id, copied from the tape.
      const best = new Map<string, readonly [bid: number, ask: number]>()
      for (const batch of tape.batches()) note(batch, best, gaps)
      const { report } = await backtest({
        events: tape.batches(),
        strategy: randomStrategy(),
        seed,
        queue: QUEUE_MODELS[seed % 3]!,
        gapPolicy: seed % 2 === 0 ? 'cancel' : 'freeze',
      })
      const orders = new Map(report.orders_kept.map((order) => [order.id, order]))
      for (const fill of report.fills_kept) {
        const order = orders.get(fill.order)!
        const limit = order.price
        const isInLimit =
          limit === undefined || (fill.side === 'buy' ? fill.price <= limit : fill.price >= limit)
        expect(isInLimit).toBe(true)
        const [bid, ask] = best.get(fill.rows.at(-1)!)!
        const isBid = (fill.side === 'buy') === (fill.outcome === 0)
        const frame = fill.outcome === 0 ? fill.price : 10_000 - fill.price
        const isShown = isBid ? frame >= ask && ask > 0 : frame <= bid
        expect(isShown || fill.liquidity === 'maker').toBe(true)
        const isInGap = gaps.some(
          ([market, from, to]) => market === fill.market && fill.at > from && fill.at < to,
        )
        expect(isInGap, `seed ${seed} fill ${fill.id}`).toBe(false)
      }
    }
  })
})

// Checked after every event by plain comparisons, because assertions are a thousand times slower.
function problemOf(run: StrategyRun): string | undefined {
  for (const venue of VENUE_IDS) {
    const { cash, expected, reserved } = run.ledger.accounts[venue]
    if (cash !== expected) return `${venue} holds ${cash}, its flows say ${expected}`
    if (!Number.isSafeInteger(cash) || cash < 0) return `${venue} holds ${cash}`
    if (reserved < 0) return `${venue} has set ${reserved} aside`
    if (reserved > cash) return `${venue} has set ${reserved} of ${cash} aside`
  }
  if (run.ledger.equityNow !== run.ledger.equity()) {
    return `the equity is ${run.ledger.equity()}, followed as ${run.ledger.equityNow}`
  }
  for (const { position, state } of run.active) {
    for (const outcome of [0, 1]) {
      const covered = position.free(outcome)
      if (covered < 0) return `${state.name} has set aside ${-covered} units that it does not hold`
    }
    for (const outcome of [0, 1]) {
      const { units, reserved, cost } = position
      if (!(units[outcome]! >= 0 && reserved[outcome]! >= 0 && cost[outcome]! >= 0)) {
        return `${state.name} holds ${JSON.stringify({ units, reserved, cost })}`
      }
    }
    if (state.venue === 'venueb' && Math.min(...position.units) !== 0) return 'venue B holds a pair'
  }
  return undefined
}

function note(
  batch: ReplayBatch,
  best: Map<string, readonly [number, number]>,
  gaps: [string, number, number][],
): void {
  for (const event of batch) {
    if (event.kind === 'book') {
      const { ladder, instrument, sequence } = event
      const ask = ladder.bestAsk === ladder.one ? 0 : ladder.bestAsk
      best.set(`${instrument.venue}:${instrument.key}:${sequence}`, [ladder.bestBid, ask])
    }
    if (event.kind === 'gap' && event.edge === 'open') {
      const { venue, key, start, end } = event.gap
      const market = key === '0xc-up' ? 'venuec:0xc' : `${venue}:${key}`
      gaps.push([market, start, end ?? Infinity])
    }
  }
}
