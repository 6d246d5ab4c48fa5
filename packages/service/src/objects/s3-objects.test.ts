import { PriorbookError } from '@priorbook/sdk/domain'
import { describe, expect, test } from 'vitest'
import { startFakeS3, type Fault } from './fake-s3.testing.ts'
import { codeOf, listAll, someBytes, testObjects } from './objects.contract.ts'

describe('objects in a bucket', () => {
  testObjects(async () => (await startFakeS3()).open())

  test('go below the prefix, and others are not listed', async () => {
    const server = await startFakeS3()
    const store = server.open()
    const at = `endpoint=${server.place.endpoint}&region=eu-test-1`
    expect(store.address).toBe(`s3://bucket/some/prefix?${at}`)
    await store.put('a', someBytes(1))
    for (const key of ['a', 'some/prefix', 'some/prefix/', 'some/prefix/b/', 'some/prefixes']) {
      server.objects.set(key, Buffer.alloc(1))
    }
    expect(server.objects.has('some/prefix/a')).toBe(true)
    expect(await listAll(store)).toEqual([{ name: 'a', size: 1 }])
    const whole = server.open({ prefix: '' })
    expect((await listAll(whole)).map(({ name }) => name)).toEqual([
      'a',
      'some/prefix',
      'some/prefix/a',
      'some/prefixes',
    ])
  })
})

describe('a server that fails for a while', () => {
  const passing: readonly Fault[] = [
    { kind: 'status', status: 503, code: 'SlowDown' },
    { kind: 'status', status: 500, code: 'InternalError' },
    { kind: 'status', status: 502 },
    { kind: 'status', status: 504 },
    { kind: 'status', status: 429, headers: { 'retry-after': '100' } },
    { kind: 'status', status: 400, code: 'RequestTimeout' },
    { kind: 'lost' },
  ]
  test.each(passing)('is asked again: %j', async (fault) => {
    const server = await startFakeS3()
    const store = server.open()
    server.fail(fault, fault)
    expect(await store.put('a', someBytes(50))).toBe(true)
    expect(server.requests).toHaveLength(3)
    server.fail(fault, fault)
    expect(await store.read('a', 10, 20)).toHaveLength(20)
    server.fail(fault, fault)
    expect(await store.size('a')).toBe(50)
    server.fail(fault, fault)
    expect(await listAll(store)).toHaveLength(1)
    server.fail(fault, fault)
    await store.remove('a')
    expect(server.objects.size).toBe(0)
    server.fail(fault, fault, fault, fault, fault)
    expect(await codeOf(store.size('a'))).toBe('objects_unavailable')
  })

  test.each<Fault>([
    { kind: 'cut-body' },
    { kind: 'short' },
    { kind: 'other-range' },
    { kind: 'status', status: 416, code: 'InvalidRange' },
  ])('is asked again for bytes: %j', async (fault) => {
    const server = await startFakeS3()
    const store = server.open()
    await store.put('a', someBytes(50_000))
    server.fail(fault)
    const read = await store.read('a', 10, 40_000)
    expect(Buffer.from(read).equals(someBytes(50_000).subarray(10, 40_010))).toBe(true)
  })

  test('is not waited for without end', async () => {
    const server = await startFakeS3()
    await server.open().put('a', someBytes(50_000))
    const patience = { timeoutMs: 200, firstWaitMs: 1, longestWaitMs: 1 }
    const store = server.open({ patience: { ...patience, attempts: 4 } })
    const hasty = server.open({ patience: { ...patience, attempts: 2 } })
    for (const kind of ['silent', 'stalled'] as const) {
      server.fail({ kind })
      expect(await store.read('a', 0, 50_000)).toHaveLength(50_000)
      server.fail({ kind }, { kind })
      expect(await codeOf(hasty.read('a', 0, 50_000))).toBe('objects_unavailable')
    }
  })

  test('has its list read again where it ends early', async () => {
    const server = await startFakeS3()
    const store = server.open()
    const names = Array.from({ length: 7 }, (_, index) => `n${index}`)
    for (const name of names) await store.put(name, someBytes(1))
    server.fail({ kind: 'cut-body' }, { kind: 'half-list' })
    expect((await listAll(store)).map(({ name }) => name)).toEqual(names)
  })

  test('is waited for as long as it says, up to a limit', async () => {
    const server = await startFakeS3()
    const headers = { 'retry-after': '100' }
    const store = server.open({ patience: { attempts: 2, firstWaitMs: 0, longestWaitMs: 150 } })
    server.fail({ kind: 'status', status: 503, headers })
    const begun = performance.now()
    expect(await store.size('a')).toBeUndefined()
    expect(performance.now() - begun).toBeGreaterThan(140)
    expect(performance.now() - begun).toBeLessThan(10_000)
  })

  test('is unavailable where nothing listens', async () => {
    const server = await startFakeS3()
    const store = server.open({ endpoint: 'http://127.0.0.1:1' })
    expect(await codeOf(store.put('a', someBytes(1)))).toBe('objects_unavailable')
  })
})

