import { because } from '../pages/notices.ts'
import type { Notice } from '../route.ts'
import type { SeenContract } from './find.ts'

/** That a plan does not include all members; undefined where it does. */
export function withheldNotice({ withheld }: SeenContract): Notice | undefined {
  if (withheld.length === 0) return undefined
  return {
    code: 'members_withheld',
    message: 'The plan of the key does not include all members of the contract.',
    withheld,
  }
}

/** That retention removed the records that members had at the time of `known_at`; undefined where it did not. */
export function forgottenNotice({ forgotten }: SeenContract): Notice | undefined {
  if (forgotten.length === 0) return undefined
  const markets = forgotten.map(({ record }) => `${record.venue}:${record.marketId}`)
  return { ...because('retention'), markets }
}
