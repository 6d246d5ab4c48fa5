import { webcrypto } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import { encodeS3, type S3Place } from './s3-place.ts'

/** One request, and the answers that its sender knows how to read. */
export type S3Call = {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  /** Percent-encoded, from the bucket on. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** These are signed. */
  readonly headers?: Readonly<Record<string, string>>
  /** Not signed, because proxies change it. */
  readonly range?: string
  readonly body?: Uint8Array
  /** All by default; others are refusals. */
  readonly expects?: readonly number[]
  /** The rest of a longer answer is not read. */
  readonly maxBytes: number
}

/** An answer that was read to its end, or to the limit of the call. */
export type S3Answer = {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  readonly isCut: boolean
}

const SHA256_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const MAX_FAILURE_BYTES = 65_536
// An upload has this much more time; fetch does not tell how far it is.
const UPLOAD_BYTES_PER_MS = 256

/** Creates what signs and sends a request once; it throws where no complete answer comes. */
export function createS3Send(place: S3Place, idleMs: number): (call: S3Call) => Promise<S3Answer> {
  const keys = new Map<string, ArrayBuffer>()
  return async (call) => {
    const { method, path, query = {}, body, range, maxBytes } = call
    const search = Object.entries(query).map(
      ([name, value]) => `${name}=${encodeS3(value).replaceAll('/', '%2F')}`,
    )
    const hash = body === undefined ? SHA256_OF_NOTHING : await sha256(body)
    const { url, headers } = await new AwsV4Signer({
      method,
      url: `${place.endpoint}${path}${search.length > 0 ? `?${search.join('&')}` : ''}`,
      headers: { ...call.headers, 'x-amz-content-sha256': hash },
      service: 's3',
      region: place.region,
      cache: keys,
      ...place.credentials,
    }).sign()
    // Ranges and lengths count bytes as they are stored.
    headers.set('accept-encoding', 'identity')
    if (range !== undefined) headers.set('range', range)
    const uploadMs = Math.ceil((body?.length ?? 0) / UPLOAD_BYTES_PER_MS)
    const timeoutMs = idleMs + uploadMs
    const stopper = new AbortController()
    const stop = (): void => stopper.abort(new Error(`nothing came for ${timeoutMs} ms`))
    const timer = setTimeout(stop, timeoutMs)
    try {
      const { signal } = stopper
      const sent = body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }
      const response = await fetch(url, { method, headers, ...sent, redirect: 'manual', signal })
      const { status } = response
      const limit = status < 300 ? maxBytes : MAX_FAILURE_BYTES
      const pieces: Uint8Array[] = []
      let length = 0
      for await (const piece of response.body ?? []) {
        timer.refresh()
        pieces.push(piece)
        length += piece.length
        // Leaving the loop ends the connection.
        if (length > limit) break
      }
      const isCut = length > limit
      const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
      return { status, headers: response.headers, bytes, isCut }
    } finally {
      clearTimeout(timer)
    }
  }
}

async function sha256(bytes: Uint8Array): Promise<string> {
  const hash = await webcrypto.subtle.digest('SHA-256', bytes)
  return Buffer.from(hash).toString('hex')
}
