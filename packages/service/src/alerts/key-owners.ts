import { createGrant, type PlanGrant } from '../api/auth/grant.ts'
import type { KeyRecord } from '../api/auth/keys.ts'
import type { Plan } from '../api/auth/plans.ts'

/** Keys and plans as they are now; `revision` rises when they change. */
export type KeySource = {
  readonly knownKeys: { list(): readonly KeyRecord[]; revision(): number }
  readonly plans: {
    all(): readonly Plan[]
    find(name: string): Plan | undefined
    revision(): number
  }
}

/** A key and those that it replaced: a key that was rolled keeps its rules. */
export function ownersOf({ knownKeys }: KeySource, keyId: string): readonly string[] {
  const all = knownKeys.list()
  const owners = [keyId]
  for (const owner of owners) {
    for (const { id, replacedBy } of all) {
      if (replacedBy === owner && !owners.includes(id)) owners.push(id)
    }
  }
  return owners
}

/** What the owners of rules may read now, by key; undefined where a key and all successors have ended. */
export function grantsOf(
  { knownKeys, plans }: KeySource,
  now: number,
): (keyId: string) => PlanGrant | undefined {
  const byId = new Map(knownKeys.list().map((key) => [key.id, key]))
  return (keyId) => {
    let key = byId.get(keyId)
    for (let steps = 0; key?.replacedBy !== undefined && steps < byId.size; steps++) {
      key = byId.get(key.replacedBy)
    }
    if (key === undefined || (key.revoked ?? Infinity) <= now || (key.expires ?? Infinity) <= now) {
      return undefined
    }
    const plan = plans.find(key.plan)
    return plan === undefined ? undefined : createGrant(plan, plans.all(), key)
  }
}

/** When the next key ends by the clock, after `now`; Infinity where none will. */
export function nextEndOf({ knownKeys }: KeySource, now: number): number {
  let next = Infinity
  for (const { revoked = Infinity, expires = Infinity } of knownKeys.list()) {
    for (const end of [revoked, expires]) if (end > now && end < next) next = end
  }
  return next
}
