import type { MarketStatus, Micros, Resolution } from '@priorbook/sdk/domain'

/** The flags of a market, in one set of words for Gamma and CLOB; absent where it says nothing. */
export type LifeFlags = {
  readonly active: boolean | undefined
  readonly closed: boolean | undefined
  readonly archived: boolean | undefined
  readonly acceptingOrders: boolean | undefined
  /** When orders were first accepted. */
  readonly acceptingSince: Micros | undefined
  readonly closeTime: Micros | undefined
  /** Gamma's `umaResolutionStatus`; CLOB says `resolved` by naming a winner. */
  readonly resolution: string | undefined
}

/** What the flags of a market mean at the time they were received. */
export type Life = {
  readonly status: MarketStatus | undefined
  readonly statusNative: string | undefined
  readonly state: Resolution['state']
}

/**
 * Maps the venue's flags to our words. `closed` wins over `accepting_orders`, which stays true on
 * some closed markets, and `active` stays true on all of them. Not accepting orders means not
 * yet before the first order, over after the end, and paused between.
 */
export function lifeOf(flags: LifeFlags, received: Micros): Life {
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
  flags: LifeFlags,
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

// The flags that are set, in the venue's words: `active accepting_orders`, `active closed resolved`.
function wordsOf(flags: LifeFlags): string | undefined {
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
