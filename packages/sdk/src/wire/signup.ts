/** Where keys of the free plan are given out, if the operator opened it. */
export const SIGNUP_PATH = '/v3/signup'

/** A puzzle that must be solved for a key. */
export type SignupChallengeJson = {
  /** Signed by the server; it counts once, until it expires. */
  readonly challenge: string
  /** How many bits at the start of SHA-256 of `challenge:nonce` must be 0. */
  readonly bits: number
  readonly expires_time: string
}

/** A solved puzzle. */
export type SignupRequestJson = {
  readonly challenge: string
  readonly nonce: string
  /** A name for the key, for its owner. */
  readonly name?: string
}

/** A new key. */
export type SignupJson = {
  /** Shown this once. */
  readonly key: string
  readonly key_id: string
  readonly plan: string
}

/** How many bits at the start of bytes are 0. */
export function leadingZeroBits(bytes: Uint8Array): number {
  let bits = 0
  for (const byte of bytes) {
    if (byte !== 0) return bits + Math.clz32(byte) - 24
    bits += 8
  }
  return bits
}
