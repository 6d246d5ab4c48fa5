import { PriorbookError } from '../../domain/index.ts'
import { createRandom } from '../random.ts'
import type { Params } from '../strategy.ts'

/** Numbers between two bounds, both included, with some decimals. */
export type ParamRange = { readonly low: number; readonly high: number; readonly decimals: number }

/** The values that each parameter may have: a list, or a range for random draws. */
export type ParamSpace = Readonly<Record<string, readonly Params[string][] | ParamRange>>

/**
 * Draws sets of parameters, each different. The same seed gives the same sets, whatever the order in which
 * parameters are named.
 */
export function randomParams(space: ParamSpace, count: number, seed: number): Params[] {
  const random = createRandom(seed, 'params')
  const names = Object.keys(space).toSorted()
  const sets = new Map<string, Params>()
  // Small spaces run out: then all that a fair number of draws found is returned.
  for (let draw = 0; draw < count * 100 && sets.size < count; draw++) {
    const set = Object.fromEntries(
      names.map((name) => {
        const values = space[name]!
        if (!('low' in values)) return [name, values[random.below(values.length)]!] as const
        const { low, high, decimals } = values
        const steps = Math.round((high - low) * 10 ** decimals)
        if (!(steps >= 0)) {
          throw new PriorbookError('invalid_argument', `the range of ${name} is empty`)
        }
        return [name, Number((low + random.below(steps + 1) / 10 ** decimals).toFixed(decimals))]
      }),
    ) as Params
    sets.set(JSON.stringify(set), set)
  }
  return [...sets.values()]
}
