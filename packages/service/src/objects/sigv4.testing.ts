import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The keys that a server knows. */
export type KnownKeys = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/,]+)\/(\d{8})\/([^/,]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/
const MAX_SKEW_MS = 900_000

/**
 * Why a server of S3 would refuse a request; undefined where its signature is right. Written from
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, so that it shares nothing
 * with what signs.
 */
export function whyNotSigned(
  request: IncomingMessage,
  body: Uint8Array,
  keys: KnownKeys,
  region: string,
): string | undefined {
  const parts = AUTHORIZATION.exec(request.headers.authorization ?? '')
  if (parts === null) return 'AccessDenied'
  const [, accessKeyId, day, signedRegion, signedNames, signature] = parts as unknown as string[]
  if (accessKeyId !== keys.accessKeyId) return 'InvalidAccessKeyId'
  if (signedRegion !== region) return 'AuthorizationHeaderMalformed'
  const time = String(request.headers['x-amz-date'])
  const iso = time.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5')
  if (!(Math.abs(Date.parse(iso) - Date.now()) < MAX_SKEW_MS) || !time.startsWith(day!)) {
    return 'RequestTimeTooSkewed'
  }
  if (request.headers['x-amz-security-token'] !== keys.sessionToken) return 'InvalidToken'
  const bodyHash = sha256(body)
  if (request.headers['x-amz-content-sha256'] !== bodyHash) return 'XAmzContentSHA256Mismatch'

  // The host and everything of Amazon have to be signed.
  const names = signedNames!.split(';')
  const needed = Object.keys(request.headers).filter((name) => name.startsWith('x-amz-'))
  if (!['host', ...needed].every((name) => names.includes(name))) return 'AccessDenied'

  const [path, query = ''] = request.url!.split('?') as [string, string?]
  const pairs = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name, value = ''] = pair.split('=') as [string, string?]
      return `${encode(decodeURIComponent(name))}=${encode(decodeURIComponent(value))}`
    })
  const canonical = [
    request.method,
    path.split('/').map((part) => encode(decodeURIComponent(part))).join('/'), // prettier-ignore
    pairs.sort().join('&'),
    ...names.map((name) => `${name}:${String(request.headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    signedNames,
    bodyHash,
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const words = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  let key: string | Buffer = `AWS4${keys.secretAccessKey}`
  for (const word of [day!, region, 's3', 'aws4_request', words]) key = hmac(key, word)
  return (key as Buffer).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch'
}

/** Everything but letters, digits and `-._~`, byte by byte. */
function encode(text: string): string {
  let encoded = ''
  for (const byte of Buffer.from(text)) {
    const sign = String.fromCharCode(byte)
    const isPlain = /[A-Za-z0-9._~-]/.test(sign)
    encoded += isPlain ? sign : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return encoded
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

function hmac(key: string | Buffer, content: string): Buffer {
  return createHmac('sha256', key).update(content).digest()
}
