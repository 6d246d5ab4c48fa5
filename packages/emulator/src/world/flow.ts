import type { Fill } from '../core/upstream.ts'
import { toGrain } from './grain.ts'
import type { Ladder, LevelChange, Side } from './ladder.ts'
import type { Random } from './random.ts'

/** Where orders meet: one market's ladder, its tick and lot, and its fair value. */
export type Place = {
  readonly ladder: Ladder
  readonly random: Random
  /** In ten-thousandths. */
  readonly tick: number
  /** The finest step of prices: makers place orders on ticks, or anywhere between where it is finer. */
  readonly grain: number
  /** The smallest step of a size, in millionths of a share. */
  readonly lot: number
  /** The value of the first outcome, in ten-thousandths. */
  readonly fair: number
  /** How many levels makers keep on each side. */
  readonly depth: Depth
}

/** The least and the most levels on each side of a book. */
export type Depth = { readonly min: number; readonly max: number }

/** The effect of one order. */
export type FlowStep = { readonly levels: readonly LevelChange[]; readonly fill?: Fill }

const ONE = 10_000
const SHARE = 1_000_000

/** The ladder that makers place when a market opens. */
export function openBook(place: Place): FlowStep {
  const levels: LevelChange[] = []
  for (const side of ['bid', 'ask'] as const) {
    const wanted = place.depth.min + place.random.int(place.depth.max - place.depth.min)
    let price = nearest(place, side)
    for (let i = 0; i < wanted && price >= place.tick && price <= ONE - place.tick; i++) {
      push(levels, put(place, side, price, drawSize(place, i)))
      const hole = place.random.chance(0.2) ? 2 : 1
      price += (side === 'bid' ? -hole : hole) * place.tick
    }
  }
  return { levels }
}

/** Places, moves or cancels one order; undefined where that would have no effect. */
export function changeBook(place: Place): FlowStep {
  const { ladder, random, tick, fair } = place
  const bid = ladder.best('bid')
  const ask = ladder.best('ask')
  // Quotes that the underlying has moved past are cancelled or traded.
  if (ask !== undefined && ask.price < fair - tick) return leave(place, 'ask')
  if (bid !== undefined && bid.price > fair + tick) return leave(place, 'bid')
  if (bid === undefined || fair - bid.price > 2 * tick) return improve(place, 'bid')
  if (ask === undefined || ask.price - fair > 2 * tick) return improve(place, 'ask')
  return comeAndGo(place, random.chance(0.5) ? 'bid' : 'ask')
}

/** One trade against the best level; undefined where that side is empty. */
export function trade(place: Place): FlowStep {
  const { ladder, random, fair } = place
  const bid = ladder.best('bid')
  const ask = ladder.best('ask')
  const rich = bid !== undefined && ask !== undefined && fair > (bid.price + ask.price) / 2
  const side: Side = random.chance(rich ? 0.65 : 0.35) ? 'ask' : 'bid'
  const best = ladder.best(side)
  if (best === undefined) return { levels: [] }
  const size = random.chance(0.15) ? best.size : Math.min(best.size, drawSize(place, 0))
  return take(place, side, best.price, size)
}

function comeAndGo(place: Place, side: Side): FlowStep {
  const { ladder, random, depth } = place
  const count = ladder.side(side).length
  if (random.chance(0.08)) return requote(place, side)
  const shrink = count >= depth.max ? 1 : count <= depth.min ? 0.2 : 0.48
  return random.chance(shrink) ? cancel(place, side) : rest(place, side)
}

function take(place: Place, side: Side, price: number, size: number): FlowStep {
  const change = place.ladder.set(side, price, place.ladder.sizeAt(side, price) - size)
  if (change === undefined) return { levels: [] }
  return { levels: [change], fill: { price, size, taker: side === 'ask' ? 'buy' : 'sell' } }
}

function leave(place: Place, side: Side): FlowStep {
  const best = place.ladder.best(side)!
  if (place.random.chance(0.3)) return take(place, side, best.price, best.size)
  const levels: LevelChange[] = []
  push(levels, place.ladder.set(side, best.price, 0))
  return { levels }
}

function improve(place: Place, side: Side): FlowStep {
  const levels: LevelChange[] = []
  push(levels, put(place, side, nearest(place, side), drawSize(place, 0)))
  // Near 0 or 1 a side may have no room at all; then only the other side changes.
  return levels.length > 0 ? { levels } : comeAndGo(place, side === 'bid' ? 'ask' : 'bid')
}

function rest(place: Place, side: Side): FlowStep {
  const { random, tick, depth } = place
  let distance = 0
  if (random.chance(0.3)) distance = random.int(depth.max)
  else while (distance < depth.max && !random.chance(0.18)) distance++
  const price = nearest(place, side) + (side === 'bid' ? -distance : distance) * tick
  const levels: LevelChange[] = []
  push(levels, put(place, side, price, drawSize(place, distance)))
  return { levels }
}

function cancel(place: Place, side: Side): FlowStep {
  const { ladder, random, lot } = place
  const resting = ladder.side(side)
  if (resting.length <= 1) return { levels: [] }
  const { price, size } = resting[random.int(resting.length)]!
  const left = random.chance(0.5) ? 0 : Math.floor((size * random.next()) / lot) * lot
  const levels: LevelChange[] = []
  push(levels, ladder.set(side, price, left))
  return { levels }
}

// One maker moves several quotes at once: venues push that as one frame or as a burst.
function requote(place: Place, side: Side): FlowStep {
  const { ladder, random } = place
  const touched = new Map<number, number>()
  const levels: LevelChange[] = []
  for (let i = 2 + random.int(5); i > 0; i--) {
    const level = ladder.side(side)[random.int(Math.min(12, ladder.side(side).length))]
    if (level === undefined || touched.has(level.price)) continue
    touched.set(level.price, level.size)
    push(levels, ladder.set(side, level.price, drawSize(place, i)))
  }
  return { levels }
}

function put(place: Place, side: Side, onTick: number, size: number): LevelChange | undefined {
  const { ladder, tick, grain, random } = place
  const price =
    grain < tick ? toGrain(onTick + random.int(Math.round(tick / grain)) * grain) : onTick
  const other = ladder.best(side === 'bid' ? 'ask' : 'bid')?.price
  if (price < tick || price > ONE - tick) return undefined
  if (other !== undefined && (side === 'bid' ? price >= other : price <= other)) return undefined
  return ladder.set(side, price, ladder.sizeAt(side, price) + size)
}

// The best price at which an order of this side can rest beside the value and the other side.
function nearest(place: Place, side: Side): number {
  const { ladder, tick, fair } = place
  if (side === 'bid') {
    const below = Math.ceil(fair / tick - 0.5) * tick - (fair % tick === 0 ? tick : 0)
    const limit = (ladder.best('ask')?.price ?? ONE - tick) - tick
    return Math.min(below, limit, ONE - 2 * tick)
  }
  const bid = ladder.best('bid')?.price ?? tick
  return Math.max(Math.ceil(fair / tick + 0.5) * tick, bid + tick, 2 * tick)
}

/** Log-normal with a median of 80 shares, deeper ones larger; half of them whole shares. */
function drawSize(place: Place, depth: number): number {
  const { random, lot } = place
  const shares = 80 * (1 + depth / 15) * Math.exp(1.1 * random.normal())
  if (random.chance(0.5)) return Math.max(1, Math.round(shares)) * SHARE
  return Math.max(1, Math.round((shares * SHARE) / lot)) * lot
}

function push(levels: LevelChange[], change: LevelChange | undefined): void {
  if (change !== undefined) levels.push(change)
}
