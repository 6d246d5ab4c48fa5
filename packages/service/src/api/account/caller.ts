import type { PlanGrant } from '../auth/grant.ts'
import type { ApiContext, Grant } from '../kit/route.ts'
import type { AccountDesk } from './desk.ts'

/** The caller as the server knows it: account routes run in a server, whose grants know their plan. */
export function callerOf(grant: Grant): PlanGrant {
  return grant as PlanGrant
}

/** The desk of the server that runs the route. */
export function deskOf({ desk }: ApiContext): AccountDesk {
  if (desk === undefined) throw new Error('account routes need a server')
  return desk
}
