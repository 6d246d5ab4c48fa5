import { hash, timingSafeEqual } from 'node:crypto'

/**
 * The token behind which an operator manages keys: the password of HTTP basic authentication, with any user name.
 * A browser asks for it without a script, keeps it for this host and port only, and sends it in no other way.
 */
export class OperatorToken {
  readonly #digest: Uint8Array

  constructor(token: string) {
    this.#digest = digestOf(token)
  }

  /** Whether a header `Authorization` carries the token; takes as long for every wrong one. */
  isIn(header: string | undefined): boolean {
    const [, encoded = ''] = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(header ?? '') ?? []
    const text = Buffer.from(encoded, 'base64').toString()
    const password = text.slice(text.indexOf(':') + 1)
    return timingSafeEqual(digestOf(password), this.#digest)
  }
}

// Digests have one length, as the comparison needs it.
function digestOf(text: string): Uint8Array {
  return hash('sha256', text, 'buffer')
}
