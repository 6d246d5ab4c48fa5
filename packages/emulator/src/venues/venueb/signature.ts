import { constants, createPublicKey, verify, type KeyObject } from 'node:crypto'
import type {
  UpstreamAnswer,
  UpstreamCredentials,
  UpstreamRequest,
  World,
} from '../../core/upstream.ts'

/** Checks the three headers of a signed request; undefined when they are right. */
export type CheckSignature = (request: UpstreamRequest) => UpstreamAnswer | undefined

/** Max difference between a signature's time and the venue's clock. */
const FRESH_MS = 30_000

/** True when a request carries any of the three headers. */
export function isSigned({ headers }: UpstreamRequest): boolean {
  return headers['kalshi-access-key'] !== undefined
}

/** RSA-PSS with SHA-256 over time, method and path without the query, the salt as long as the digest. */
export function createSignatureCheck(
  world: World,
  { keyId, publicKey }: UpstreamCredentials,
): CheckSignature {
  const key: KeyObject | undefined =
    publicKey === undefined ? undefined : createPublicKey(publicKey)
  return ({ method, path, headers }) => {
    const time = headers['kalshi-access-timestamp'] ?? ''
    const signature = headers['kalshi-access-signature'] ?? ''
    if (headers['kalshi-access-key'] !== keyId) return unauthorized('invalid_api_key')
    if (!/^\d{13}$/.test(time)) return unauthorized('header_timestamp_invalid')
    if (Math.abs(Number(time) - world.now('venueb')) > FRESH_MS) {
      return unauthorized('header_timestamp_expired')
    }
    const good =
      key !== undefined &&
      verify(
        'sha256',
        Buffer.from(`${time}${method}${path}`),
        {
          key,
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
        },
        Buffer.from(signature, 'base64'),
      )
    return good ? undefined : unauthorized('incorrect_api_key_signature')
  }
}

/** The venue's answer to rejected credentials. */
export function unauthorized(details: string): UpstreamAnswer {
  const error = { code: 'unauthorized', message: 'unauthorized', details, service: 'auth' }
  return { status: 401, body: JSON.stringify({ error }), cost: 10 }
}
