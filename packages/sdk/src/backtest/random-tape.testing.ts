import { createRandom } from './random.ts'
import type { Strategy } from './strategy.ts'
import { recordA, recordB, recordC, sec, TestTape, unitOf } from './tape.testing.ts'

/** The venues of a random tape: two markets of the first, one of each other. */
type RandomVenues = 'two' | 'all'

/**
 * Books around a wandering mid, trades and gaps of two markets of venue B, one of venue C and, for all
 * venues, one of venue A, most of them settled at the end; the same for the same seed.
 */
export function randomTape(
  seed: number,
  steps = 200,
  lastSettles = true,
  venues: RandomVenues = 'two',
): TestTape {
  const random = createRandom(seed, 'tape')
  const tape = new TestTape()
  const instruments = [
    tape.instrument('venueb', 'KX-1-A'),
    tape.instrument('venueb', 'KX-1-B'),
    tape.instrument('venuec', '0xc', '0xc-up', 'Up'),
  ]
  tape.market(sec(0), recordB('KX-1-A')).market(sec(0), recordB('KX-1-B'))
  tape.market(sec(0), recordC('0xc'))
  if (venues === 'all') {
    instruments.push(tape.instrument('venuea', '7'))
    tape.market(sec(0), recordA('7'))
  }
  const mids = [50, 30, 70, 20]
  let clock = 1
  for (let step = 0; step < steps; step++) {
    const which = random.below(instruments.length)
    const own = instruments[which]!
    const unit = unitOf(own.venue)
    clock += random.below(400) / 1000
    const at = sec(clock)
    const roll = random.float()
    mids[which] = Math.min(90, Math.max(10, mids[which]! + random.below(3) - 1))
    const mid = mids[which]
    if (roll < 0.03 && step > 10) {
      tape.gap(at, sec(clock + 3), own)
      clock += 3
      step--
    } else if (roll < 0.25 && own.venue !== 'venuea') {
      const isBuy = random.float() < 0.5
      const price = (isBuy ? mid + 1 : mid - 1) * 100
      tape.trade(at, own, price, (1 + random.below(40)) * unit, isBuy ? 'buy' : 'sell')
      continue
    }
    const side = (sign: number): [number, number][] =>
      Array.from({ length: random.below(5) }, (_, index): [number, number] => [
        (mid + sign * (1 + index)) * 100,
        (1 + random.below(60)) * unit,
      ])
    tape.book(sec(clock), own, side(-1), side(1))
  }
  if (lastSettles) {
    const end = sec(clock + 10)
    const payouts = random.float() < 0.5 ? ['1', '0'] : ['0', '1']
    const over = { status: 'resolved', resolution: { state: 'final', payouts } } as const
    tape.market(end, recordB('KX-1-A', over))
    tape.market(end, recordC('0xc', over))
  }
  return tape
}

/** Sends every kind of order at random, cancels and replaces them. */
export function randomStrategy(): Strategy {
  return {
    name: 'random',
    onBook(book, context) {
      const { random, order, orders, cancel, replace, merge, split, forecast } = context
      const market = book.market.id
      const roll = random()
      if (roll < 0.5) return
      const price =
        Math.round((book.mid ?? 5000) / 100) * 100 + (Math.floor(random() * 7) - 3) * 100
      const size = 5 + Math.floor(random() * 30)
      const side = random() < 0.5 ? 'buy' : 'sell'
      const outcome = random() < 0.7 ? 0 : 1
      const at = { market, side, outcome } as const
      if (roll < 0.6) order({ ...at, size })
      else if (roll < 0.75) order({ ...at, price, size })
      else if (roll < 0.8) order({ ...at, price, size, timeInForce: 'IOC' })
      else if (roll < 0.83) order({ ...at, price, size, timeInForce: 'FOK' })
      else if (roll < 0.86) order({ ...at, price, size, postOnly: true })
      else if (roll < 0.88) order({ ...at, side: 'buy', amount: size })
      else if (roll < 0.9) order({ ...at, price, size, reduceOnly: true })
      else if (roll < 0.93) for (const { id } of orders(market).slice(0, 1)) cancel(id)
      else if (roll < 0.96) for (const { id } of orders(market).slice(0, 1)) replace(id, { price })
      else if (roll < 0.97) split(market, size)
      else if (roll < 0.98) merge(market)
      else forecast(market, Math.min(1, Math.max(0, price / 10_000)))
    },
  }
}
