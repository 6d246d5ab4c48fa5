import { PriorbookError } from '@priorbook/sdk/domain'
import * as fc from 'fast-check'
import { deepValue } from './refusals.testing.ts'

/** What is mutated, how often, and with which values beside those that break any parser. */
export type MutationPlan = {
  readonly originals: readonly (() => unknown)[]
  readonly numRuns: number
  /** Values that the venue's own parser may stumble over. */
  readonly hostile: readonly unknown[]
  /** Names that an added field may have. */
  readonly keys: readonly [string, ...string[]]
  /** Reads a mutated value; may return the codes of parts that were refused while others were kept. */
  read: (value: unknown, original: unknown) => Iterable<string> | void
}

const DEEP = deepValue()

// Values that have broken parsers before, beside any JSON.
const HOSTILE: readonly unknown[] = [
  undefined,
  null,
  '',
  0,
  -0,
  -1,
  1e308,
  NaN,
  Infinity,
  '1e308',
  '-0.00',
  '0x10',
  '٣',
  '0.5\u0000',
  '9'.repeat(500),
  `0.${'0'.repeat(5000)}1`,
  '__proto__',
  'constructor',
  '0001-01-01T00:00:00Z',
  '2026-13-01T00:00:00Z',
  [],
  {},
  [[]],
  DEEP,
]

/**
 * Checks that `read` answers any mutated value normally or with a PriorbookError, never with another error.
 * Returns the error codes that occurred, and `none` where a value was accepted.
 */
export function codesOfMutated(plan: MutationPlan): Set<string> {
  const { originals, numRuns, hostile, keys, read } = plan
  const mutation = fc.record({
    place: fc.nat(),
    action: fc.constantFrom(
      'replace' as const,
      'replace' as const,
      'delete' as const,
      'add' as const,
    ),
    value: fc.oneof(fc.constantFrom(...HOSTILE, ...hostile), fc.jsonValue({ maxDepth: 3 })),
    key: fc.constantFrom('__proto__', 'constructor', ...keys),
  })
  const cases = fc.tuple(
    fc.constantFrom(...originals),
    fc.array(mutation, { minLength: 1, maxLength: 3 }),
  )
  const codes = new Set<string>()
  fc.assert(
    fc.property(cases, ([original, mutations]) => {
      const holder = { value: original() }
      for (const one of mutations) mutate(holder, one)
      try {
        for (const code of read(holder.value, original()) ?? []) codes.add(code)
        codes.add('none')
      } catch (error) {
        // Not expect(): it would print values that are nested too deeply to print.
        if (!(error instanceof PriorbookError)) throw error
        codes.add(error.code)
      }
    }),
    { seed: 20_260_921, numRuns },
  )
  return codes
}

type Mutation = {
  readonly place: number
  readonly action: 'replace' | 'delete' | 'add'
  readonly value: unknown
  readonly key: string
}

type Place = { readonly parent: object; readonly key: string }

function mutate(holder: object, { place, action, value, key }: Mutation): void {
  const places = placesIn(holder, [])
  const target = places[place % places.length]
  if (target === undefined) return
  if (action === 'delete') {
    // JSON arrays have no holes.
    if (Array.isArray(target.parent)) target.parent.splice(Number(target.key), 1)
    else Reflect.deleteProperty(target.parent, target.key)
    return
  }
  // defineProperty makes an own key even of __proto__, as JSON.parse does. No JSON names a key of
  // an array.
  const isNew = action === 'add' && !Array.isArray(target.parent)
  Object.defineProperty(target.parent, isNew ? key : target.key, {
    value: value === DEEP ? DEEP : structuredClone(value),
    writable: true,
    enumerable: true,
    configurable: true,
  })
}

function placesIn(parent: object, places: Place[]): Place[] {
  for (const [key, child] of Object.entries(parent) as [string, unknown][]) {
    places.push({ parent, key })
    if (typeof child === 'object' && child !== null && child !== DEEP) placesIn(child, places)
  }
  return places
}