describe('an upload', () => {
  test('whose answer was lost is ours where the bytes are', async () => {
    const server = await startFakeS3()
    const store = server.open()
    server.fail({ kind: 'lost-answer' })
    expect(await store.put('a', someBytes(1000))).toBe(true)
    server.fail({ kind: 'lost-answer' })
    expect(await store.put('empty', new Uint8Array())).toBe(true)
  })

  test('is not ours where other bytes were there first', async () => {
    const server = await startFakeS3()
    const store = server.open()
    await store.put('a', someBytes(1000))
    for (const bytes of [someBytes(1000, 2), someBytes(999)]) {
      server.fail({ kind: 'lost' })
      expect(await store.put('a', bytes)).toBe(false)
    }
    server.fail({ kind: 'damaged-object' })
    expect(await store.put('b', someBytes(1000))).toBe(false)
  })

  test('is sent again where another one was under way, or where bytes were damaged', async () => {
    const server = await startFakeS3()
    const store = server.open()
    server.fail({ kind: 'status', status: 409, code: 'ConditionalRequestConflict' })
    expect(await store.put('a', someBytes(1000))).toBe(true)
    server.fail({ kind: 'damaged-upload' })
    expect(await store.put('b', someBytes(1000))).toBe(true)
    expect(server.objects.get('some/prefix/b')!.equals(someBytes(1000))).toBe(true)
  })
})

describe('a server that ignores Range', () => {
  test('serves small objects', async () => {
    const server = await startFakeS3()
    const store = server.open()
    await store.put('a', someBytes(1000))
    server.fail({ kind: 'ignored-range' })
    const read = Buffer.from(await store.read('a', 100, 200))
    expect(read.equals(someBytes(1000).subarray(100, 300))).toBe(true)
    server.fail({ kind: 'ignored-range' })
    expect(await codeOf(store.read('a', 900, 200))).toBe('object_damaged')
  })

  test('is refused for large ones', async () => {
    const server = await startFakeS3()
    const store = server.open()
    server.objects.set('some/prefix/a', Buffer.alloc(9_000_000))
    server.fail({ kind: 'ignored-range' })
    expect(await codeOf(store.read('a', 100, 200))).toBe('objects_refused')
    server.fail({ kind: 'ignored-range' })
    expect(await store.read('a', 0, 9_000_000)).toHaveLength(9_000_000)
  })
})

describe('a refusal', () => {
  test.each<[Fault, RegExp]>([
    [{ kind: 'status', status: 403, code: 'AccessDenied' }, /s3:ListBucket.*AWS_ACCESS_KEY_ID/],
    [{ kind: 'status', status: 403 }, /s3:ListBucket.*AWS_ACCESS_KEY_ID/],
    [{ kind: 'status', status: 401 }, /s3:ListBucket.*AWS_ACCESS_KEY_ID/],
    [{ kind: 'status', status: 404, code: 'NoSuchBucket' }, /create it.*AWS_ENDPOINT_URL_S3/],
    [{ kind: 'status', status: 403, code: 'InvalidAccessKeyId' }, /set AWS_ACCESS_KEY_ID/],
    [{ kind: 'status', status: 403, code: 'SignatureDoesNotMatch' }, /set AWS_SECRET_ACCESS_KEY/],
    [{ kind: 'status', status: 400, code: 'ExpiredToken' }, /set AWS_SESSION_TOKEN/],
    [{ kind: 'status', status: 403, code: 'RequestTimeTooSkewed' }, /clock/],
    [
      { kind: 'status', status: 301, headers: { 'x-amz-bucket-region': 'ap-south-1' } },
      /set AWS_REGION to ap-south-1/,
    ],
    [{ kind: 'status', status: 307, headers: { location: 'http://127.0.0.1:1/' } }, /AWS_REGION/],
    [
      { kind: 'status', status: 400, code: 'AuthorizationHeaderMalformed', region: 'sa-east-1' },
      /set AWS_REGION to sa-east-1/,
    ],
    [{ kind: 'status', status: 507, code: 'XMinioStorageFull' }, /no space left/],
    [{ kind: 'status', status: 501, code: 'NotImplemented' }, /If-None-Match/],
    [{ kind: 'status', status: 418 }, /418/],
  ])('tells the operator what to do: %j', async (fault, words) => {
    const server = await startFakeS3()
    const store = server.open()
    const works = [
      () => store.put('a', someBytes(1)),
      () => store.read('a', 0, 1),
      () => store.size('a'),
      () => store.remove('a'),
      () => listAll(store),
    ]
    for (const [index, work] of works.entries()) {
      // An answer to HEAD has no words, so that a second request asks for them.
      server.fail(fault)
      if (index === 2) server.fail(fault)
      const error: unknown = await work().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(PriorbookError)
      const { code, message } = error as PriorbookError
      expect(code).toBe('objects_refused')
      expect(message).toMatch(words)
      expect(message).toContain(`bucket bucket at ${server.place.endpoint}`)
      expect(message).not.toMatch(/secret\/|token\//)
    }
  })

  test('comes for wrong keys, a wrong region and a missing bucket', async () => {
    const server = await startFakeS3()
    const { credentials } = server.place
    for (const wrong of [
      { credentials: { ...credentials, accessKeyId: 'other' } },
      { credentials: { ...credentials, secretAccessKey: 'other' } },
      { credentials: { ...credentials, sessionToken: 'other' } },
      { region: 'us-east-1' },
      { bucket: 'other' },
    ]) {
      const store = server.open(wrong)
      expect(await codeOf(store.put('a', someBytes(1)))).toBe('objects_refused')
      expect(await codeOf(store.read('a', 0, 1))).toBe('objects_refused')
      expect(await codeOf(store.size('a'))).toBe('objects_refused')
      expect(await codeOf(store.remove('a'))).toBe('objects_refused')
      expect(await codeOf(listAll(store))).toBe('objects_refused')
    }
    expect(server.objects.size).toBe(0)
  })
})
