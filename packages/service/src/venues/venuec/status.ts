import type { MarketStatus, Micros, Resolution } from '@priorbook/sdk/domain'

/** The flags of a market, with the same names for Gamma and CLOB; undefined where absent. */
export type MarketFlags = {
  readonly active: boolean | undefined
  readonly closed: boolean | undefined
  readonly archived: boolean | undefined
  readonly acceptingOrders: boolean | undefined
  /** When orders were first accepted. */
  readonly acceptingSince: Micros | undefined
  readonly closeTime: Micros | undefined
  /** Gamma's `umaResolutionStatus`; `resolved` where CLOB names a winner. */
  readonly resolution: string | undefined
}

/** The meaning of a market's flags at the time when they were received. */
export type FlaggedStatus = {
  readonly status: MarketStatus | undefined
  readonly statusNative: string | undefined
  readonly state: Resolution['state']
}

/**
 * Maps the venue's flags to our status. `closed` takes precedence over `accepting_orders`, which stays
 * true on some closed markets; `active` stays true on all of them. A market that does not accept orders
 * is scheduled before its first order, closed after its end, and paused in between.
 */
export function readStatus(flags: MarketFlags, received: Micros): FlaggedStatus {
  const state = STATES.get(flags.resolution ?? '') ?? 'none'
  return { status: statusOf(flags, state, received), statusNative: wordsOf(flags), state }
}

const STATES: ReadonlyMap<string, Resolution['state']> = new Map([
  ['proposed', 'proposed'],
  ['disputed', 'disputed'],
  ['challenged', 'disputed'],
  ['resolved', 'final'],
])

const CLOSED: Readonly<Record<Resolution['state'], MarketStatus>> = {
  none: 'closed',
  proposed: 'determined',
  disputed: 'disputed',
  final: 'resolved',
}

function statusOf(
  flags: MarketFlags,
  state: Resolution['state'],
  received: Micros,
): MarketStatus | undefined {
  const { active, closed, archived, acceptingOrders, acceptingSince, closeTime } = flags
  if (closed === true) return CLOSED[state]
  if (closed === undefined) return undefined
  if (archived === true) return 'closed'
  if (active === true && acceptingOrders === true) return 'open'
  if (active === false) return 'scheduled'
  if (acceptingOrders !== false) return undefined
  if (closeTime !== undefined && closeTime <= received) return 'closed'
  return acceptingSince !== undefined && acceptingSince <= received ? 'paused' : 'scheduled'
}

// The names of the flags that are set: `active accepting_orders`, `active closed resolved`.
function wordsOf(flags: MarketFlags): string | undefined {
  const { active, closed, archived, acceptingOrders, resolution } = flags
  if (active === undefined && closed === undefined && acceptingOrders === undefined) {
    return resolution
  }
  const words = [
    active === true ? 'active' : 'inactive',
    ...(acceptingOrders === true ? ['accepting_orders'] : []),
    ...(closed === true ? ['closed'] : []),
    ...(archived === true ? ['archived'] : []),
    ...(resolution === undefined ? [] : [resolution]),
  ]
  return words.join(' ')
}
