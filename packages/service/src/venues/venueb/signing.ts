import { constants, createPrivateKey, sign, type KeyObject } from 'node:crypto'
import { PriorbookError } from '@priorbook/sdk/domain'

/** Signs requests to venue B. */
export interface Signer {
  /** Headers for one attempt; `path` is the whole path of the url, without its query. */
  headers(method: string, path: string, nowMs: number): Readonly<Record<string, string>>
}

/**
 * Creates a signer: RSA-PSS with SHA-256, salt as long as the digest, over
 * `timestamp + METHOD + path` (docs.kalshi.com, API keys). A malformed key throws
 * `invalid_argument` with a message that never shows it.
 */
export function createSigner(keyId: string, privateKey: string): Signer {
  const key = readKey(privateKey)
  return {
    headers(method, path, nowMs) {
      const timestamp = String(Math.floor(nowMs))
      const signature = sign('sha256', Buffer.from(`${timestamp}${method}${path}`), {
        key,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      })
      return {
        'KALSHI-ACCESS-KEY': keyId,
        'KALSHI-ACCESS-TIMESTAMP': timestamp,
        'KALSHI-ACCESS-SIGNATURE': signature.toString('base64'),
      }
    },
  }
}

function readKey(privateKey: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey(privateKey)
  } catch {
    throw new PriorbookError('invalid_argument', 'the private key of venue B is not PEM text')
  }
  if (key.asymmetricKeyType !== 'rsa') {
    throw new PriorbookError('invalid_argument', 'the private key of venue B is not an RSA key')
  }
  return key
}
