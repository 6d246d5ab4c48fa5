import { printScaled, VENUES } from '../../domain/index.ts'
import type { StrategyRun } from '../strategy-run.ts'
import type { World } from '../world.ts'
import type { Report } from './report-shape.ts'

// Max markets whose prices a report keeps, those with the most fills: about 12 kB each.
const PRICED_MARKETS = 200
// Max points of queue positions.
const MAX_QUEUE_POINTS = 20_000

/** The sampled prices of the markets that were traded. */
export function pricesOf(world: World, run: StrategyRun): Report['prices'] {
  return run.active
    .filter(({ statistics }) => statistics.fills > 0)
    .toSorted((left, right) => right.statistics.fills - left.statistics.fills)
    .slice(0, PRICED_MARKETS)
    .map(({ state }) => {
      const { name, prices } = world.list[state.index]!
      return { market: name, points: prices.points }
    })
}

/** How much was ahead of resting orders when they joined the queue and at each of their fills. */
export function queueOf({ orders }: StrategyRun, kept: Report['orders_kept']): Report['queue'] {
  const points: { order: number; at: number; ahead: string }[] = []
  for (const { id, venue } of kept) {
    for (const { at, ahead } of orders.steps.queueOf(id)) {
      if (points.length === MAX_QUEUE_POINTS) return points
      points.push({ order: id, at, ahead: printScaled(ahead, VENUES[venue].sizeDecimals) })
    }
  }
  return points
}
