import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { PriorbookError } from '@priorbook/sdk/domain'

/** The files of a certificate and its private key, in PEM. */
export type CertificateFiles = { readonly cert: string; readonly key: string }

/** A certificate chain and its private key. */
export type Certificate = { readonly cert: Buffer; readonly key: Buffer }

// How often the files are looked at.
const LOOK_MS = 1000

/** Reads and checks a certificate; throws `invalid_config` where the files cannot be used together. */
export function readCertificate({ cert, key }: CertificateFiles): Certificate {
  try {
    const found = { cert: readFileSync(cert), key: readFileSync(key) }
    createSecureContext(found)
    return found
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new PriorbookError('invalid_config', `api.tlsCert and api.tlsKey: ${why}`, { cause })
  }
}

/**
 * Calls `use` with a certificate whenever its files have changed. Files that do not fit together, as while they are
 * being replaced, are left until they do.
 */
export function watchCertificate(
  files: CertificateFiles,
  first: Certificate,
  use: (next: Certificate) => void,
  onTrouble: (why: string) => void,
): { look(): void; close(): void } {
  let current = first
  let told = ''
  const look = (): void => {
    try {
      const next = readCertificate(files)
      told = ''
      if (next.cert.equals(current.cert) && next.key.equals(current.key)) return
      use(next)
      current = next
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      if (why !== told) onTrouble(why)
      told = why
    }
  }
  const timer = setInterval(look, LOOK_MS).unref()
  return { look, close: () => clearInterval(timer) }
}
