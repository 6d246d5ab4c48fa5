import { PriorbookError } from '@priorbook/sdk/domain'
import { checkName, checkPrefix, checkRange, compareNames, isName } from './object-name.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'
import { checkS3Place, encodeS3, printS3Place, type S3Place } from './s3-place.ts'
import { createS3Request, type S3Patience, type S3Request, type S3Verdict } from './s3-request.ts'
import type { S3Answer } from './s3-send.ts'
import { parseS3Page } from './s3-xml.ts'

/** A bucket, and how patient to be with it; what is not said has defaults. */
export type S3Options = S3Place & { readonly patience?: Partial<S3Patience> }

const PATIENCE: S3Patience = {
  attempts: 5,
  timeoutMs: 20_000,
  firstWaitMs: 200,
  longestWaitMs: 20_000,
}
// A page of 1,000 keys of 1,024 bytes, each encoded, has 4 MB.
const MAX_PAGE_BYTES = 16 * 1024 * 1024
// How much is read in vain, at most, from a server that does not know Range.
const MAX_VAIN_BYTES = 8 * 1024 * 1024
// The bodies of answers that say nothing; read so that their connection serves again.
const MAX_SMALL_BYTES = 65_536
// The whole object, a part of it, none of that name, or none of that length.
const READ = [200, 206, 404, 416]

type Bucket = {
  readonly address: string
  readonly place: S3Place
  readonly request: S3Request
  /** In front of every name: empty, or the prefix with a slash. */
  readonly base: string
}

/**
 * Opens a bucket of S3 or of a server that speaks its protocol. The server has to know `If-None-Match: *`
 * for uploads, as S3 does since August 2024:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
 */
export function openS3Objects({ patience, ...given }: S3Options): ObjectStore {
  const place = checkS3Place(given)
  const bucket: Bucket = {
    address: printS3Place(place),
    place,
    request: createS3Request(place, { ...PATIENCE, ...patience }),
    base: place.prefix === '' ? '' : `${place.prefix}/`,
  }
  return {
    address: bucket.address,
    location: ['s3:/', place.bucket, place.prefix].filter((part) => part !== '').join('/'),
    put: (name, bytes) => putObject(bucket, name, bytes),
    replace: (name, bytes) => replaceObject(bucket, name, bytes),
    read: (name, start, length) => readObject(bucket, name, start, length),
    size: (name) => readSize(bucket, name),
    async remove(name) {
      const expects = [200, 202, 204, 404]
      const path = pathOf(bucket, name)
      const call = { method: 'DELETE', path, expects, maxBytes: MAX_SMALL_BYTES } as const
      return bucket.request(call, () => ({ value: undefined }))
    },
    list: (prefix) => listObjects(bucket, prefix),
  }
}

async function putObject(bucket: Bucket, name: string, body: Uint8Array): Promise<boolean> {
  const call = {
    method: 'PUT',
    path: pathOf(bucket, name),
    headers: { 'if-none-match': '*', 'content-type': 'application/octet-stream' },
    body,
    expects: [200, 201, 204, 409, 412],
    maxBytes: MAX_SMALL_BYTES,
  } as const
  return bucket.request(call, async ({ status }, isRepeated) => {
    if (status === 409) return { again: '409, another upload of the object is under way' }
    if (status !== 412) return { value: true }
    if (!isRepeated) return { value: false }
    // An attempt whose answer was lost may be the one that is in the way.
    const size = await readSize(bucket, name)
    if (size !== body.length) return { value: false }
    const stored = await readObject(bucket, name, 0, size)
    return { value: Buffer.compare(stored, body) === 0 }
  })
}

async function replaceObject(bucket: Bucket, name: string, body: Uint8Array): Promise<void> {
  const call = {
    method: 'PUT',
    path: pathOf(bucket, name),
    headers: { 'content-type': 'application/octet-stream' },
    body,
    expects: [200, 201, 204, 409],
    maxBytes: MAX_SMALL_BYTES,
  } as const
  return bucket.request(call, ({ status }) =>
    status === 409
      ? { again: '409, another upload of the object is under way' }
      : { value: undefined },
  )
}

