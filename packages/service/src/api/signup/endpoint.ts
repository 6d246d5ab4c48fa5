import { printMicros, toMicros, type Micros } from '@priorbook/sdk/domain'
import {
  Problem,
  type SignupChallengeJson,
  type SignupJson,
  type SignupRequestJson,
} from '@priorbook/sdk/wire'
import type { ClientAddress } from '../../lib/client-address.ts'
import type { Access } from '../auth/access.ts'
import { deriveKeyText, deriveSecret } from '../auth/control.ts'
import { createGrant } from '../auth/grant.ts'
import { requireAdmitted } from '../auth/limiter.ts'
import type { Plan } from '../auth/plans.ts'
import { limitHeaders } from '../http/headers.ts'
import { readJsonBody } from '../http/read-body.ts'
import type { OwnAnswer, PendingRequest } from '../http/request.ts'
import { sendAnswer } from '../http/response.ts'
import { CHALLENGE_MS, keyIdOf, refuseSolution, signChallenge } from './challenge.ts'

/** Who may sign up, and for how much work. */
export type SignupOptions = {
  readonly access: Access
  /** Bits of work for a key; undefined where sign-up is closed. */
  readonly bits: number | undefined
  /** Max requests of an address in a minute. */
  readonly perMinute: number
  /** Max keys of the cheapest plan that work. */
  readonly keys: number
  readonly clientAddress: ClientAddress
  readonly now: () => Micros
}

const METHODS = 'GET, HEAD, OPTIONS, POST'
const MAX_NAME = 100
const MAX_NONCE = 100

/** Answers `/v3/signup`: a challenge, and a key of the cheapest plan for who solved it. */
export function createSignup(options: SignupOptions): OwnAnswer {
  const { access, bits, perMinute, keys, clientAddress, now } = options
  const secrets = access.cursorSecrets.map((secret) => deriveSecret(secret, 'signup'))
  const cheapest = (): Plan => access.plans.all()[0]!
  const limit: Plan = { ...cheapest(), name: 'signup', per_second: null, per_minute: perMinute }
  const limits = createGrant(limit, [limit], undefined, 'signup')
  return {
    name: 'signup',
    limits,
    async run(pending) {
      if (bits === undefined) {
        throw new Problem('unknown_route', 'this service does not give out keys by itself')
      }
      pending.allow = METHODS
      const { request, method } = pending
      if (method === 'OPTIONS') {
        pending.send(204, ['Allow', METHODS], undefined, 0)
        return
      }
      const nowMs = now() / 1000
      const who = `signup ${clientAddress(request)}`
      const admission = await access.limiter.admit(who, limit, nowMs)
      if (admission !== undefined) {
        pending.headers = limitHeaders(admission, nowMs)
        requireAdmitted(admission, limit.name, nowMs)
      }
      if (method === 'GET' || method === 'HEAD') {
        const challenge = signChallenge(secrets[0]!, bits, Math.floor(nowMs))
        const expires = toMicros((Math.floor(nowMs) + CHALLENGE_MS) * 1000)
        return send(pending, { challenge, bits, expires_time: printMicros(expires) })
      }
      if (method !== 'POST') {
        throw new Problem('method_not_allowed', `the route does not take ${method}`)
      }
      const { challenge, nonce, name = '' } = parse(await readJsonBody(request, true))
      const refusal = refuseSolution(secrets, challenge, nonce, nowMs)
      if (refusal !== undefined) throw wrong('challenge', refusal)
      const plan = cheapest().name
      // Derived, so that nodes with one secret that get a challenge at the same time make the same key.
      const text = deriveKeyText(deriveSecret(secrets[0]!, challenge))
      const made = access.keys.createOnce({ plan, name, id: keyIdOf(challenge), text }, keys)
      if (made === 'used') throw wrong('challenge', 'was used before')
      if (made === 'full') {
        const detail = `all ${keys} keys of the plan ${plan} are given out`
        throw new Problem('busy', detail, { limit: 'signup_keys' })
      }
      return send(pending, { key: made.key, key_id: made.id, plan })
    },
  }
}

async function send(
  pending: PendingRequest,
  data: SignupChallengeJson | SignupJson,
): Promise<void> {
  await sendAnswer(pending, { kind: 'data', data, count: 1, meta: {} }, undefined)
}

function parse(body: unknown): SignupRequestJson {
  const given = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  for (const name of Object.keys(given)) {
    if (['challenge', 'nonce', 'name'].includes(name)) continue
    throw new Problem('unknown_parameter', 'a request for a key has no such member', {
      param: name.slice(0, 60),
      allowed: ['challenge', 'nonce', 'name'],
    })
  }
  const { challenge, nonce, name } = given
  if (typeof challenge !== 'string') throw wrong('challenge', 'is missing')
  if (typeof nonce !== 'string' || nonce.length > MAX_NONCE) {
    throw wrong('nonce', `is not text of at most ${MAX_NONCE} characters`)
  }
  if (name !== undefined && (typeof name !== 'string' || name.length > MAX_NAME)) {
    throw wrong('name', `is not text of at most ${MAX_NAME} characters`)
  }
  return { challenge, nonce, ...(name === undefined ? {} : { name }) }
}

function wrong(param: string, why: string): Problem {
  return new Problem('invalid_parameter', `${param} ${why}`, { param })
}
