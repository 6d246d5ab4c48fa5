import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PriorbookError } from '@priorbook/sdk/domain'
import { describe, expect, test } from 'vitest'
import { startFakeS3 } from './fake-s3.testing.ts'
import { createFolder } from './folder.testing.ts'
import { someBytes } from './objects.contract.ts'
import { openObjects } from './open-objects.ts'

const KEYS = { AWS_ACCESS_KEY_ID: 'KEY', AWS_SECRET_ACCESS_KEY: 'hidden' }
const NO_FILE = { AWS_SHARED_CREDENTIALS_FILE: '/nowhere/credentials' }

/** The words of the refusal of an address. */
function refusalOf(address: string, env: Record<string, string> = {}): string {
  let refusal: unknown
  try {
    openObjects(address, { ...NO_FILE, ...env })
  } catch (error) {
    refusal = error
  }
  expect(refusal).toBeInstanceOf(PriorbookError)
  const { code, message } = refusal as PriorbookError
  expect(code).toBe('invalid_config')
  expect(message).not.toContain('hidden')
  return message
}

describe('the address of a folder', () => {
  test('is a path or a file: URL', async () => {
    const folder = createFolder()
    const store = openObjects(join(folder, 'a b'), {})
    await store.put('x', someBytes(3))
    const other = openObjects(pathToFileURL(join(folder, 'a b')).href, {})
    expect(other.address).toBe(join(folder, 'a b'))
    expect(other.location).toBe(`file://${join(folder, 'a b')}`)
    expect(await other.size('x')).toBe(3)
  })

  test.each([
    '',
    'a\0b',
    'file:',
    'file:a',
    'file://host/a',
    'file:///%00',
    'http://host/a',
    'gs://bucket',
  ])('is refused: %j', (address) => {
    expect(refusalOf(address)).toContain('s3://bucket/prefix')
  })
})

describe('the address of a bucket', () => {
  test.each([
    ['s3://bucket/some/prefix/?endpoint=http://127.0.0.1:1', 's3://bucket/some/prefix'],
    ['s3://bucket/a%20b', 's3://bucket/a b'],
    ['s3://bucket', 's3://bucket'],
  ])('%s is named %s in files that other programs read', (address, location) => {
    expect(openObjects(address, { ...NO_FILE, ...KEYS }).location).toBe(location)
  })

  const addressOf = (address: string, env: Record<string, string> = {}): string =>
    openObjects(address, { ...NO_FILE, ...KEYS, ...env }).address

  test('has an endpoint and a region, or the environment has them', () => {
    const near = { AWS_ENDPOINT_URL: 'http://near:1/', AWS_DEFAULT_REGION: 'r-1' }
    const nearer = { ...near, AWS_ENDPOINT_URL_S3: 'http://nearer:2', AWS_REGION: 'r-2' }
    const aws = 'https://s3.us-east-1.amazonaws.com'
    expect(addressOf('s3://b-1')).toBe(`s3://b-1/?endpoint=${aws}&region=us-east-1`)
    expect(addressOf('s3://b-1/', near)).toBe('s3://b-1/?endpoint=http://near:1&region=r-1')
    expect(addressOf('s3://b-1/p/', nearer)).toBe('s3://b-1/p?endpoint=http://nearer:2&region=r-2')
    expect(addressOf('s3://b-1/p?endpoint=https://here&region=r-3', nearer)).toBe(
      's3://b-1/p?endpoint=https://here&region=r-3',
    )
    expect(addressOf('s3://b-1', { AWS_REGION: 'cn-north-1' })).toContain(
      'https://s3.cn-north-1.amazonaws.com.cn&',
    )
  })

  test('opens the same place when it is read again', () => {
    for (const path of ['p', 'a/b c', 'a%2Bb', 'é?', '100%25', '']) {
      const first = addressOf(`s3://bucket/${path.replace('?', '%3F')}?endpoint=http://h:1/x%2By`)
      expect(addressOf(first)).toBe(first)
    }
  })

  test.each([
    ['s3://', /bucket/],
    ['s3:bucket', /bucket/],
    ['s3://b', /bucket/],
    ['s3://b..c', /bucket/],
    ['s3://bucket:80/', /bucket/],
    ['s3://key:hidden@bucket/', /AWS_SECRET_ACCESS_KEY/],
    ['s3://bucket/%', /%/],
    ['s3://bucket/%ff', /%/],
    ['s3://bucket/a//b', /prefix/],
    ['s3://bucket/a%00b', /prefix/],
    [`s3://bucket/${'x/'.repeat(200)}x`, /prefix/],
    ['s3://bucket/?enpoint=http://h', /endpoint/],
    ['s3://bucket/?endpoint=h:1', /AWS_ENDPOINT_URL_S3/],
    ['s3://bucket/?endpoint=nothing', /AWS_ENDPOINT_URL_S3/],
    ['s3://bucket/?endpoint=http://user:hidden@h', /AWS_ENDPOINT_URL_S3/],
    ['s3://bucket/?region=a/b', /AWS_REGION/],
    ['s3://bu cket/', /URL|bucket/],
  ])('is refused: %j', (address, words) => {
    expect(refusalOf(address, KEYS)).toMatch(words)
  })
})

describe('the credentials', () => {
  const FILE = `# keys
[other]
aws_access_key_id = OTHER
[ default ]
aws_access_key_id=KEY
AWS_SECRET_ACCESS_KEY =  secret/+=\r
aws_session_token = token/+==
[half]
aws_access_key_id = KEY
`

  test('come from the environment, or from a profile of the file', async () => {
    const server = await startFakeS3()
    const { bucket, endpoint, region, credentials } = server.place
    const address = `s3://${bucket}/p?endpoint=${endpoint}&region=${region}`
    const inEnvironment = {
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      AWS_SESSION_TOKEN: credentials.sessionToken,
    }
    expect(await openObjects(address, inEnvironment).put('a', someBytes(1))).toBe(true)
    const file = join(createFolder(), 'credentials')
    writeFileSync(file, FILE)
    const inFile = { AWS_SHARED_CREDENTIALS_FILE: file, AWS_ACCESS_KEY_ID: '' }
    expect(await openObjects(address, inFile).size('a')).toBe(1)
    for (const profile of ['other', 'half', 'missing']) {
      expect(refusalOf(address, { ...inFile, AWS_PROFILE: profile })).toContain(profile)
    }
  })

  test('are asked for where they are missing or cannot be right', () => {
    const both = /set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/
    expect(refusalOf('s3://bucket')).toMatch(both)
    expect(refusalOf('s3://bucket', { AWS_ACCESS_KEY_ID: 'a' })).toMatch(
      /set AWS_SECRET_ACCESS_KEY/,
    )
    expect(refusalOf('s3://bucket', { AWS_SECRET_ACCESS_KEY: 'hidden' })).toMatch(
      /set AWS_ACCESS_KEY_ID \(/,
    )
    for (const wrong of ['hidden ', 'hid\nden', 'hiddén']) {
      const message = refusalOf('s3://bucket', { ...KEYS, AWS_SESSION_TOKEN: wrong })
      expect(message).toContain('AWS_SESSION_TOKEN')
      expect(message).not.toContain(wrong)
    }
  })
})
