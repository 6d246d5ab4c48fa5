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
