import { describe, expect, it } from 'vitest'
import { POW10, VENUES, VENUE_IDS, type VenueId } from '../domain/index.ts'
import { isFullRun } from '../domain/run-counts.testing.ts'
import type { FillView } from './order.ts'
import { QUEUE_MODELS } from './queue.ts'
import { randomStrategy, randomTape } from './random-tape.testing.ts'
import { backtest } from './run.ts'
import type { SettlementView, Strategy, StrategyContext } from './strategy.ts'

const rounds = isFullRun ? 2000 : 40
const MONEY = 100_000_000n

/** An exact decimal text as a whole number of 10^−8. */
function exact(text: string): bigint {
  const [whole = '0', part = ''] = text.replace('-', '').split('.')
  const units = BigInt(whole) * MONEY + BigInt(part.padEnd(8, '0'))
  return text.startsWith('-') ? -units : units
}

const printed = (units: bigint): number => Number(units) / Number(MONEY)

/**
 * An account kept from what a strategy is told, with whole numbers and no code of the product: every fill at
 * its price, rounded against the trader to the amounts that the venue moves, and its fee.
 */
class OwnAccount {
  readonly cash = new Map<VenueId, bigint>()
  readonly shares = new Map<string, [bigint, bigint]>()
  problem: string | undefined

  constructor(start: number) {
    for (const venue of VENUE_IDS) this.cash.set(venue, BigInt(start) * MONEY)
  }

  fill({ market, venue, outcome, side, price, size, fee, feeShares }: FillView): void {
    const units = exact(size)
    // Prices have at most six decimals.
    const product = BigInt(Math.round(price * 100)) * units
    const step = 1_000_000n * BigInt(POW10[8 - Math.min(8, VENUES[venue].trading.amountDecimals)]!)
    const down = product / step
    const amount =
      ((side === 'buy' && down * step < product ? down + 1n : down) * step) / 1_000_000n
    const held = this.of(market)
    const own = outcome as 0 | 1
    const isBuy = side === 'buy'
    // Fees in shares are part of what is not delivered.
    this.add(venue, (isBuy ? -amount : amount) - (exact(feeShares) > 0n ? 0n : exact(fee)))
    held[own] += isBuy ? units - exact(feeShares) : -units
    if (VENUES[venue].trading.netsOutcomes) this.net(venue, held)
    if (held[0] < 0n || held[1] < 0n) this.problem ??= `${market} holds ${held.join(' and ')}`
    if (this.cash.get(venue)! < 0n) this.problem ??= `${venue} holds ${this.cash.get(venue)}`
  }

  /** Pairs of a strategy that splits (positive) or merges. */
  pair(market: string, venue: VenueId, shares: bigint): void {
    const held = this.of(market)
    this.add(venue, -shares)
    held[0] += shares
    held[1] += shares
  }

  settle({ market, payouts }: SettlementView, venue: VenueId): void {
    const held = this.of(market)
    for (const [index, payout] of payouts.entries()) {
      this.add(venue, (held[index as 0 | 1] * exact(payout)) / MONEY)
    }
    held.fill(0n)
  }

  of(market: string): [bigint, bigint] {
    let held = this.shares.get(market)
    if (held === undefined) this.shares.set(market, (held = [0n, 0n]))
    return held
  }

  // What is sold without being held is a purchase of the other outcome, and pairs are money.
  private net(venue: VenueId, held: [bigint, bigint]): void {
    for (const own of [0, 1] as const) {
      if (held[own] >= 0n) continue
      this.add(venue, held[own])
      held[(1 - own) as 0 | 1] -= held[own]
      held[own] = 0n
    }
    const pairs = held[0] < held[1] ? held[0] : held[1]
    this.add(venue, pairs)
    held[0] -= pairs
    held[1] -= pairs
  }

  private add(venue: VenueId, amount: bigint): void {
    this.cash.set(venue, this.cash.get(venue)! + amount)
  }
}

function venueOf(market: string): VenueId {
  return market.slice(0, market.indexOf(':')) as VenueId
}

/** The random strategy, with an account of its own that is compared after every fill. */
function accountant(own: OwnAccount): Strategy {
  const inner = randomStrategy()
  const counted = (context: StrategyContext): StrategyContext => ({
    ...context,
    now: context.now,
    split(market, size) {
      const isDone = context.split(market, size)
      if (isDone) own.pair(market, venueOf(market), exact(String(size)))
      return isDone
    },
    merge(market) {
      const before = context.position(market).shares
      const isDone = context.merge(market)
      const after = context.position(market).shares
      const merged = Math.round(((before[0] ?? 0) - (after[0] ?? 0)) * Number(MONEY))
      if (isDone) own.pair(market, venueOf(market), -BigInt(merged))
      return isDone
    },
  })
  return {
    onBook: (book, context) => inner.onBook!(book, counted(context)),
    onFill(fill, { cash }) {
      own.fill(fill)
      if (cash(fill.venue) < 0) own.problem ??= `${fill.venue} has ${cash(fill.venue)} free`
    },
    onSettle: (paid) => own.settle(paid, venueOf(paid.market)),
    onEnd({ position }) {
      for (const [market, held] of own.shares) {
        const shares = held.map(printed)
        const engine = position(market).shares
        if (shares.some((each, index) => Math.abs(each - engine[index]!) > 1e-9)) {
          own.problem ??= `${market}: ${shares.join()}, not ${engine.join()}`
        }
      }
    },
  }
}

describe('an account kept beside the engine', () => {
  it(`agrees to the last unit and never owes, for ${rounds} random strategies`, async () => {
    let fills = 0
    for (let seed = 0; seed < rounds; seed++) {
      const start = [3, 20, 60, 1000][seed % 4]!
      const own = new OwnAccount(start)
      const { report } = await backtest({
        events: randomTape(seed, 150, true, 'all').batches(),
        strategy: () => accountant(own),
        queue: QUEUE_MODELS[seed % 3]!,
        cash: start,
        seed,
        latency: { entry: { kind: 'jitter', base: 0, spread: 300_000 } },
        gapPolicy: seed % 2 === 0 ? 'cancel' : 'freeze',
      })
      expect(own.problem, `seed ${seed}`).toBeUndefined()
      for (const { venue, cash } of report.venues) {
        expect(cash, `seed ${seed} ${venue}`).toBe(String(printed(own.cash.get(venue as VenueId)!)))
      }
      fills += report.fills.count
    }
    expect(fills).toBeGreaterThan(rounds * 3)
  })
})
