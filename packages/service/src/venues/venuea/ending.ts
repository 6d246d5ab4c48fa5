import type { NativeObject } from '../capture/fields.ts'

/** How a market ended in the venue's own words: the place of the winner, a tie, or not known. */
export type Ending = number | 'tie' | undefined

/**
 * Reads how a market ended from the flags of its outcomes: `winner` (Binance) or `status` WON/LOST
 * (Predict.fun), or from `resolution`, which names the outcome that won. Never from prices, not even
 * from those of the reference feed. All outcomes won, or none of a market that the venue calls
 * RESOLVED: a tie, which pays each its share (Chainlink rounds that end where they began).
 */
export function readEnding(market: NativeObject, outcomes: readonly NativeObject[]): Ending {
  const flags = outcomes.map(wonOf)
  const winners = flags.filter((won) => won === true).length
  if (outcomes.length > 1) {
    if (winners === outcomes.length) return 'tie'
    const isResolved = market['status'] === 'RESOLVED'
    if (isResolved && flags.every((won) => won === false)) return 'tie'
  }
  if (winners === 1) return flags.indexOf(true)
  return winners === 0 ? namedWinner(market['resolution'], outcomes) : undefined
}

/** What each outcome pays as decimal text: 1 and 0, or equal shares of a tie of two. */
export function toPayouts(ending: Ending, count: number): readonly string[] | undefined {
  if (ending === undefined) return undefined
  if (ending === 'tie') return count === 2 ? ['0.5', '0.5'] : undefined
  return Array.from({ length: count }, (_, index) => (index === ending ? '1' : '0'))
}

function wonOf(outcome: NativeObject): boolean | undefined {
  if (typeof outcome['winner'] === 'boolean') return outcome['winner']
  switch (outcome['status']) {
    case 'WON':
      return true
    case 'LOST':
      return false
    default:
      return undefined
  }
}

// Predict.fun repeats the winning outcome as {name, indexSet, status}.
function namedWinner(resolution: unknown, outcomes: readonly NativeObject[]): Ending {
  if (typeof resolution !== 'object' || resolution === null) return undefined
  const { name, indexSet, status } = resolution as NativeObject
  if (typeof name !== 'string' || (status !== 'WON' && status !== undefined)) return undefined
  const index = outcomes.findIndex(
    (outcome) =>
      outcome['name'] === name && (indexSet === undefined || outcome['indexSet'] === indexSet),
  )
  return index < 0 ? undefined : index
}
