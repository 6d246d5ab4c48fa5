import { PriorbookError } from '@priorbook/sdk/domain'
import type { S3Place } from './s3-place.ts'
import type { S3Failure } from './s3-xml.ts'

/** An answer that says no, as an error that tells the operator what to change; no secret is in it. */
export function toS3Refusal(
  { bucket, endpoint, region }: S3Place,
  status: number,
  failure: S3Failure,
): PriorbookError {
  const where = `bucket ${bucket} at ${endpoint}`
  const said = [status, failure.code, failure.message].filter(Boolean).join(' ')
  return new PriorbookError('objects_refused', `${where} refuses: ${whatToDo()} (${said})`)

  function whatToDo(): string {
    const advice = ADVICE.get(failure.code)
    if (advice !== undefined) return advice
    const isOther = failure.region !== '' && failure.region !== region
    if (isOther || WRONG_REGION.has(failure.code) || (status >= 300 && status < 400)) {
      const right = failure.region === '' ? 'the region of the bucket' : failure.region
      return `it is not in ${region}; set AWS_REGION to ${right}, or the endpoint of that region`
    }
    if (status === 401 || status === 403) return ADVICE.get('AccessDenied')!
    if (status === 507) return 'there is no space left; make room or name another bucket'
    return 'check its address, AWS_ENDPOINT_URL_S3 and that the server knows this request'
  }
}

const WRONG_REGION = new Set([
  'PermanentRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
])

const SESSION = 'the session is over or unknown; set AWS_SESSION_TOKEN with the keys of a new one'
const RIGHTS =
  'the access key lacks rights; allow s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket ' +
  '(without which a missing object looks forbidden), or set another AWS_ACCESS_KEY_ID'

const ADVICE = new Map([
  [
    'NoSuchBucket',
    'there is no such bucket; create it, or correct its address or AWS_ENDPOINT_URL_S3',
  ],
  ['InvalidAccessKeyId', 'it does not know the access key; set AWS_ACCESS_KEY_ID'],
  ['SignatureDoesNotMatch', 'the secret is not that of the key; set AWS_SECRET_ACCESS_KEY'],
  ['AccessDenied', RIGHTS],
  ['ExpiredToken', SESSION],
  ['InvalidToken', SESSION],
  ['RequestTimeTooSkewed', 'the clock of this machine is wrong; set it'],
  ['EntityTooLarge', 'the object is too large for one request'],
  [
    'NotImplemented',
    'the server lacks something, such as If-None-Match; upgrade it or name another',
  ],
  ['QuotaExceeded', 'the quota is used up; raise it or name another bucket'],
])
