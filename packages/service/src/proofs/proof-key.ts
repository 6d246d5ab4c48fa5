import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  type KeyObject,
} from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { PriorbookError } from '@priorbook/sdk/domain'

/** The name of the file with the private key in a data folder. */
export const PROOF_KEY_FILE = 'proofs.key'

/** The key of an installation, which signs the roots of its days. */
export type ProofKey = {
  /** The public key: 32 bytes in hexadecimal. */
  readonly publicKey: string
  /** The Ed25519 signature of a text, in hexadecimal. */
  sign(text: string): string
}

/** Opens the key of a data folder, and creates it where there is none. Only its owner may read the file. */
export function openProofKey(folder: string): ProofKey {
  const file = join(folder, PROOF_KEY_FILE)
  if (!existsSync(file)) createKeyFile(file)
  chmodSync(file, 0o600)
  const privateKey = readKey(file)
  return {
    publicKey: publicText(privateKey),
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString('hex'),
  }
}

// A process that ends in between leaves no key that is cut short.
function createKeyFile(file: string): void {
  const { privateKey } = generateKeyPairSync('ed25519')
  const draft = `${file}.draft`
  rmSync(draft, { force: true })
  const handle = openSync(draft, 'wx', 0o600)
  try {
    writeSync(handle, privateKey.export({ format: 'pem', type: 'pkcs8' }).toString())
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  renameSync(draft, file)
}

function readKey(file: string): KeyObject {
  try {
    const key = createPrivateKey(readFileSync(file))
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch (cause) {
    throw new PriorbookError('invalid_config', `${file} cannot be read as a private key`, { cause })
  }
  throw new PriorbookError('invalid_config', `${file} is not an Ed25519 key`)
}

function publicText(key: KeyObject): string {
  const { x } = createPublicKey(key).export({ format: 'jwk' })
  return Buffer.from(x!, 'base64url').toString('hex')
}
