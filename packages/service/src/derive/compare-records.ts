import type { MarketState } from '../store/store.ts'

/** Fields that normalizers derive from the same messages since 0.1.0; records of that version lack them. */
const LATER_FIELDS: ReadonlySet<string> = new Set([
  'asset',
  'window',
  'strike',
  'seriesTicker',
  'eventTicker',
  'reference',
  'lastAnomaly',
  'exchange',
  'resolvedTime',
  'event',
  'category',
  'tags',
])

/**
 * True when a journal gives the stored versions of a market again. Fields that later versions of a
 * normalizer derive beside the stored ones are not a difference; any other field is. Versions before the
 * first stored one were removed by retention.
 */
export function areSameRevisions(
  stored: readonly MarketState[],
  derived: readonly MarketState[],
): boolean {
  const first = (stored[0]?.revision ?? 1) - 1
  if (first + stored.length !== derived.length) return false
  return stored.every((state, at) => holds(state, derived[first + at]))
}

function holds(stored: unknown, derived: unknown): boolean {
  if (!isObject(stored) || !isObject(derived)) {
    return JSON.stringify(stored) === JSON.stringify(derived)
  }
  const known = Object.keys(stored).every((name) => holds(stored[name], derived[name]))
  return known && Object.keys(derived).every((name) => name in stored || LATER_FIELDS.has(name))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