async function readObject(
  bucket: Bucket,
  name: string,
  start: number,
  length: number,
): Promise<Uint8Array> {
  const path = pathOf(bucket, name)
  checkRange(start, length)
  const end = start + length
  if (length === 0) {
    await checkSize()
    return new Uint8Array()
  }
  const range = `bytes=${start}-${end - 1}`
  const maxBytes = length + MAX_VAIN_BYTES
  const call = { method: 'GET', path, range, expects: READ, maxBytes } as const
  return bucket.request(call, async (answer): Promise<S3Verdict<Uint8Array>> => {
    if (answer.status === 404) throw missing()
    if (answer.isCut) throw ignoresRange(bucket)
    const bytes = answer.status === 200 ? answer.bytes.subarray(start, end) : partOf(answer, range)
    if (bytes.length === length) return { value: bytes }
    // The answer is wrong, or right about an object that is too short.
    await checkSize()
    return { again: `${answer.status} with other bytes than ${range}` }
  })

  async function checkSize(): Promise<void> {
    const size = await readSize(bucket, name)
    if (size === undefined) throw missing()
    if (size >= end) return
    const detail = `${name} of ${bucket.address} has ${size} bytes where ${end} are needed`
    throw new PriorbookError('object_damaged', detail)
  }

  function missing(): PriorbookError {
    return new PriorbookError('object_missing', `${bucket.address} has no object ${name}`)
  }
}

async function readSize(bucket: Bucket, name: string): Promise<number | undefined> {
  const path = pathOf(bucket, name)
  const head = { method: 'HEAD', path, maxBytes: 0 } as const
  const size = await bucket.request(head, (answer): S3Verdict<number | undefined> => {
    return answer.status === 200 ? sizeIn(answer) : { value: undefined }
  })
  if (size !== undefined) return size
  // An answer to HEAD has no words: a missing object looks like a missing bucket. GET tells.
  const range = 'bytes=0-0'
  const get = { method: 'GET', path, range, expects: READ, maxBytes: MAX_SMALL_BYTES } as const
  return bucket.request(get, sizeIn)
}

async function* listObjects(
  { request, place, base }: Bucket,
  prefix: string,
): AsyncGenerator<StoredObject, void, void> {
  checkPrefix(prefix)
  const path = `/${place.bucket}/`
  const common = { 'encoding-type': 'url', 'list-type': '2', prefix: base + prefix }
  // S3 lists in the order of names, but SeaweedFS for one by folders: `a/b` in front of `a-b`.
  const found: StoredObject[] = []
  let token: string | undefined
  do {
    const query = token === undefined ? common : { ...common, 'continuation-token': token }
    const call = { method: 'GET', path, query, expects: [200], maxBytes: MAX_PAGE_BYTES } as const
    const page = await request(call, ({ bytes }) => {
      const value = parseS3Page(bytes)
      const isStuck = value?.next !== undefined && value.next === token
      return value === undefined || isStuck ? { again: 'not a list of objects' } : { value }
    })
    for (const { key, size } of page.objects) {
      const name = key.slice(base.length)
      // Consoles and other programs leave keys that are no names, such as `folder/`.
      if (key.startsWith(base + prefix) && isName(name)) found.push({ name, size })
    }
    token = page.next
  } while (token !== undefined)
  yield* found.sort((a, b) => compareNames(a.name, b.name))
}

function pathOf({ place, base }: Bucket, name: string): string {
  checkName(name)
  return `/${place.bucket}/${encodeS3(base + name)}`
}

/** The size that an answer tells; undefined without the object. */
function sizeIn({ status, headers }: S3Answer): S3Verdict<number | undefined> {
  if (status === 404) return { value: undefined }
  const total = /^bytes .*\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1]
  const size = (status === 200 ? headers.get('content-length') : total) ?? ''
  return /^\d{1,15}$/.test(size) ? { value: Number(size) } : { again: `${status} without a size` }
}

/** The bytes of a range, or none where the answer is for another one. */
function partOf({ headers, bytes }: S3Answer, range: string): Uint8Array {
  const said = headers.get('content-range')?.replace(' ', '=').replace(/\/.*$/, '')
  return said === range ? bytes : new Uint8Array()
}

function ignoresRange({ address }: Bucket): PriorbookError {
  const words = 'answers whole objects where parts are asked for (Range)'
  const advice = 'name another server in AWS_ENDPOINT_URL_S3'
  return new PriorbookError('objects_refused', `the server of ${address} ${words}; ${advice}`)
}
