import { PriorbookError, showValue } from '@priorbook/sdk/domain'
import { isName } from './object-name.ts'

/** Who asks. */
export type S3Credentials = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Where a bucket is and who asks it. */
export type S3Place = {
  readonly bucket: string
  /** Without a slash at its ends; empty for the whole bucket. */
  readonly prefix: string
  /** Such as `https://s3.eu-central-1.amazonaws.com`; the bucket is added as a path. */
  readonly endpoint: string
  readonly region: string
  readonly credentials: S3Credentials
}

/** Throws `invalid_config` for what no bucket has; the endpoint comes without a slash at its end. */
export function checkS3Place(place: S3Place): S3Place {
  const { bucket, prefix, endpoint, region, credentials } = place
  const refuse = (what: string): never => {
    throw new PriorbookError('invalid_config', `the object storage needs ${what}`)
  }
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/.test(bucket) || bucket.includes('..')) {
    refuse(`the name of a bucket, as in s3://bucket/prefix; ${showValue(bucket)} is none`)
  }
  if (prefix !== '' && (!isName(prefix) || Buffer.byteLength(prefix) > 255)) {
    refuse(`a prefix of at most 255 bytes without empty parts; ${showValue(prefix)} is none`)
  }
  if (!/^[a-z0-9-]{1,40}$/i.test(region)) refuse('a region; set AWS_REGION, such as us-east-1')
  const { accessKeyId, secretAccessKey, sessionToken = 'none' } = credentials
  if (![accessKeyId, secretAccessKey, sessionToken].every((key) => /^[!-~]+$/.test(key))) {
    refuse('keys without spaces; set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN')
  }
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:'
  // The address is not shown: a password may be in it.
  if (!isWeb || url.username + url.password + url.search + url.hash !== '') {
    return refuse('an endpoint such as https://host:port, without user; set AWS_ENDPOINT_URL_S3')
  }
  return { ...place, endpoint: url.href.replace(/\/+$/, '') }
}

/** The address of a bucket, as operators write it; without credentials. */
export function printS3Place({ bucket, prefix, endpoint, region }: S3Place): string {
  const at = endpoint.replace(/[&+%]/g, encodeURIComponent)
  return `s3://${bucket}/${encodeS3(prefix)}?endpoint=${at}&region=${region}`
}

/** Percent-encodes everything but slashes and what the signature leaves as it is. */
export function encodeS3(text: string): string {
  const toHex = (sign: string): string => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(text)
    .replaceAll('%2F', '/')
    .replace(/[!'()*]/g, toHex)
}
