import type { Proposition, World } from '../../core/upstream.ts'
import { RoundNumbers } from '../../world/round-number.ts'

/** One emulated market with the names that venue C gives it. */
export type Condition = {
  readonly proposition: Proposition
  readonly gammaId: string
  readonly eventId: string
  readonly slug: string
  readonly conditionId: string
  readonly questionId: string
  /** Up and Down. */
  readonly tokens: readonly [string, string]
}

/** A market and which of its outcomes a token is. */
export type TokenPlace = { readonly condition: Condition; readonly index: 0 | 1 }

/** The markets of the world by each of their names. */
export interface Conditions {
  all(): readonly Condition[]
  of(proposition: Proposition): Condition
  byCondition(conditionId: string): Condition | undefined
  byGammaId(gammaId: string): Condition | undefined
  /** The newest market with the slug: at high speeds two rounds can start within one second. */
  bySlug(slug: string): Condition | undefined
  byToken(token: string): TokenPlace | undefined
}

/** Names the markets of a world; the same seed and start of a round give the same names. */
export function createConditions(world: World): Conditions {
  const conditions: Condition[] = []
  const byCondition = new Map<string, Condition>()
  const byGammaId = new Map<string, Condition>()
  const bySlug = new Map<string, Condition>()
  const byToken = new Map<string, TokenPlace>()
  const numbers = new RoundNumbers(world, 'venuec')

  function name(proposition: Proposition): Condition {
    const { asset, window, openTime } = proposition
    const { number, hex } = numbers.next(proposition)
    const token = (what: string): string => BigInt(`0x${hex(what, 64)}`).toString()
    return {
      proposition,
      gammaId: String(2 * number),
      eventId: String(2 * number + 1),
      slug: `${asset.toLowerCase()}-updown-${window}-${Math.floor(openTime / 1000)}`,
      conditionId: `0x${hex('condition', 64)}`,
      questionId: `0x${hex('question', 64)}`,
      tokens: [token('up'), token('down')],
    }
  }

  function catchUp(): void {
    const propositions = world.propositions('venuec')
    while (conditions.length < propositions.length) {
      const condition = name(propositions[conditions.length]!)
      conditions.push(condition)
      byCondition.set(condition.conditionId, condition)
      byGammaId.set(condition.gammaId, condition)
      bySlug.set(condition.slug, condition)
      byToken.set(condition.tokens[0], { condition, index: 0 })
      byToken.set(condition.tokens[1], { condition, index: 1 })
    }
  }

  const reading = <Key, Value>(map: ReadonlyMap<Key, Value>) => {
    return (key: Key): Value | undefined => {
      catchUp()
      return map.get(key)
    }
  }

  return {
    all() {
      catchUp()
      return conditions
    },
    of(proposition) {
      catchUp()
      return conditions[proposition.index] ?? name(proposition)
    },
    byCondition: reading(byCondition),
    byGammaId: reading(byGammaId),
    bySlug: reading(bySlug),
    byToken: reading(byToken),
  }
}
