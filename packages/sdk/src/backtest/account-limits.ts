import { PriorbookError, VENUES, type VenueId } from '../domain/index.ts'
import { parseUnits, type EngineOrder } from './engine-order.ts'
import type { Ledger } from './ledger.ts'
import { parseMoney } from './money.ts'
import type { RejectReason } from './order.ts'
import type { RunMarket } from './run-market.ts'

/** Limits of an account, enforced on arrival like those of a venue: an order beyond one is refused. */
export type AccountLimits = {
  /** Max shares or contracts of one outcome in a market, with what open orders would add. */
  readonly position?: number | string
  /**
   * Max loss since the start, over all venues. From then on resting orders are cancelled, and only orders that
   * reduce a position are accepted.
   */
  readonly loss?: number | string
  /** Max requests per second at a venue: orders, replacements and cancels. */
  readonly rate?: number
}

const SECOND = 1_000_000

/** The limits of one run, and what it has used of them. */
export class LimitKeeper {
  /** True once the loss has reached its limit. */
  isStopped = false
  private readonly limits: AccountLimits
  private readonly lossFloor: number
  private readonly rate: number
  private readonly requests = new Map<VenueId, number[]>()

  constructor(limits: AccountLimits, { start }: Ledger) {
    this.limits = limits
    const { loss, rate = Infinity, position } = limits
    this.lossFloor = loss === undefined ? -Infinity : start - positive(parseMoney(loss), 'loss')
    this.rate = positive(rate, 'rate')
    if (position !== undefined) positive(Number(position), 'position')
  }

  /** Counts a request at a venue; true where there were too many within the last second. */
  isTooFast(venue: VenueId, now: number): boolean {
    if (this.rate === Infinity) return false
    const times = this.requests.get(venue) ?? []
    this.requests.set(venue, times)
    while (times.length > 0 && times[0]! <= now - SECOND) times.shift()
    if (times.length >= this.rate) return true
    times.push(now)
    return false
  }

  /** True where the loss reaches its limit now, for the first time. */
  stops(equity: number): boolean {
    if (this.isStopped || equity > this.lossFloor) return false
    this.isStopped = true
    return true
  }

  /** Why an order is beyond a limit; `units` is what it may fill. */
  refusal(market: RunMarket, order: EngineOrder, units: number): RejectReason | undefined {
    if (this.isStopped && !reduces(market, order, units)) return 'loss_limit'
    const { position } = this.limits
    if (position === undefined) return undefined
    const most = parseUnits(market.state, position) ?? 0
    return addedTo(market, order) + units > most ? 'position_limit' : undefined
  }
}

function positive(value: number, name: string): number {
  if (value > 0) return value
  throw new PriorbookError('invalid_config', `the limit of the ${name} is not positive`)
}

function reduces({ position }: RunMarket, { closedOutcome }: EngineOrder, units: number): boolean {
  return closedOutcome !== undefined && units <= position.free(closedOutcome)
}

// What the account has or may get of the outcome that an order adds to; a sale adds to the other outcome where
// outcomes are netted, and to nothing elsewhere.
function addedTo(market: RunMarket, order: EngineOrder): number {
  const { position, state } = market
  const { netsOutcomes } = VENUES[state.venue].trading
  if (order.side === 'sell' && !netsOutcomes) return -Infinity
  const added = outcomeAdded(order)
  let units = position.units[added] - (netsOutcomes ? position.units[1 - added]! : 0)
  for (const other of market.resting()) {
    if (other.side === 'sell' && !netsOutcomes) continue
    if (outcomeAdded(other) === added) units += other.remaining
  }
  return units
}

function outcomeAdded({ side, outcome }: EngineOrder): 0 | 1 {
  return (side === 'buy' ? outcome : 1 - outcome) as 0 | 1
}
