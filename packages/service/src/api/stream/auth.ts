import { isDeepStrictEqual } from 'node:util'
import type { Micros } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import type { Access } from '../auth/access.ts'
import type { PlanGrant } from '../auth/grant.ts'
import { requireAdmitted } from '../auth/limiter.ts'
import type { Plan } from '../auth/plans.ts'
import type { ApiContext } from '../route.ts'
import { StreamProblem } from './request.ts'

/** Checks the key of a new connection, which counts as a request; throws `Problem`. */
export async function admitKey(
  access: Access,
  authorization: string | undefined,
  now: Micros,
): Promise<PlanGrant> {
  const grant = access.authenticator.check(authorization, now)
  const admission = await access.limiter.admit(grant.keyId, grant.terms, now / 1000)
  if (admission !== undefined) requireAdmitted(admission, grant.plan, now / 1000)
  return grant
}

/** Why a connection must end, and the reason that closes it. */
export type Refusal = { readonly error: unknown; readonly reason: 'revoked' | 'plan_required' }

/** What a session has sent so far. */
export type SentTotals = { readonly rows: number; readonly bytes: number }

/** The key of one connection: counts the connection and its use, and notices a revocation. */
export class SessionAuth {
  private readonly access: Access
  private readonly context: ApiContext
  private readonly address: string
  private current: PlanGrant | undefined
  /** The header that the key came in, kept to check the key again. */
  private authorization: string | undefined
  private connectionName = ''
  private noted: SentTotals = { rows: 0, bytes: 0 }

  constructor(access: Access, context: ApiContext, address: string) {
    this.access = access
    this.context = context
    this.address = address
  }

  /** What the key allows; undefined until there is one. */
  get grant(): PlanGrant | undefined {
    return this.current
  }

  /** Accepts a checked key; throws `too_many_connections`. */
  accept(grant: PlanGrant, authorization?: string): void {
    const { access } = this
    const { connections } = grant.terms.stream
    // Connections without a key are counted by the client's address.
    const name = grant.key === undefined ? `${grant.keyId} ${this.address}` : grant.keyId
    if (!access.connections.open(name, connections)) {
      const detail = `the plan ${grant.plan} allows ${connections} connections at a time`
      throw new StreamProblem('too_many_connections', detail)
    }
    this.current = grant
    this.authorization = authorization
    this.connectionName = name
    if (grant.key !== undefined) access.usage.note(grant.keyId, 'stream', 101, 0, 0)
  }

  /** Checks the key again: why the connection must end, if it must. */
  recheck(): Refusal | undefined {
    const { authorization, current } = this
    if (authorization === undefined || current === undefined) return undefined
    try {
      const grant = this.access.authenticator.check(authorization, this.context.now())
      if (grant.plan === current.plan && isSameAccess(grant.terms, current.terms)) return undefined
    } catch (error) {
      const isGone = error instanceof Problem && error.code === 'plan_required'
      return { error, reason: isGone ? 'plan_required' : 'revoked' }
    }
    const error = new Problem('plan_required', 'the plan of the key has changed')
    return { error, reason: 'plan_required' }
  }

  /** Notes the use of the key since the last call. */
  noteUsage({ rows, bytes }: SentTotals): void {
    const { current, noted } = this
    if (current?.key === undefined || bytes === noted.bytes) return
    this.noted = { rows, bytes }
    const { usage } = this.access
    usage.note(current.keyId, 'stream', 101, rows - noted.rows, bytes - noted.bytes, 0)
  }

  /** Stops counting the connection. */
  release(): void {
    if (this.current !== undefined) this.access.connections.end(this.connectionName)
  }
}

// What was subscribed under other terms may not be included any more. Rates count at the next request.
function isSameAccess(one: Plan, other: Plan): boolean {
  if (one === other) return true
  return isDeepStrictEqual(accessOf(one), accessOf(other))
}

function accessOf({ venues, assets, days, stream }: Plan): Partial<Plan> {
  return { venues, assets, days, stream }
}
