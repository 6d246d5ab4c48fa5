import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import type { CreateUpstream, UpstreamCredentials } from './core/upstream.ts'
import { createVenueAUpstream } from './venuea/index.ts'
import { createVenueBUpstream } from './venueb/index.ts'
import { createVenueCUpstream } from './venuec/index.ts'

/** The upstream's half of a client's credentials, and the client's half. */
export type KeyPair = {
  readonly upstream: UpstreamCredentials
  readonly client: UpstreamCredentials
}

/** One emulated venue. */
export type EmulatedVenue = {
  readonly create: CreateUpstream
  /** Uses given credentials or creates new ones. */
  keys(seed: string, given: UpstreamCredentials | undefined): KeyPair
  /** Where clients connect, unless the upstream overrides it. */
  addresses(origin: string): Readonly<Record<string, string>>
}

/** The registry of emulated venues; the compiler forces it to be complete. */
export const EMULATED: Readonly<Record<VenueId, EmulatedVenue>> = {
  venuea: {
    create: createVenueAUpstream,
    keys(seed, given) {
      const digest = createHash('sha512').update(`${seed}/venuea`).digest('hex')
      const pair = given ?? { apiKey: digest.slice(0, 64), apiSecret: digest.slice(64) }
      return { upstream: pair, client: pair }
    },
    addresses: (origin) => ({
      rest: `${origin}/sapi/v1/w3w/wallet/prediction`,
      ws: `${origin.replace('http', 'ws')}/sapi/wss`,
    }),
  },
  venueb: {
    create: createVenueBUpstream,
    keys(seed, given) {
      const keyId = given?.['keyId'] ?? createHash('sha256').update(`${seed}/venueb`).digest('hex')
      const privateKey = given?.['privateKey'] ?? newPrivateKey()
      return {
        upstream: { keyId, publicKey: publicKeyOf(privateKey) },
        client: { keyId, privateKey },
      }
    },
    addresses: (origin) => ({ rest: origin, ws: origin.replace('http', 'ws') }),
  },
  venuec: {
    create: createVenueCUpstream,
    keys: () => ({ upstream: {}, client: {} }),
    addresses: (origin) => ({ gamma: origin, clob: origin, ws: origin.replace('http', 'ws') }),
  },
}

function newPrivateKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return privateKey
}

function publicKeyOf(privateKey: string): string {
  try {
    return createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
  } catch (cause) {
    throw new PriorbookError('invalid_argument', 'the private key of venue B is not PEM', { cause })
  }
}
