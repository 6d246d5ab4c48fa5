import type { IncomingMessage } from 'node:http'
import { afterEach, expect, test, vi } from 'vitest'
import { whyNotSigned } from './sigv4.testing.ts'

// The examples of the specification:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
const KEYS = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
}
const NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

function getObject(signature: string): IncomingMessage {
  const credential = `Credential=${KEYS.accessKeyId}/20130524/us-east-1/s3/aws4_request`
  const names = 'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date'
  const headers = {
    host: 'examplebucket.s3.amazonaws.com',
    range: 'bytes=0-9',
    'x-amz-content-sha256': NOTHING,
    'x-amz-date': '20130524T000000Z',
    authorization: `AWS4-HMAC-SHA256 ${credential},${names},Signature=${signature}`,
  }
  return { method: 'GET', url: '/test.txt', headers } as unknown as IncomingMessage
}

afterEach(() => void vi.useRealTimers())

test('the check of the tests agrees with the example of the specification', () => {
  vi.useFakeTimers({ now: Date.UTC(2013, 4, 24), toFake: ['Date'] })
  const signature = 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41'
  const check = (given: string): string | undefined =>
    whyNotSigned(getObject(given), new Uint8Array(), KEYS, 'us-east-1')
  expect(check(signature)).toBeUndefined()
  expect(check(signature.replace('f0', 'f1'))).toBe('SignatureDoesNotMatch')
})
