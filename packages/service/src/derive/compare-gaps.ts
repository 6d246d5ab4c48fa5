import type { Gap } from '@priorbook/sdk/domain'

/**
 * True when a journal gives the stored gaps again. Earlier versions began a gap `market_closed` with the last
 * observation, also where the book is known to have stood still until the close: that is not a difference.
 */
export function areSameGaps(stored: readonly Gap[], derived: readonly Gap[]): boolean {
  return stored.length === derived.length && stored.every((gap, at) => isSame(gap, derived[at]!))
}

function isSame(stored: Gap, derived: Gap): boolean {
  const isMoved = stored.reason === 'market_closed' && stored.start < derived.start
  const begin = isMoved ? BEGIN : NOTHING
  const names = new Set([...Object.keys(stored), ...Object.keys(derived)]) as Set<keyof Gap>
  return [...names].every((name) => begin.has(name) || stored[name] === derived[name])
}

const BEGIN: ReadonlySet<keyof Gap> = new Set(['start', 'sourceStart'])
const NOTHING: ReadonlySet<keyof Gap> = new Set()
