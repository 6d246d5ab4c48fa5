import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { leadingZeroBits } from '@priorbook/sdk/wire'

/** How long a challenge can be solved. */
export const CHALLENGE_MS = 10 * 60_000

// version . expires (ms) . bits . random . mac
const FORM = /^(c1\.(\d{13})\.(\d{1,2})\.([\w-]{22}))\.([\w-]{43})$/

/** Signs a challenge that a worker of any process can check, without storing it. */
export function signChallenge(secret: Uint8Array, bits: number, nowMs: number): string {
  const body = `c1.${nowMs + CHALLENGE_MS}.${bits}.${randomBytes(16).toString('base64url')}`
  return `${body}.${macOf(secret, body)}`
}

/** Why a solved challenge does not count; undefined where it does. */
export function refuseSolution(
  secrets: readonly Uint8Array[],
  challenge: string,
  nonce: string,
  nowMs: number,
): string | undefined {
  const [, body = '', expires, bits, , mac = ''] = FORM.exec(challenge) ?? []
  if (body === '') return 'is not a challenge of this service'
  const isOurs = secrets.some((secret) =>
    timingSafeEqual(Buffer.from(macOf(secret, body)), Buffer.from(mac)),
  )
  if (!isOurs) return 'is not a challenge of this service'
  if (Number(expires) <= nowMs) return 'has expired'
  const work = leadingZeroBits(hash('sha256', `${challenge}:${nonce}`, 'buffer'))
  return work < Number(bits) ? `is not solved: ${work} of ${bits} bits are 0` : undefined
}

/** The id of the key that a challenge gives: a challenge that is used again names a key that exists. */
export function keyIdOf(challenge: string): string {
  const digits = BigInt(`0x${hash('sha256', challenge, 'hex')}`).toString(36)
  return `key_${digits.slice(0, 12)}`
}

function macOf(secret: Uint8Array, body: string): string {
  return createHmac('sha256', secret).update(body).digest('base64url')
}
